use super::{MAX_DIMENSION, OTHER};
use crate::decimal::Decimal;

/// Errors of a schema or of a file's header, and what of a record does not fit its columns. (That is missing; the
/// record has features all the same.) No error contains a value of a record, or a name that the schema does not have,
/// which can be an answer, too. Errors of inference have positions in place of names: the first line of a file need not
/// be a header.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Not JSON, or not the JSON of a schema.
    #[error("not a valid schema: {0}")]
    Json(String),
    /// A column without a name.
    #[error("a column has an empty name: name every column")]
    EmptyName,
    /// A column with an empty label.
    #[error("the label of column '{0}' is empty: leave it out, or write the name that people should see")]
    EmptyLabel(String),
    /// A column occurs twice.
    #[error("column '{0}' is there twice: give every column its own name and value")]
    RepeatedColumn(String),
    /// A category occurs twice.
    #[error("column '{column}' lists the value '{value}' twice: list it once")]
    RepeatedValue {
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
    /// An unusable offset or scale.
    #[error("column '{column}' has offset {} and scale {}: their magnitudes must be at most 1e100, and that of the \
        scale at least 1e-100", Decimal(*offset), Decimal(*scale))]
    Scaling {
        /// The column.
        column: String,
        /// Its offset.
        offset: f64,
        /// Its scale.
        scale: f64,
    },
    /// Too few or too many features.
    #[error("the schema has {0} features: it needs between 1 and {MAX_DIMENSION}")]
    Dimension(usize),
    /// A row with another number of fields than the schema has columns.
    #[error("found {found} field{} where the schema has {expected} column{} (ignored ones included)",
        s(*found), s(*expected))]
    FieldCount {
        /// The number of the schema's columns.
        expected: usize,
        /// The number of the row's fields.
        found: usize,
    },
    /// Names that the schema does not have.
    #[error("unknown columns: {count}; the schema has {known}")]
    UnknownColumns {
        /// How many.
        count: usize,
        /// The first columns of the schema.
        known: String,
    },
    /// A column without a value.
    #[error("column '{0}' is missing: give it a value")]
    MissingColumn(String),
    /// A numeric column with a text in it.
    #[error("column '{0}' is numeric but holds a text: give a number, or nothing where there is none")]
    NotANumber(String),
    /// A column that counts unseen values as `other` without listing it.
    #[error(
        "column '{0}' counts unseen values as '{OTHER}' but does not list '{OTHER}': add it to the column's values"
    )]
    NoOther(String),
    /// Nothing to infer a schema from.
    #[error("the sample has no rows: give at least one record")]
    EmptySample,
    /// A column that the options name and the sample does not have.
    #[error("the sample has no column '{name}' among its {columns}")]
    NotInSample {
        /// The name in the options.
        name: String,
        /// How many columns the sample has.
        columns: usize,
    },
    /// A name occurs twice in the sample.
    #[error("columns {first} and {second} of the sample have the same name: give every column its own")]
    RepeatedInSample {
        /// The first of them, from 1.
        first: usize,
        /// The second.
        second: usize,
    },
    /// A text in a column that had more different numbers than a categorical one may have.
    #[error("column {0} of the sample holds a text among many numbers: give a number, or nothing where there is none")]
    TextAmongNumbers(usize),
    /// A column that the options name as categorical, with too many different values.
    #[error("column {column} of the sample has more than {limit} different values: ignore it, or list its categories")]
    TooManyValues {
        /// The column, from 1.
        column: usize,
        /// The limit.
        limit: usize,
    },
    /// A sample whose columns are all ignored, or left out.
    #[error("the sample gives 0 features, as every column is ignored or left out: column {column} {reason}")]
    NothingLeft {
        /// The first column that is left out, from 1.
        column: usize,
        /// A short name of the reason, for programs.
        kind: &'static str,
        /// What it does.
        reason: String,
    },
    /// Numbers that no offset and scale bring to a common size.
    #[error(
        "column {0} of the sample holds numbers too large or too small to be scaled: their magnitudes must be at most \
         1e100, and the largest at least 1e-100"
    )]
    Unscalable(usize),
}

/// The end of a word of which there are so many.
fn s(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
