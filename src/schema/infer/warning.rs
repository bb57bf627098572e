//! What is odd about a sample, with what to do. No value of the sample is in it.

use core::fmt;

use super::numbers::NumberForms;

/// Something that is odd about a sample. As text it says what, and what to do.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Warning {
    /// The column; none where it is about the first row.
    pub column: Option<String>,
    /// Whether the column is left out of the schema for this reason.
    pub left_out: bool,
    /// What is odd.
    pub oddity: Oddity,
}

/// What is odd about a column, or about the first row.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Oddity {
    /// More texts than the options allow for a column that they do not name.
    ManyTexts {
        /// The largest number of categories of such a column.
        most: usize,
    },
    /// Texts that hardly repeat.
    NearlyUnique {
        /// How many different texts.
        different: usize,
        /// In how many values.
        values: u64,
    },
    /// E-mail addresses or UUIDs.
    Identifiers,
    /// Texts that are longer than 64 characters, or have markup or control characters.
    FreeTexts,
    /// The column has a name as identifiers have.
    NamedLikeIdentifier,
    /// Numbers with signs that have to be allowed.
    FormattedNumbers(NumberForms),
    /// Numbers in a form that is not read.
    UnreadNumbers,
    /// Numbers with zeros before them, as codes have them.
    PaddedNumbers,
    /// Zeros and missing values alone.
    AlwaysZero,
    /// Missing values alone.
    AlwaysMissing,
    /// Days or months.
    Dates,
    /// Numbers, and some texts between them.
    TextsAmongNumbers {
        /// How many texts.
        texts: u64,
        /// How many numbers.
        numbers: u64,
    },
    /// The column has the same value in every row.
    Constant,
    /// Few numbers are much larger than the others, and the scale follows them.
    Outlier,
    /// Consecutive numbers, which may be names of columns, were read as a record.
    NumbersAsHeader,
    /// The header has no name for the column.
    Unnamed,
}

impl Oddity {
    /// A short name for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::ManyTexts { .. } => "many-texts",
            Self::NearlyUnique { .. } => "nearly-unique",
            Self::Identifiers => "identifiers",
            Self::FreeTexts => "free-texts",
            Self::NamedLikeIdentifier => "named-like-identifier",
            Self::FormattedNumbers(_) => "formatted-numbers",
            Self::UnreadNumbers => "unread-numbers",
            Self::PaddedNumbers => "padded-numbers",
            Self::AlwaysZero => "always-zero",
            Self::AlwaysMissing => "always-missing",
            Self::Dates => "dates",
            Self::TextsAmongNumbers { .. } => "texts-among-numbers",
            Self::Constant => "constant",
            Self::Outlier => "outlier",
            Self::NumbersAsHeader => "numbers-as-header",
            Self::Unnamed => "unnamed",
        }
    }
}

/// What the column does, as in "column 1 holds dates".
impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ManyTexts { most } => write!(f, "has more than {most} different texts"),
            Self::NearlyUnique { different, values } => write!(f, "has {different} different texts in {values} values"),
            Self::Identifiers => f.write_str("holds e-mail addresses or UUIDs"),
            Self::FreeTexts => f.write_str("holds texts of more than 64 characters, markup or control characters"),
            Self::NamedLikeIdentifier => f.write_str("is named like an identifier"),
            Self::FormattedNumbers(forms) => write!(f, "holds numbers with {forms}"),
            Self::UnreadNumbers => f.write_str("holds numbers in a form that is not read"),
            Self::PaddedNumbers => f.write_str("holds numbers that begin with 0 as codes do"),
            Self::AlwaysZero => f.write_str("is zero or missing in every row"),
            Self::AlwaysMissing => f.write_str("is missing in every row"),
            Self::Dates => f.write_str("holds dates"),
            Self::TextsAmongNumbers { texts, numbers } => {
                let s = if *texts == 1 { "" } else { "s" };
                write!(f, "holds {texts} text{s} among {numbers} numbers")
            }
            Self::Constant => f.write_str("has the same value in every row"),
            Self::Outlier => f.write_str("has a few numbers more than 8 times as large as nine in ten of the others"),
            Self::NumbersAsHeader => f.write_str("holds consecutive whole numbers, as a header of years does"),
            Self::Unnamed => f.write_str("has no name in the header"),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.column {
            Some(column) => write!(f, "column '{column}'")?,
            None => f.write_str("the first row")?,
        }
        write!(f, " {}", self.oddity)?;
        if self.left_out {
            f.write_str(" and is left out")?;
        }
        f.write_str(": ")?;
        f.write_str(match self.oddity {
            Oddity::NamedLikeIdentifier if !self.left_out => "ignore it if it identifies people",
            Oddity::ManyTexts { .. }
            | Oddity::NearlyUnique { .. }
            | Oddity::Identifiers
            | Oddity::FreeTexts
            | Oddity::NamedLikeIdentifier => "name it as categorical if its texts may become public",
            Oddity::FormattedNumbers(_) => "name the format of its numbers, or write them plainly",
            Oddity::UnreadNumbers => "write them with digits, a sign and a decimal point alone",
            Oddity::PaddedNumbers if self.left_out => {
                "name it as categorical if they may become public, or write them without the zeros if they are no codes"
            }
            Oddity::PaddedNumbers => "its values are categories; write them without the zeros if they are no codes",
            Oddity::AlwaysZero | Oddity::AlwaysMissing => "give a sample that has values",
            Oddity::Dates => "write the days since a fixed date instead",
            Oddity::TextsAmongNumbers { .. } if self.left_out => "empty the cells whose texts stand for missing values",
            Oddity::TextsAmongNumbers { .. } => {
                "its values are categories; empty the cells whose texts stand for missing values"
            }
            Oddity::Constant => "ignore it, as it tells no two records apart",
            Oddity::Outlier => {
                "check them: a record with one says little of its other columns; robust scaling alone is unmoved by it"
            }
            Oddity::NumbersAsHeader => "it was read as a record; say so if it is a header",
            Oddity::Unnamed => "it is called by its position; name it, or ignore it",
        })
    }
}
