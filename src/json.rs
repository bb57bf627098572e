//! A strict, small JSON reader and writer for a public contract: every field is known, occurs once, and has its type.
//!
//! A task must mean the same to every party, or reports of one would be read as another's. So one reader and one writer
//! serve the browser, the command line and the server. The reader goes through the text once, asks for the next thing
//! it wants, and keeps nothing else: it never holds more than the text. Every visitor downloads the client, whose size
//! is limited, so it does without `serde_json`.

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

use crate::decimal;

/// The deepest nesting of arrays and objects.
const MOST_NESTED: usize = 16;

/// The result of a reading step, or why the text was refused, and where.
pub(crate) type Read<T> = Result<T, String>;

/// A text that is being read.
pub(crate) struct Reader<'a> {
    text: &'a str,
    position: usize,
    nested: usize,
}

/// Reads the whole text as one value.
pub(crate) fn read<'a, T>(text: &'a str, value: impl FnOnce(&mut Reader<'a>) -> Read<T>) -> Read<T> {
    let mut reader = Reader { text, position: 0, nested: 0 };
    let value = value(&mut reader)?;
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.error("there is text after the end")),
    }
}

/// Types with their own JSON text use it for serde as well, through the same reader.
macro_rules! deserialize_as_json {
    ($type:ty) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = serde_json::Value::deserialize(deserializer)?;
                Self::from_json(&value.to_string()).map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use deserialize_as_json;

/// Reads an object into a variable for each field: a value of those that it `has`, an `Option` of those that it
/// `may_have`. The error for any other field says what is `known`.
macro_rules! read_object {
    (
        $reader:ident, $known:expr,
        has { $($needed_name:literal => $needed:ident: $needed_value:expr,)+ }
        $(may_have { $($name:literal => $slot:ident: $value:expr,)+ })?
    ) => {
        $(let mut $needed = None;)+
        $($(let mut $slot = None;)+)?
        $reader.object(&mut |reader, field| match field {
            $($needed_name => reader.once(field, &mut $needed, $needed_value),)+
            $($($name => reader.once(field, &mut $slot, $value),)+)?
            _ => Err(reader.unknown_field(field, $known)),
        })?;
        $(let $needed = $reader.required($needed_name, $needed)?;)+
    };
}

pub(crate) use read_object;

impl<'a> Reader<'a> {
    /// An object, whose fields `field` reads one by one: it must read the value.
    pub(crate) fn object(&mut self, field: &mut dyn FnMut(&mut Self, &str) -> Read<()>) -> Read<()> {
        self.sequence(b'{', b'}', "an object", &mut |reader| {
            reader.expect(b'"', "a field's name in quotes")?;
            let name = reader.rest_of_text()?;
            reader.expect(b':', "a colon after the field's name")?;
            field(reader, &name)
        })
    }

    /// An array, whose elements `element` reads one by one.
    pub(crate) fn array(&mut self, element: &mut dyn FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.sequence(b'[', b']', "an array", element)
    }

    /// The elements of an array.
    pub(crate) fn list<T>(&mut self, element: impl Fn(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut elements = Vec::new();
        self.array(&mut |reader| element(reader).map(|element| elements.push(element)))?;
        Ok(elements)
    }

    fn sequence(
        &mut self,
        open: u8,
        close: u8,
        what: &str,
        element: &mut dyn FnMut(&mut Self) -> Read<()>,
    ) -> Read<()> {
        self.expect(open, what)?;
        if self.nested == MOST_NESTED {
            return Err(self.error("arrays and objects are nested too deeply"));
        }
        self.nested += 1;
        if self.peek() == Some(close) {
            self.position += 1;
        } else {
            loop {
                element(self)?;
                match self.peek() {
                    Some(b',') => self.position += 1,
                    Some(byte) if byte == close => break self.position += 1,
                    _ => return Err(self.error("a comma or the end of the array or object is missing")),
                }
            }
        }
        self.nested -= 1;
        Ok(())
    }

    /// A text.
    pub(crate) fn text(&mut self) -> Read<String> {
        self.expect(b'"', "a text")?;
        self.rest_of_text()
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&mut self) -> Read<bool> {
        let found = self.peek();
        self.word(&["true", "false"]).map(|word| word == "true").ok_or_else(|| self.other_kind(found, "true or false"))
    }

    /// Whether a text comes next.
    pub(crate) fn at_text(&mut self) -> bool {
        self.peek() == Some(b'"')
    }

    /// A finite number.
    pub(crate) fn number(&mut self) -> Read<f64> {
        let digits = self.digits("a number")?;
        decimal::parse(digits).ok_or_else(|| self.error(&format!("number out of range: {}", excerpt(digits))))
    }

    /// `null`, or a value.
    pub(crate) fn nullable<T>(&mut self, value: impl FnOnce(&mut Self) -> Read<T>) -> Read<Option<T>> {
        if self.peek() == Some(b'n') { self.skip().map(|()| None) } else { value(self).map(Some) }
    }

    /// A number that its type checks.
    pub(crate) fn checked<T: TryFrom<f64, Error: fmt::Display>>(&mut self) -> Read<T> {
        T::try_from(self.number()?).map_err(|error| self.refused(&error))
    }

    /// A text that its type reads.
    pub(crate) fn parsed<T: FromStr<Err: fmt::Display>>(&mut self) -> Read<T> {
        self.text()?.parse::<T>().map_err(|error| self.refused(&error))
    }

    /// A whole number from 0 to 2^32 - 1, written without point and exponent.
    pub(crate) fn integer(&mut self) -> Read<u32> {
        self.whole(&(0..=u32::MAX.into())).map(|number| number as u32)
    }

    /// A whole number in a range, written without point and exponent.
    pub(crate) fn whole(&mut self, range: &RangeInclusive<i64>) -> Read<i64> {
        let digits = self.digits("a whole number")?;
        digits.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            self.error(&format!("{} is not a whole number from {least} to {most}, written in digits", excerpt(digits)))
        })
    }

    /// An array of whole numbers in a range.
    pub(crate) fn wholes(&mut self, range: &RangeInclusive<i64>) -> Read<Vec<i64>> {
        self.list(|reader| reader.whole(range))
    }

    /// `value` into `slot`, if nothing is there yet.
    pub(crate) fn once<T>(
        &mut self,
        name: &str,
        slot: &mut Option<T>,
        value: impl FnOnce(&mut Self) -> Read<T>,
    ) -> Read<()> {
        if slot.is_some() {
            return Err(self.duplicate(name));
        }
        *slot = Some(value(self)?);
        Ok(())
    }

    /// Errors are made out of line: copies of this in every field's reader are kilobytes of the browsers' module.
    #[cold]
    #[inline(never)]
    fn duplicate(&self, name: &str) -> String {
        self.error(&format!("duplicate field '{}'", excerpt(name)))
    }

    /// The value read into `slot`.
    pub(crate) fn required<T>(&self, name: &str, slot: Option<T>) -> Read<T> {
        slot.ok_or_else(|| self.missing(name))
    }

    #[cold]
    #[inline(never)]
    fn missing(&self, name: &str) -> String {
        self.error(&format!("missing field '{name}'"))
    }

    /// The error for an unknown field.
    #[cold]
    #[inline(never)]
    pub(crate) fn unknown_field(&self, name: &str, known: &str) -> String {
        self.error(&format!("unknown field '{}': {known}", excerpt(name)))
    }

    /// The error for a value that the field does not accept; `known` lists those it does.
    #[cold]
    #[inline(never)]
    pub(crate) fn unknown_value(&self, value: &str, known: &str) -> String {
        self.error(&format!("unknown value '{}': {known}", excerpt(value)))
    }

    /// Checks that a field is empty which does not go with the others.
    pub(crate) fn absent<T>(&self, name: &str, slot: &Option<T>, known: &str) -> Read<()> {
        if slot.is_some() { Err(self.unknown_field(name, known)) } else { Ok(()) }
    }

    /// A caller's error about the value that was read last.
    #[cold]
    #[inline(never)]
    pub(crate) fn refused(&self, error: &dyn fmt::Display) -> String {
        self.error(&error.to_string())
    }

    /// Skips one value of any kind.
    pub(crate) fn skip(&mut self) -> Read<()> {
        match self.peek() {
            Some(b'{') => self.object(&mut |reader, _| reader.skip()),
            Some(b'[') => self.array(&mut Self::skip),
            _ if self.at_text() => self.text().map(drop),
            Some(b'-' | b'0'..=b'9') => self.digits("a number").map(drop),
            _ => match self.word(&["true", "false", "null"]) {
                Some(_) => Ok(()),
                None => Err(self.error("expected a value")),
            },
        }
    }

    /// Passes over one of these words.
    fn word(&mut self, words: &[&'static str]) -> Option<&'static str> {
        let word = words.iter().copied().find(|word| self.rest().starts_with(word.as_bytes()))?;
        self.position += word.len();
        Some(word)
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.position..).unwrap_or_default()
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.rest().first() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.position += 1,
                byte => return byte.copied(),
            }
        }
    }

    fn expect(&mut self, byte: u8, what: &str) -> Read<()> {
        let found = self.peek();
        if found == Some(byte) {
            self.position += 1;
            return Ok(());
        }
        Err(self.other_kind(found, what))
    }

    #[cold]
    #[inline(never)]
    fn other_kind(&self, found: Option<u8>, what: &str) -> String {
        self.error(&format!("{}, expected {what}", kind(found)))
    }

    /// The characters of a number, whose form is checked.
    fn digits(&mut self, what: &str) -> Read<&'a str> {
        let found = self.peek();
        if !matches!(found, Some(b'-' | b'0'..=b'9')) {
            return Err(self.other_kind(found, what));
        }
        let start = self.position;
        self.eat(b"-");
        let zero = self.rest().first() == Some(&b'0');
        let whole = self.eat_digits();
        let mut valid = whole == 1 || whole > 1 && !zero;
        if self.eat(b".") {
            valid &= self.eat_digits() > 0;
        }
        if self.eat(b"eE") {
            self.eat(b"+-");
            valid &= self.eat_digits() > 0;
        }
        if !valid {
            return Err(self.error("invalid number"));
        }
        Ok(self.text.get(start..self.position).unwrap_or_default())
    }

    /// Passes over the next byte if it is among `bytes`.
    fn eat(&mut self, bytes: &[u8]) -> bool {
        let there = self.rest().first().is_some_and(|byte| bytes.contains(byte));
        self.position += usize::from(there);
        there
    }

    fn eat_digits(&mut self) -> usize {
        let start = self.position;
        while self.eat(b"0123456789") {}
        self.position - start
    }

    /// A text after its opening quote.
    fn rest_of_text(&mut self) -> Read<String> {
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.iter().take_while(|&&byte| byte != b'"' && byte != b'\\' && byte >= 0x20).count();
            text.push_str(self.text.get(self.position..self.position + plain).unwrap_or_default());
            self.position += plain;
            match rest.get(plain) {
                Some(b'"') => {
                    self.position += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => return Err(self.error("a control character inside a text: write it as \\u00…")),
                None => return Err(self.error("the text ends inside quotes")),
            }
        }
    }

    fn escape(&mut self) -> Read<char> {
        let byte = self.rest().get(1).copied();
        self.position += 2;
        Ok(match byte {
            Some(own @ (b'"' | b'\\' | b'/')) => own.into(),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let first = self.unit()?;
                let code = match first {
                    0xd800..0xdc00 if self.rest().starts_with(b"\\u") => {
                        self.position += 2;
                        match self.unit()? {
                            second @ 0xdc00..0xe000 => 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                            _ => first,
                        }
                    }
                    _ => first,
                };
                char::from_u32(code).ok_or_else(|| self.error("half of a surrogate pair, not a character"))?
            }
            _ => return Err(self.error("an unknown escape after a backslash")),
        })
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Read<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.rest().first().and_then(|&byte| char::from(byte).to_digit(16));
            unit = 16 * unit + digit.ok_or_else(|| self.error("\\u needs four hexadecimal digits"))?;
            self.position += 1;
        }
        Ok(unit)
    }

    #[cold]
    #[inline(never)]
    fn error(&self, message: &str) -> String {
        let position = self.position.min(self.text.len());
        let before = self.text.as_bytes().get(..position).unwrap_or_default();
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        format!("{message} at line {line} column {}", position - line_start)
    }
}

fn kind(first: Option<u8>) -> &'static str {
    match first {
        None => "the text ends",
        Some(b'{') => "invalid type: an object",
        Some(b'[') => "invalid type: an array",
        Some(b'"') => "invalid type: a text",
        Some(b'-' | b'0'..=b'9') => "invalid type: a number",
        Some(b't' | b'f') => "invalid type: a boolean",
        Some(b'n') => "invalid type: null",
        Some(_) => "invalid character",
    }
}

/// The start of a text from outside, short enough for an error message.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Writes a text in quotes.
pub(crate) fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..' ' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// Writes values with commas between them and brackets around.
pub(crate) fn write_array<T>(values: impl IntoIterator<Item = T>, out: &mut String, write: impl Fn(T, &mut String)) {
    out.push('[');
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(value, out);
    }
    out.push(']');
}

/// Writes whole numbers as an array.
pub(crate) fn write_wholes(numbers: &[i64], out: &mut String) {
    write_array(numbers, out, |number, out| out.push_str(&format!("{number}")));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of the reader and of serde_json for a text with any value.
    fn accepted(text: &str) -> (bool, bool) {
        (read(text, Reader::skip).is_ok(), serde_json::from_str::<serde_json::Value>(text).is_ok())
    }

    #[test]
    fn texts_are_accepted_and_refused_as_by_serde_json() {
        let long = [
            "{\"a\":1,}",
            "{\"a\" : [1, 2.5e-3, -0, \"x\"]}\n",
            "\"\\u12\"",
            "\"\\u00e9\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud83d\"",
            "\"\\ude00\"",
            "\"\\ud83d\\u0041\"",
            "\"\\ud83dx\"",
            "\"\u{7f}é\u{1f600}\"",
            "\u{feff}1",
            "\"\\/\\b\\f\\n\\r\\t\\\\\"",
            "\"\\u004\"",
            "\"\\uD83D\\uDE00\"",
        ];
        let short = [
            "", " ", "null", "nul", "true", "falsee", "{}", "{ }", "[]", "[ ]", "[1,]", "[,1]", "[1 2]", "{\"a\"}",
            "{a:1}", "01", "-01", "-", "1.", ".5", "1e", "1e+", "1E+5", "-0.0", "+1", "0x1", "1e5 ", "NaN", "Infinity",
            "\"", "\"\\\"", "\"\\\"\"", "\"\\x\"", "\"\t\"", "'a'", "[1]]", "{}{}", "1\u{a0}", "[\u{c}1]", "// 1",
            "[1/**/]",
        ];
        for text in long.into_iter().chain(short) {
            let (ours, theirs) = accepted(text);
            assert_eq!(ours, theirs, "{text:?}");
        }
    }

    #[test]
    fn texts_are_read_and_written_as_by_serde_json() {
        let all: String = (0..0x3000).chain(0x1_f600..0x1_f610).filter_map(char::from_u32).collect();
        let mut written = String::new();
        write_text(&all, &mut written);
        assert_eq!(written, serde_json::to_string(&all).unwrap());
        assert_eq!(read(&written, Reader::text).unwrap(), all);
        let escaped = r#""\u0041\u00e9\uD83D\uDE00\/\u0000""#;
        assert_eq!(read(escaped, Reader::text).unwrap(), serde_json::from_str::<String>(escaped).unwrap());
    }

    #[test]
    fn nesting_has_an_end() {
        let nested = |depth: usize| read(&("[".repeat(depth) + &"]".repeat(depth)), Reader::skip);
        assert!(nested(MOST_NESTED).is_ok());
        assert!(nested(MOST_NESTED + 1).unwrap_err().contains("nested"));
        assert!(nested(1_000_000).is_err());
    }

    #[test]
    fn numbers_and_integers_are_told_apart() {
        for (text, integer) in [
            ("7", Some(7)),
            ("4294967295", Some(u32::MAX)),
            ("4294967296", None),
            ("7.0", None),
            ("7e0", None),
            ("-7", None),
        ] {
            assert_eq!(read(text, Reader::integer).ok(), integer, "{text}");
            assert_eq!(read(text, Reader::number).ok(), text.parse().ok(), "{text}");
        }
        let error = read("1e999", Reader::number).unwrap_err();
        assert!(error.contains("number out of range: 1e999"), "{error}");
        let error = read("-7", Reader::integer).unwrap_err();
        assert!(error.contains("-7 is not a whole number"), "{error}");
    }

    #[test]
    fn errors_say_what_and_where() {
        let mut seen = None;
        let text = "{\n  \"a\": 1,\n  \"a\": 2}";
        let field = &mut |reader: &mut Reader<'_>, name: &str| match name {
            "a" => reader.once(name, &mut seen, Reader::integer),
            _ => Err(reader.unknown_field(name, "only 'a' is there")),
        };
        let error = read(text, |reader| reader.object(field)).unwrap_err();
        assert_eq!(error, "duplicate field 'a' at line 3 column 6");
        let error = read("{\"b\": 1}", |reader| reader.object(field)).unwrap_err();
        assert_eq!(error, "unknown field 'b': only 'a' is there at line 1 column 5");
        assert_eq!(read("null", Reader::text).unwrap_err(), "invalid type: null, expected a text at line 1 column 0");
        let long = "9".repeat(1000);
        assert!(read(&long, Reader::integer).unwrap_err().len() < 150);
    }
}
