//! How a text file of records is read.

use serde::Serialize;

/// How a text file of a schema's records is read, where nobody says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Dialect {
    /// Whether the first line names the columns.
    pub header: bool,
    /// What separates the cells: an ASCII character that [may](Self::separates).
    pub separator: char,
    /// Whether numbers have a decimal comma.
    pub decimal_comma: bool,
}

impl Default for Dialect {
    /// A header, commas between cells, and decimal points.
    fn default() -> Self {
        Self { header: true, separator: ',', decimal_comma: false }
    }
}

impl Dialect {
    /// Whether cells may be separated by it: no number, name or quote has it.
    #[must_use]
    pub fn separates(letter: char) -> bool {
        letter.is_ascii() && !letter.is_ascii_alphanumeric() && !"\"\r\n.+-".contains(letter)
    }

    /// Whether it is the usual one, which a schema does not state.
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}
