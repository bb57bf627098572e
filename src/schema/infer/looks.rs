//! What the text of a cell, the name of a column and a first row look like.

use super::numbers::{NumberForms, in_ascii, is_unread_number, read_number};
use super::warning::Oddity;

/// What a text is that is no plain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looks {
    /// A number in these forms.
    Number(NumberForms),
    /// A number in a form that is not read.
    UnreadNumber,
    Date,
    /// An e-mail address or a UUID: it identifies somebody.
    Identifier,
    /// A text that is rather a document than a category.
    FreeText,
    Text,
}

impl Looks {
    pub(super) fn of(field: &str) -> Self {
        let text = &*in_ascii(field);
        if is_identifier(text) {
            return Self::Identifier;
        }
        // Of what is published, with all that is not seen.
        if is_free_text(text) || field.chars().nth(LONGEST).is_some() {
            return Self::FreeText;
        }
        if !text.contains(char::is_numeric) {
            return Self::Text;
        }
        if is_date(text) {
            return Self::Date;
        }
        let with_comma = || {
            let (number, forms) = read_number(text, true)?;
            // A point that separates thousands needs it, too.
            Some((number, forms.with(NumberForms::DECIMAL_COMMA)))
        };
        match read_number(text, false).or_else(with_comma) {
            Some((_, forms)) if !forms.is_empty() => Self::Number(forms),
            _ if is_unread_number(text) => Self::UnreadNumber,
            _ => Self::Text,
        }
    }
}

/// What is odd about a category that may identify somebody; none of any other.
#[must_use]
pub fn identifying(category: &str) -> Option<Oddity> {
    match Looks::of(category.trim()) {
        Looks::Identifier => Some(Oddity::Identifiers),
        Looks::FreeText => Some(Oddity::FreeTexts),
        _ => None,
    }
}

fn is_identifier(text: &str) -> bool {
    if let Some((local, domain)) = text.split_once('@') {
        let one_word = !text.contains(char::is_whitespace);
        return one_word && !local.is_empty() && domain.trim_matches('.').contains('.');
    }
    let lengths = text.split('-').map(str::len);
    text.len() == 36
        && lengths.eq([8, 4, 4, 4, 12])
        && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// The most characters of a category that nobody names.
const LONGEST: usize = 64;

/// Whether this is longer than a category, or has markup or control characters other than line ends and tabs.
fn is_free_text(text: &str) -> bool {
    let encloses = |open: char, close: char| text.starts_with(open) && text.ends_with(close);
    let is_markup = text.starts_with("<!") || (text.starts_with('<') && (text.contains("</") || text.contains("/>")));
    let is_json = text.contains(':') && (encloses('{', '}') || encloses('[', ']'));
    let is_control = |letter: char| letter.is_control() && !"\t\r\n".contains(letter);
    text.chars().nth(LONGEST).is_some() || is_markup || is_json || text.contains(is_control)
}

/// Whether this is a day, a month of a year, or either with a time of day.
#[must_use]
pub fn is_date(text: &str) -> bool {
    let (day, time) = match text.find(['T', ' ']).map(|place| text.split_at(place)) {
        Some((day, time)) if is_time(&time[1..]) => (day, true),
        _ => (text, false),
    };
    let digits = |part: &str, lengths: &[usize]| {
        let all = part.bytes().all(|byte| byte.is_ascii_digit());
        if all && lengths.contains(&part.len()) { part.parse::<u32>().ok() } else { None }
    };
    let year = |part: &str| digits(part, &[4]).filter(|year| (1000..3000).contains(year));
    let number = |part: &str, most: u32| digits(part, &[1, 2]).filter(|number| (1..=most).contains(number));
    let separated = ['-', '/', '.'].into_iter().any(|separator| match day.split(separator).collect::<Vec<_>>()[..] {
        [first, second, third] => {
            let month_and_day = |one, other| number(one, 12).is_some() && number(other, 31).is_some();
            let year_last = year(third).is_some() || digits(third, &[2]).is_some();
            (year(first).is_some() && month_and_day(second, third))
                || (year_last && (month_and_day(first, second) || month_and_day(second, first)))
        }
        [first, second] if separator == '-' => {
            year(first).is_some() && second.len() == 2 && number(second, 12).is_some()
        }
        _ => false,
    });
    let words: Vec<&str> = day.split([' ', '-', ',', '.']).filter(|word| !word.is_empty()).collect();
    let months = words.iter().filter(|word| is_month(word)).count();
    let days = words.iter().filter(|word| number(word, 31).is_some()).count();
    let years = words.iter().filter(|word| year(word).is_some()).count();
    let spelled = months == 1 && days + years + 1 == words.len() && (1..=2).contains(&(days + years)) && years <= 1;
    separated || spelled || (time && digits(day, &[8]).is_some())
}

fn is_month(word: &str) -> bool {
    const MONTHS: &str = "january february march april may june july august september october november december";
    let word = word.to_ascii_lowercase();
    word.len() >= 3 && MONTHS.split(' ').any(|month| month.starts_with(&word))
}

/// Whether this is a time of day, with a zone or without.
fn is_time(text: &str) -> bool {
    let colons = text.contains(':') && text.starts_with(|first: char| first.is_ascii_digit());
    colons && text.bytes().all(|byte| byte.is_ascii_digit() || b":.+-ZzAaPpMm ".contains(&byte))
}

/// Whether the number is a day written as YYYYMMDD.
pub(super) fn is_compact_date(number: f64) -> bool {
    if !(19_000_101.0..=21_001_231.0).contains(&number) || number.fract() != 0.0 {
        return false;
    }
    let number = number as u32;
    (1..=12).contains(&(number / 100 % 100)) && (1..=31).contains(&(number % 100))
}

/// Whether a column of this name is likely to identify people.
pub(super) fn names_identifiers(name: &str) -> bool {
    const LAST: &str = "id uuid guid name key";
    const ANYWHERE: &str = "ssn email mail phone telephone tel mobile surname firstname lastname fullname username \
                            login passport iban address ip userid customerid patientid";
    let is_in = |list: &str, word: &str| list.split(' ').any(|listed| listed == word);
    let mut words = String::new();
    let mut small = false;
    for letter in name.chars() {
        if small && letter.is_uppercase() {
            words.push(' ');
        }
        small = letter.is_lowercase();
        words.extend(letter.to_lowercase());
    }
    let words: Vec<&str> =
        words.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.last().is_some_and(|last| is_in(LAST, last)) || words.iter().any(|word| is_in(ANYWHERE, word))
}

/// Whether the numbers of a row are consecutive whole numbers, as in a header of years or positions: two years at
/// least, or three other numbers.
pub(super) fn counts_up(fields: &[&str]) -> bool {
    let numbers: Vec<f64> = fields.iter().filter_map(|field| field.trim().parse().ok()).collect();
    let year = |number: &f64| number.fract() == 0.0 && (1800.0..=2200.0).contains(number);
    let steps = |step: f64| numbers.windows(2).all(|pair| pair[1] - pair[0] == step);
    if numbers.len() >= 2 && numbers.iter().all(year) {
        return numbers[0] != numbers[1] && steps(numbers[1] - numbers[0]);
    }
    numbers.len() >= 3 && numbers[0].fract() == 0.0 && steps(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_told_from_numbers_and_texts() {
        for text in [
            "2024-02-29",
            "29.2.2024",
            "12-31-1999",
            "29 Feb 2024",
            "Feb 29, 2024",
            "29-feb-2024",
            "March 2024",
            "2024-02-29T12:30:00Z",
            "2024-02-29 12:30",
            "29.02.2024 09:15:00.5",
            "20240229T123000:00",
            "2024/2/9",
            "2/29/24",
            "2024-02",
        ] {
            assert_eq!(Looks::of(text), Looks::Date, "{text}");
        }
        let long = ["2024-13-01", "2024-02-40", "13/13/2024", "1.234.567", "3024-01-01"];
        let short = [
            "0/1/2024", "10.0.0.1", "1-2", "a-b-c", "12:30", "may", "Mayor 12", "1 2 3", "40 May", "room 12", "2024-2",
        ];
        for text in long.into_iter().chain(short) {
            assert_ne!(Looks::of(text), Looks::Date, "{text}");
        }
        for (number, date) in [
            (20_240_229.0, true),
            (19_000_101.0, true),
            (21_001_231.0, true),
            (20_241_301.0, false),
            (20_240_032.0, false),
            (20_240_200.0, false),
            (20_240_229.5, false),
            (18_991_231.0, false),
            (7.0, false),
        ] {
            assert_eq!(is_compact_date(number), date, "{number}");
        }
    }

    #[test]
    fn identifiers_are_known_by_their_form_or_by_the_name_of_their_column() {
        for text in ["a.b@c.org", "x@y.z", "123e4567-e89b-12d3-a456-426614174000"] {
            assert_eq!(Looks::of(text), Looks::Identifier, "{text}");
            assert_eq!(identifying(text), Some(Oddity::Identifiers), "{text}");
        }
        for text in ["a@b", "@c.org", "a b@c.org", "a@.org", "123e4567-e89b-12d3-a456-42661417400g", "1-2-3-4-5", "at"]
        {
            assert_eq!(Looks::of(text), Looks::Text, "{text}");
        }
        let long = ["customer id", "E-Mail Address", "phone number", "first.name"];
        let short = ["id", "ID", "user_id", "userId", "uuid", "SSN", "e-mail", "name", "LastName", "ip"];
        for name in long.into_iter().chain(short) {
            assert!(names_identifiers(name), "{name}");
        }
        for name in
            ["paid", "grid", "age", "names of", "idea", "identity", "c1", "", "_", "shipment", "keyboard", "email2"]
        {
            assert!(!names_identifiers(name), "{name}");
        }
    }

    #[test]
    fn documents_are_no_categories() {
        let long = "x".repeat(65);
        let unseen = format!("{}\u{feff}x", &long[2..]);
        let marked = ["<p>Moved</p>", "<br/>", "<!-- -->", r#"{"a": 1}"#, r#"[{"a": 1}]"#, "a\0b", "\u{1b}[0m"];
        for text in [&*long, &unseen].into_iter().chain(marked) {
            assert_eq!(Looks::of(text), Looks::FreeText, "{text}");
            assert_eq!(identifying(text), Some(Oddity::FreeTexts), "{text}");
        }
        for text in [&long[1..], &*"é".repeat(64), "<5", "<none>", ">50K", "{a}", "[18:25)", "two\nlines", "a\tb"] {
            assert_eq!(Looks::of(text), Looks::Text, "{text}");
            assert_eq!(identifying(text), None, "{text}");
        }
    }

    #[test]
    fn headers_of_numbers_count_up() {
        for row in [
            &["2019", "2020"][..],
            &["country", "2019", "2020", "2021"],
            &["2000", "2010", "2020"],
            &["2021", "2020", "2019"],
            &["0", "1", "2"],
            &["", "7", "8", "9"],
        ] {
            assert!(counts_up(row), "{row:?}");
        }
        for row in [
            &["2019"][..],
            &["2019", "2019"],
            &["1", "2"],
            &["0", "1", "3"],
            &["2019", "2020", "2022"],
            &["2019", "5"],
            &["0.5", "1.5", "2.5"],
            &["a", "b"],
            &[],
        ] {
            assert!(!counts_up(row), "{row:?}");
        }
    }
}
