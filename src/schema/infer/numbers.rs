//! Numbers in text files, in the forms that people write.

use core::fmt;

/// A set of ways to write numbers that need more than digits, a sign and a decimal point. As text it is what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberForms(u8);

impl NumberForms {
    /// No form.
    pub const NONE: Self = Self(0);
    /// `1,234`, `1 234` or `1'234`: groups of three digits.
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

/// Reads a number in any of the forms, with the decimal comma in place of the point or not. The forms that it has come
/// with it; a plain number has none. Signs of several forms may be together: `-$1,234.50`, `(12 %)`.
#[must_use]
pub fn read_number(text: &str, decimal_comma: bool) -> Option<(f64, NumberForms)> {
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
            let separates =
                separator == other || [' ', '\u{a0}', '\u{202f}', '\u{2009}', '\'', '’'].contains(&separator);
            let groups = || whole.split(separator).skip(1);
            let first = whole.split(separator).next().unwrap_or_default().len();
            let numeric = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let grouped = (1..=3).contains(&first) && groups().all(|group| group.len() == 3);
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
    const CURRENCIES: [&str; 33] = [
        "$", "€", "£", "¥", "₹", "₩", "₺", "₽", "₪", "₫", "₴", "₱", "฿", "USD", "EUR", "GBP", "JPY", "CHF", "CNY",
        "INR", "AUD", "CAD", "NZD", "SEK", "NOK", "DKK", "PLN", "CZK", "BRL", "MXN", "KRW", "ZAR", "SGD",
    ];
    let without = |sign: &&str| text.strip_prefix(*sign).or_else(|| text.strip_suffix(*sign));
    CURRENCIES.iter().find_map(without).map(str::trim)
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
            ("$(1)", -1.0, "currency,parentheses"),
            ("(12 %)", -0.12, "percent,parentheses"),
        ] {
            assert_eq!(number(text), Some((value, forms.to_owned())), "{text}");
        }
        for text in [
            "",
            "-",
            "(",
            "()",
            "%",
            "$",
            "1,5",
            "12,34",
            "1,2345",
            "1234,567",
            ",123",
            "1,234 567",
            "1,,234",
            "1,234,",
            "--5",
            "(-5)",
            "-(5)",
            "((5))",
            "$$5",
            "5%%",
            "inf",
            "-nan",
            "$inf",
            "1e999",
            "1,234e5",
            "a",
            "5 apples",
            "1;234",
            "1.2.3",
            "- 5",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
        let comma = |text| read_number(text, true).map(|(number, forms)| (number, forms.names()));
        assert_eq!(comma("1.234,5"), Some((1234.5, "thousands,decimal-comma".to_owned())));
        assert_eq!(comma("12,5 %"), Some((0.125, "percent,decimal-comma".to_owned())));
        assert_eq!(comma("1.5"), None);
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
