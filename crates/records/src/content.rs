//! Content that is no table of text, although it may have lines.

use crate::separator::{OptionNames, separator_name, unmarked};

const EXPORT: &str = "export its records as CSV";
const UNPACK: &str = "unpack it, or use gzip";
const PAGE: &str = "an HTML or XML page";
const PICKLE: &str = "a pickled Python object";

/// How text begins that is no table, its name, and what to do.
const DOCUMENTS: [(&[u8], &str, &str); 7] = [
    (b"<!", PAGE, EXPORT),
    (b"<?", PAGE, EXPORT),
    (b"%PDF-", "a PDF document", EXPORT),
    (b"%!PS", "a PostScript document", EXPORT),
    (b"{\\rtf", "an RTF document", EXPORT),
    (b"%%MatrixMarket", "a matrix in Matrix Market's format", EXPORT),
    (b"version https://git-lfs", "a pointer of Git LFS, and the file is elsewhere", "get it with `git lfs pull`"),
];

/// How binary formats begin that people take for records, their names, and what to do.
const BINARY: [(&[u8], &str, &str); 23] = [
    (b"SQLite format 3", "an SQLite database", EXPORT),
    (b"\x89HDF", "an HDF5 file", EXPORT),
    (b"ORC", "an ORC file", EXPORT),
    (b"Obj\x01", "an Avro file", EXPORT),
    (b"CDF\x01", "a NetCDF file", EXPORT),
    (b"CDF\x02", "a NetCDF file", EXPORT),
    (b"\x80\x02", PICKLE, EXPORT),
    (b"\x80\x03", PICKLE, EXPORT),
    (b"\x80\x04", PICKLE, EXPORT),
    (b"\x80\x05", PICKLE, EXPORT),
    (b"X\n\0\0\0", "an object of R", EXPORT),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet or document of an old kind", EXPORT),
    (b"\x89PNG", "a picture", EXPORT),
    (b"\xff\xd8\xff", "a picture", EXPORT),
    (b"GIF8", "a picture", EXPORT),
    (b"PK\x05\x06", "a zip archive without files", EXPORT),
    (b"\x04\x22M\x18", "content packed by LZ4", UNPACK),
    (b"x\x9c", "content packed by zlib", UNPACK),
    (b"BZh", "content packed by bzip2", UNPACK),
    (b"\xfd7zXZ", "content packed by xz", UNPACK),
    (b"\x28\xb5\x2f\xfd", "content packed by zstd", UNPACK),
    (b"7z\xbc\xaf", "a 7z archive", UNPACK),
    (b"Rar!", "a RAR archive", UNPACK),
];

/// What a file that begins like this holds in place of records, with the remedy; `None` for text that may be a table,
/// in whatever encoding. `separator` is what the options say that separates its cells.
#[must_use]
pub fn no_table(start: &[u8], separator: Option<u8>, names: &OptionNames) -> Option<String> {
    let text = unmarked(start).trim_ascii_start();
    let is_control = |byte: &u8| byte.is_ascii_control() && !b"\t\n\r\x0c\x1a".contains(byte);
    let control = start.iter().copied().find(|byte| is_control(byte) && separator != Some(*byte));
    let is_binary = control.is_some() || str::from_utf8(start).is_err();
    let begins = |(magic, name, remedy): &(&[u8], &'static str, &'static str)| {
        (text.starts_with(magic) || start.starts_with(magic)).then_some((*name, *remedy))
    };
    let has = |place: usize, bytes: &[u8]| is_binary && start.get(place..place + bytes.len()) == Some(bytes);
    let held = DOCUMENTS
        .iter()
        .find_map(begins)
        .or_else(|| is_page(text).then_some((PAGE, EXPORT)))
        .or_else(|| is_json(text).then_some(("JSON", "make CSV of it")))
        .or_else(|| is_libsvm(text).then_some(("text in LIBSVM's format", "make CSV of it")))
        .or_else(|| is_arff(text).then_some(("text in ARFF", "make CSV of it")))
        .or_else(|| is_settings(text).then_some(("settings in INI or YAML", "make CSV of them")))
        .or_else(|| BINARY.iter().filter(|_| is_binary).find_map(begins))
        .or_else(|| has(257, b"ustar").then_some(("a tar archive", UNPACK)))
        .or_else(|| (has(0, b"BM") && has(6, &[0; 4])).then_some(("a picture", EXPORT)))
        .or_else(|| wide(start).map(|name| (name, "save it as UTF-8")));
    if let Some((name, remedy)) = held {
        return Some(format!("it holds {name}, not records: {remedy}"));
    }
    Some(match control? {
        0 => "it holds NUL bytes, not records: export them as text in UTF-8".to_owned(),
        byte if !lines(text).take(3).all(|line| line.contains(&byte)) => {
            format!("it holds control characters (0x{byte:02x}), not records: remove them")
        }
        byte => format!(
            "it holds control characters (0x{byte:02x}), not records: remove them, or give {} {} if they separate its \
             cells",
            names.separator,
            separator_name(byte.into())
        ),
    })
}

/// Whether this is markup without a declaration. (`<CLOSE>` may be a name.)
fn is_page(text: &[u8]) -> bool {
    let has = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
    matches!(text, [b'<', first, ..] if first.is_ascii_alphabetic()) && (has(b"</") || has(b"/>"))
}

/// Whether this is the start of JSON: no header goes on like one.
fn is_json(text: &[u8]) -> bool {
    let [open @ (b'{' | b'['), rest @ ..] = text else { return false };
    let is_nested = rest.trim_ascii_start().first().is_some_and(|next| b"{[\"}]".contains(next));
    let is_array = |line: &[u8]| match line.trim_ascii() {
        [b'[', inside @ .., b']'] => {
            let inside = inside.trim_ascii();
            let begins = |word: &[u8]| inside.starts_with(word);
            begins(b"true")
                || begins(b"false")
                || begins(b"null")
                || inside.first().is_some_and(|first| first.is_ascii_digit() || b"-\"".contains(first))
        }
        _ => false,
    };
    let ends = rest.iter().position(|byte| *byte == b']');
    let is_one = ends.is_none_or(|end| rest[end + 1..].trim_ascii().is_empty());
    is_nested
        || lines(text).take(2).all(is_array)
        || (*open == b'[' && is_one && rest.iter().all(|byte| b"0123456789+-.eE, ]\t\r\n".contains(byte)))
}

/// The lines that are not blank.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| b"\r\n".contains(byte)).filter(|line| !line.trim_ascii().is_empty())
}

/// Whether this is ARFF, maybe below comments.
fn is_arff(text: &[u8]) -> bool {
    let first = lines(text).find(|line| !line.starts_with(b"%")).unwrap_or_default();
    let (word, rest) = first.split_at(first.len().min(9));
    word.eq_ignore_ascii_case(b"@relation") && rest.first().is_some_and(u8::is_ascii_whitespace)
}

/// Whether this is a section of INI, or a list of YAML's mappings.
fn is_settings(text: &[u8]) -> bool {
    let mut lines = lines(text);
    let first = lines.next().unwrap_or_default().trim_ascii();
    let is_word =
        |word: &[u8]| !word.is_empty() && word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let mut next = lines.take(3).peekable();
    match first {
        [b'[', name @ .., b']'] => is_word(name) && next.peek().is_some() && next.all(|line| line.contains(&b'=')),
        [b'-', b' ', b'{', ..] => true,
        [b'-', b' ', item @ ..] => {
            let end = item.iter().position(|byte| *byte == b':').unwrap_or(0);
            is_word(&item[..end]) && matches!(item[end + 1..], [] | [b' ', ..])
        }
        _ => false,
    }
}

/// Whether one of the first lines has a label and pairs of a place and a number.
fn is_libsvm(text: &[u8]) -> bool {
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let is_pair = |word: &str| {
        let pair = word.split_once(':');
        pair.is_some_and(|(place, value)| (place == "qid" || place.parse::<u32>().is_ok()) && is_number(value))
    };
    lines(text).take(9).any(|line| {
        let mut words = str::from_utf8(line).unwrap_or_default().split_ascii_whitespace();
        let has_label = words.next().is_some_and(|label| label.split(',').all(is_number));
        has_label && words.clone().next().is_some() && words.all(is_pair)
    })
}

/// The encoding of text in units of two or four bytes, by its mark, or by where NUL bytes are.
fn wide(start: &[u8]) -> Option<&'static str> {
    const NAMES: [&str; 2] = ["text in UTF-16", "text in UTF-32"];
    let begins = |mark: &[u8]| start.starts_with(mark);
    let zeros = |place, width| start.iter().skip(place).step_by(width).filter(|byte| **byte == 0).count();
    let (even, odd, units) = (zeros(0, 2), zeros(1, 2), start.len() / 4);
    let is_full = even > 0 && odd > 0 && units > 0 && (zeros(0, 4) >= units || zeros(3, 4) >= units);
    let is_half = (even == 0) != (odd == 0) && 8 * (even + odd) >= start.len();
    match () {
        () if begins(b"\xff\xfe\0\0") || begins(b"\0\0\xfe\xff") || is_full => Some(NAMES[1]),
        () if begins(b"\xff\xfe") || begins(b"\xfe\xff") || is_half => Some(NAMES[0]),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(content: &[u8]) -> Option<String> {
        no_table(content, None, &OptionNames { separator: "--separator", ..OptionNames::NONE })
    }

    fn units<const WIDTH: usize>(text: &str, bytes: impl Fn(u32) -> [u8; WIDTH]) -> Vec<u8> {
        text.chars().flat_map(|letter| bytes(u32::from(letter))).collect()
    }

    #[test]
    fn what_is_no_table_is_named_with_a_remedy() {
        let cases: [(&[u8], &str); 40] = [
            (b"<!DOCTYPE html>\n<html lang=\"en\">", "an HTML or XML page"),
            (b"\xef\xbb\xbf\n <?xml version='1.0'?>", "an HTML or XML page"),
            (b"<svg width='1'><path d='M0,0'/></svg>", "an HTML or XML page"),
            (b"<Error>\n<Code>AccessDenied</Code>", "an HTML or XML page"),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "Git LFS"),
            (b"{\"a\": 1}\n{\"a\": 2}\n", "JSON"),
            (b"[\n  {\"a\": 1}\n]", "JSON"),
            (b"[1, 2.5]\n[3, 4]\n", "JSON"),
            (b"[0, 0, \"a\"]\n[1, 1, \"b\"]\n", "JSON"),
            (b"[true, 1]\n", "JSON"),
            (b"- {x: 1, g: a}\n- {x: 2, g: b}\n", "settings in INI or YAML"),
            (b"- x: 1\n  g: a\n", "settings in INI or YAML"),
            (b"[data]\nx0=1\nx1=2\n", "settings in INI or YAML"),
            (b"% title\n\n@RELATION iris\n@attribute x real\n", "ARFF"),
            (b"%%MatrixMarket matrix array real general\n", "Matrix Market"),
            (b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0", "a zip archive"),
            (b"GIF89a\x01\0\x01\0\x80\0\0", "a picture"),
            (b"CDF\x01\0\0\0\0\0\0\0\x0a\0\0\0\x01", "a NetCDF file"),
            (b"\x80\x05\x95\x0b\0\0\0\0\0\0\0]\x94", "a pickled Python object"),
            (b"\x80\x02]q\0(K\x01K\x02e.", "a pickled Python object"),
            (b"\x04\x22M\x18d@\xa7", "LZ4"),
            (b"x\x9c\xcb\x48\xcd", "zlib"),
            (b"BM6\0\x0c\0\0\0\0\0\x36\0\0\0", "a picture"),
            (b"X\n\0\0\0\x03\0\x04\x02\0", "an object of R"),
            (b"x,y\n1,\x052\n", "(0x05), not records: remove them"),
            (b"1 1:0.5 3:0.25\n-1 2:1\n", "LIBSVM"),
            (b"1\n0 qid:3 1:2e-3\n", "LIBSVM"),
            (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF document"),
            (b"{\\rtf1\\ansi x,y}", "an RTF document"),
            (b"SQLite format 3\0\x10\0", "an SQLite database"),
            (b"BZh91AY&SY\x01\x02", "bzip2"),
            (b"\x28\xb5\x2f\xfd\x04\x00a,b\n", "zstd"),
            (b"\x89PNG\r\n\x1a\n\0\0\0\r", "a picture"),
            (b"\xff\xfex\0,\0y\0\n\0", "UTF-16"),
            (b"\xff\xfe\0\0x\0\0\0", "UTF-32"),
            (b"\0\0\xfe\xff\0\0\0x", "UTF-32"),
            (b"x,y\n1,\0\n2,3\n4,5\n", "NUL bytes"),
            (b"x,y\n1,\x1b[0m\n", "control characters (0x1b)"),
            (b"x\x1fy\n1\x1f2\n", "--separator $'\\x1f'"),
            (b"x\x01y\n1\x012\n", "--separator $'\\x01'"),
        ];
        for (content, part) in cases {
            let said = held(content).unwrap_or_default();
            assert!(said.contains(part) && said.contains(", not records: "), "{content:?}: {said}");
        }
        for table in ["x,y,g\n0.5,1,a\n", "größe,名前\n1,é\n"] {
            let wide = [
                units(table, |unit| (unit as u16).to_be_bytes()),
                units(table, |unit| (unit as u16).to_le_bytes()),
                units(table, u32::to_be_bytes),
                units(table, u32::to_le_bytes),
            ];
            for (content, name) in wide.iter().zip(["UTF-16", "UTF-16", "UTF-32", "UTF-32"]) {
                assert!(held(content).is_some_and(|said| said.contains(name)), "{table} {name}");
            }
        }
    }

    #[test]
    fn tables_are_none_of_it() {
        let tables: [&[u8]; 16] = [
            b"",
            b"x,y\n1,2\n",
            b"\xef\xbb\xbfx;y\r\n1;2\r\n",
            b"<DATE>,<CLOSE>\n1,2\n",
            b"[km],{h}\n1,2\n",
            b"[km]\n1\n2\n",
            b"[1],[2]\n1,2\n",
            b"- a,x\n1,2\n",
            b"@relation,x\n1,2\n",
            b"ORC,BZh\n1,2\n",
            b"a,\xe9\n",
            b"when,x\n12:30,1\n",
            b"1 2\n3 4\n",
            b"x\ty\n1\t2\n\x1a",
            b"version,x\n1,2\n",
            "a,b\n1,é".as_bytes().split_last().unwrap().1,
        ];
        for content in tables {
            assert_eq!(held(content), None, "{content:?}");
        }
        assert_eq!(no_table(b"x\x1fy\n1\x1f2\n", Some(0x1f), &OptionNames::NONE), None);
    }
}
