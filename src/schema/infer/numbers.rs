//! Numbers in text files, in the forms that people write.

use core::fmt;
use std::borrow::Cow;

/// A set of ways to write numbers that need more than digits, a sign and a decimal point. As text it is what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberForms(u8);

impl NumberForms {
    /// No form.
    pub const NONE: Self = Self(0);
    /// `1,234`, `1 234`, `1'234` or `1_234`: groups of three digits, or of two before the last, as in `12,34,567`.
    const THOUSANDS: Self = Self(1);
    /// `12.5%` is 0.125.
    const PERCENT: Self = Self(1 << 1);
    /// `$5`, `5 €` or `EUR 5`. The sign is removed, and nothing is converted.
    const CURRENCY: Self = Self(1 << 2);
    /// `(5)` is -5, as accountants write it.
    const PARENTHESES: Self = Self(1 << 3);
    /// `1,5` is 1.5.
    pub const DECIMAL_COMMA: Self = Self(1 << 4);

    /// All forms, with the names that a user gives them and what they are.
    const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::THOUSANDS, "thousands", "thousands separators"),
        (Self::PERCENT, "percent", "per cent signs"),
        (Self::CURRENCY, "currency", "currency signs"),
        (Self::PARENTHESES, "parentheses", "parentheses for a minus"),
        (Self::DECIMAL_COMMA, "decimal-comma", "decimal commas"),
    ];

    /// These but for the others.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// These and the others.
    #[must_use]
    pub(super) fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether all of the others are among these.
    #[must_use]
    pub fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Reads names of forms with commas between. A decimal comma is none of them: it belongs to a whole file.
    ///
    /// # Errors
    /// The names that there are.
    pub fn parse(names: &str) -> Result<Self, String> {
        let known = || Self::ALL.into_iter().filter(|(form, ..)| *form != Self::DECIMAL_COMMA);
        names.split(',').try_fold(Self::default(), |forms, given| {
            let found = known().find(|(_, name, _)| *name == given.trim()).map(|(form, ..)| forms.with(form));
            let names = || known().map(|(_, name, _)| name).collect::<Vec<_>>().join(", ");
            found.ok_or_else(|| format!("give one or more of {}, with commas between", names()))
        })
    }

    /// The names that [`parse`](Self::parse) reads.
    #[must_use]
    pub fn names(self) -> String {
        let forms = Self::ALL.into_iter().filter(|(form, ..)| self.has(*form));
        forms.map(|(_, name, _)| name).collect::<Vec<_>>().join(",")
    }
}

impl fmt::Display for NumberForms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said: Vec<&str> =
            Self::ALL.into_iter().filter(|(form, ..)| self.has(*form)).map(|(.., said)| said).collect();
        f.write_str(&said.join(" and "))
    }
}

/// The digits, signs and marks of other scripts as those of ASCII, where a text has any: they have one meaning. Marks
/// of direction are left out.
#[must_use]
pub fn in_ascii(text: &str) -> Cow<'_, str> {
    /// The zeros of scripts whose digits follow each other.
    const ZEROS: &str = "\u{660}\u{6f0}\u{7c0}\u{966}\u{9e6}\u{a66}\u{ae6}\u{b66}\u{be6}\
                         \u{c66}\u{ce6}\u{d66}\u{e50}\u{ed0}\u{f20}\u{1040}\u{17e0}\u{1810}";
    if text.is_ascii() {
        return text.into();
    }
    let ascii = |letter: char| match letter {
        // Full width.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0),
        '\u{2010}'..='\u{2013}' | '\u{2212}' | '\u{fe63}' => Some('-'),
        // Of mathematics, in five shapes.
        '\u{1d7ce}'..='\u{1d7ff}' => char::from_digit((u32::from(letter) - 0x1d7ce) % 10, 10),
        '\u{66a}' => Some('%'),
        '\u{66b}' => Some('.'),
        '\u{66c}' => Some(','),
        '\u{61c}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}' => None,
        _ => {
            let digit = |zero: char| u32::from(letter).checked_sub(zero.into()).filter(|digit| *digit < 10);
            ZEROS.chars().find_map(digit).map_or(Some(letter), |digit| char::from_digit(digit, 10))
        }
    };
    text.chars().filter_map(ascii).collect()
}

/// Reads a number that has digits, maybe a sign, a decimal point and an exponent, in any script.
#[must_use]
pub fn plain_number(text: &str) -> Option<f64> {
    let read = |text: &str| text.trim().parse().ok();
    read(text).or_else(|| if text.is_ascii() { None } else { read(&in_ascii(text)) })
}

/// Whether a number begins with zeros that it does not need, as codes do.
pub(super) fn is_padded(number: &str) -> bool {
    matches!(in_ascii(number).trim().as_bytes(), [b'0', b'0'..=b'9', ..])
}

/// Whether a text is likely to be a number in a form that is none of [`NumberForms`]: with quotes as spreadsheets write
/// them, a power, a fraction, another base, a sign at its end, a dash for a minus, an error, a letter for thousands or
/// spaces anywhere.
#[must_use]
pub fn is_unread_number(text: &str) -> bool {
    let is_number = |text: &str| {
        let plain = plain_number(text).is_some_and(f64::is_finite);
        plain || [false, true].into_iter().any(|decimal_comma| read_number(text, decimal_comma).is_some())
    };
    let bare: String = in_ascii(text).chars().filter(|letter| !letter.is_whitespace()).collect();
    let bare = bare.trim_matches(|letter: char| "='\"`´‘’“”".contains(letter));
    let small = bare.to_ascii_lowercase();
    let unsigned = small.trim_start_matches(['-', '+']);
    let has_base = |(mark, base): (&str, u32)| {
        let digits = unsigned.strip_prefix(mark).unwrap_or_default();
        !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base))
    };
    let has_power = |times: &str| {
        let power = small.split_once(times).filter(|(number, _)| is_number(number));
        power.is_some_and(|(_, power)| power.starts_with(['^', '⁻', '⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹']))
    };
    // Without a point or a sign it may be the number of a seat, and with a sign at its end one digit a grade.
    let fortran = small.contains(['.', '-', '+']) && is_number(&small.replacen(['d', 'q'], "e", 1));
    let after = bare.strip_suffix('-').is_some_and(|number| number.len() > 1 && is_number(number));
    let is_raised =
        |letter: char| ('¼'..='¾').contains(&letter) || ('⅐'..='⅞').contains(&letter) || "⁰¹²³⁴⁵⁶⁷⁸⁹".contains(letter);
    let base = bare.trim_end_matches(is_raised);
    let raised = base.len() < bare.len() && (base.is_empty() || is_number(base));
    let dashed = bare.strip_prefix(['\u{2014}', '\u{2015}', '\u{ad}']).is_some_and(is_number);
    let spread = bare.split_once('±').is_some_and(|(number, error)| is_number(number) && is_number(error));
    // Without a point it may be a size or a distance.
    let short = bare.contains(['.', ',']) && bare.strip_suffix(['k', 'K', 'M', 'B']).is_some_and(is_number);
    is_number(bare)
        || [("0x", 16), ("0o", 8), ("0b", 2), ("&h", 16)].into_iter().any(has_base)
        || ["×10", "x10", "*10", "·10"].into_iter().any(has_power)
        || fortran
        || after
        || raised
        || dashed
        || spread
        || short
}

/// Reads a number in any of the forms, with the decimal comma in place of the point or not. The forms that it has come
/// with it; a plain number has none. Signs of several forms may be together: `-$1,234.50`, `(12 %)`.
#[must_use]
pub fn read_number(text: &str, decimal_comma: bool) -> Option<(f64, NumberForms)> {
    let text = in_ascii(text);
    let mut forms = NumberForms::default();
    if decimal_comma && text.contains(',') {
        forms = forms.with(NumberForms::DECIMAL_COMMA);
    }
    let (mut rest, mut minus, mut signed) = (text.trim(), false, false);
    loop {
        let form = if let Some(inside) = enclosed(rest).filter(|_| !signed) {
            (rest, minus, signed) = (inside, true, true);
            NumberForms::PARENTHESES
        } else if let Some(amount) = without_currency(rest) {
            rest = amount;
            NumberForms::CURRENCY
        } else if let Some(percentage) = rest.strip_suffix('%') {
            rest = percentage.trim_end();
            NumberForms::PERCENT
        } else if let Some(sign) = rest.chars().next().filter(|sign| !signed && ['-', '+'].contains(sign)) {
            (rest, minus, signed) = (&rest[1..], sign == '-', true);
            continue;
        } else {
            break;
        };
        if forms.has(form) {
            return None;
        }
        forms = forms.with(form);
    }
    let point = if decimal_comma { ',' } else { '.' };
    let (whole, fraction) = rest.split_once(point).unwrap_or((rest, ""));
    let separator = whole.chars().find(|letter| !letter.is_ascii_alphanumeric());
    let mut digits = match separator {
        None => rest.replacen(point, ".", 1),
        Some(separator) => {
            forms = forms.with(NumberForms::THOUSANDS);
            let other = if decimal_comma { '.' } else { ',' };
            let spaces = [' ', '\u{a0}', '\u{2007}', '\u{2009}', '\u{202f}'];
            let separates = separator == other || ['\'', '’', '_'].contains(&separator) || spaces.contains(&separator);
            let lengths: Vec<usize> = whole.split(separator).map(str::len).collect();
            let numeric = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let grouped = match lengths[..] {
                [1..=2, ref middle @ .., 3] if middle.iter().all(|length| *length == 2) => true,
                [1..=3, ref others @ ..] => others.iter().all(|length| *length == 3),
                _ => false,
            };
            let numbers = whole.split(separator).all(numeric) && numeric(fraction);
            if !(separates && grouped && numbers) {
                return None;
            }
            format!("{}.{fraction}", whole.replace(separator, ""))
        }
    };
    // Neither a second sign nor a word for infinity.
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let percent = forms.has(NumberForms::PERCENT);
    let exponent = digits.contains(['e', 'E']);
    if percent && !exponent {
        // Rounded once.
        digits += "e-2";
    }
    let number: f64 = digits.parse().ok().filter(|number: &f64| number.is_finite())?;
    let number = if percent && exponent { number / 100.0 } else { number };
    Some((if minus { -number } else { number }, forms))
}

fn enclosed(text: &str) -> Option<&str> {
    text.strip_prefix('(')?.strip_suffix(')').map(str::trim)
}

/// The text without the currency before it or after it.
fn without_currency(text: &str) -> Option<&str> {
    const CURRENCIES: &str = "USD EUR GBP JPY CHF CNY INR AUD CAD NZD SEK NOK DKK PLN CZK BRL MXN KRW ZAR SGD HKD TWD \
                              THB IDR MYR PHP TRY RUB UAH ILS AED SAR EGP NGN KES PKR BDT VND HUF RON ARS CLP COP PEN \
                              US$ AU$ CA$ A$ C$ NZ$ HK$ R$ $ £ ¤ ¥ ￡ ￥ ฿ Rs. Rs kr. kr zł Kč";
    let without = |sign: &str| text.strip_prefix(sign).or_else(|| text.strip_suffix(sign));
    let is_sign = |letter: char| ('\u{20a0}'..='\u{20cf}').contains(&letter);
    let amount = CURRENCIES.split(' ').find_map(without);
    amount.or_else(|| text.strip_prefix(is_sign)).or_else(|| text.strip_suffix(is_sign)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<(f64, String)> {
        read_number(text, false).map(|(number, forms)| (number, forms.names()))
    }

    #[test]
    fn numbers_are_read_in_every_form_and_in_several_at_once() {
        for (text, value, forms) in [
            ("5", 5.0, ""),
            ("-.5e3", -500.0, ""),
            ("+5.", 5.0, ""),
            ("1,234", 1234.0, "thousands"),
            ("-1 234 567.25", -1_234_567.25, "thousands"),
            ("12\u{a0}345", 12345.0, "thousands"),
            ("1'000", 1000.0, "thousands"),
            ("12.5%", 0.125, "percent"),
            ("7 %", 0.07, "percent"),
            ("1e1%", 0.1, "percent"),
            ("$5", 5.0, "currency"),
            ("-$ 5", -5.0, "currency"),
            ("$-5", -5.0, "currency"),
            ("5.50 €", 5.5, "currency"),
            ("EUR 7", 7.0, "currency"),
            ("(5)", -5.0, "parentheses"),
            ("( $1,234.50 )", -1234.5, "thousands,currency,parentheses"),
            ("1_000", 1000.0, "thousands"),
            ("1,00,000", 100_000.0, "thousands"),
            ("-12,34,567.5", -1_234_567.5, "thousands"),
            ("\u{2212}1\u{2007}234", -1234.0, "thousands"),
            ("１２％", 0.12, "percent"),
            ("٣٫٥٪", 0.035, "percent"),
            ("US$5", 5.0, "currency"),
            ("5 kr", 5.0, "currency"),
            ("₡7", 7.0, "currency"),
            ("$(1)", -1.0, "currency,parentheses"),
            ("(12 %)", -0.12, "percent,parentheses"),
        ] {
            assert_eq!(number(text), Some((value, forms.to_owned())), "{text}");
        }
        let long = ["100,00,000", "1,234 567"];
        let short = [
            "", "-", "(", "()", "%", "$", "1,5", "12,34", "1,00,00", "1_0", "1,2345", "1234,567", ",123", "1,,234",
            "1,234,", "--5", "(-5)", "-(5)", "((5))", "$$5", "5%%", "inf", "-nan", "$inf", "1e999", "1,234e5", "a",
            "5 apples", "1;234", "1.2.3", "- 5",
        ];
        for text in long.into_iter().chain(short) {
            assert_eq!(number(text), None, "{text}");
        }
        let comma = |text| read_number(text, true).map(|(number, forms)| (number, forms.names()));
        assert_eq!(comma("1.234,5"), Some((1234.5, "thousands,decimal-comma".to_owned())));
        assert_eq!(comma("12,5 %"), Some((0.125, "percent,decimal-comma".to_owned())));
        assert_eq!(comma("1.5"), None);
    }

    #[test]
    fn digits_and_signs_of_any_script_are_those_of_a_plain_number() {
        for (text, value) in [
            ("-5", -5.0),
            ("\u{2212}0.5", -0.5),
            ("\u{2013}7", -7.0),
            ("－１２．５ｅ２", -1250.0),
            ("٠١٢٣٤٥٦٧٨٩", 123_456_789.0),
            ("۴۲", 42.0),
            ("९९", 99.0),
            ("𝟏𝟘𝟧", 105.0),
            ("\u{200e}-3\u{feff}", -3.0),
            (" 1e3 ", 1000.0),
        ] {
            assert_eq!(plain_number(text), Some(value), "{text}");
        }
        for text in ["", "\u{2212}", "5–7", "²", "½", "Ⅳ", "五", "1 000", "5%", "'5", "0x10"] {
            assert_eq!(plain_number(text), None, "{text}");
        }
        for (text, is_code) in [
            ("007", true),
            ("00", true),
            ("01.5", true),
            ("０２１３４", true),
            ("0", false),
            ("0.5", false),
            ("-07", false),
        ] {
            assert_eq!(is_padded(text), is_code, "{text}");
        }
    }

    #[test]
    fn numbers_in_other_forms_are_told_from_texts() {
        let long = ["1.5×10^3", "2x10⁻³", "1.234,50-"];
        let short = [
            "'1", "=\"1\"", "\"-2.5\"", "“3”", "'$5", "0x1F", "-0Xff", "0b101", "1.5D+01", "1D-3", "12-", "- 5",
            "1 2 3", "1 E 5", "½", "2 ¾", "5²", "1.5M", "5±1", "5 ± 0.5", "—5", "\u{ad}5", "&H1F",
        ];
        for text in long.into_iter().chain(short) {
            assert!(is_unread_number(text), "{text}");
        }
        for text in [
            "", "-", "'", "a", "'a'", "0x", "0xyz", "12D3", "2-", "5+", "18-24", "1/2", "5 apples", "3x10", "12:30",
            "A-1", "1.2.3", "2.0.1-rc", "5'11\"", "5M", "m²", "2.0T", "10—20", "±",
        ] {
            assert!(!is_unread_number(text), "{text}");
        }
    }

    #[test]
    fn forms_have_names() {
        let forms = NumberForms::parse("percent, thousands").unwrap();
        assert_eq!(
            (forms.names().as_str(), forms.to_string().as_str()),
            ("thousands,percent", "thousands separators and per cent signs")
        );
        assert!(forms.has(NumberForms::PERCENT) && !forms.has(NumberForms::CURRENCY) && !forms.is_empty());
        for bad in ["", "percent,", "dollars", "decimal-comma"] {
            assert!(
                NumberForms::parse(bad).unwrap_err().contains("thousands, percent, currency, parentheses"),
                "{bad}"
            );
        }
    }
}
