use super::MAX_DIMENSION;
use crate::decimal::Decimal;
use crate::json::JsonError;

/// What can be wrong with a schema, or with a record under a schema.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Not JSON, or not the JSON of a schema.
    #[error("not a valid schema: {0}")]
    Json(JsonError),
    /// A column without a name.
    #[error("a column has an empty name: name every column")]
    EmptyName,
    /// A column is there twice.
    #[error("column '{0}' is there twice: give every column its own name and value")]
    RepeatedColumn(String),
    /// A category is there twice.
    #[error("column '{column}' lists the value '{value}' twice: list it once")]
    RepeatedValue {
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
    /// An unusable offset or scale.
    #[error("column '{column}' has offset {} and scale {}: both must be finite and the scale not zero", Decimal(*offset), Decimal(*scale))]
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
    #[error("found {found} fields where the schema has {expected} columns (ignored ones included)")]
    FieldCount {
        /// What the schema has.
        expected: usize,
        /// What the row has.
        found: usize,
    },
    /// A name that the schema does not have.
    #[error("unknown column '{name}': the schema has {known}")]
    UnknownColumn {
        /// The name.
        name: String,
        /// The first columns of the schema.
        known: String,
    },
    /// A column without a value.
    #[error("column '{0}' is missing: give it a value")]
    MissingColumn(String),
    /// A numeric column with something else in it.
    #[error("column '{column}' is numeric but holds '{found}': give a number")]
    NotANumber {
        /// The column.
        column: String,
        /// What was found.
        found: String,
    },
    /// A categorical column with a number in it, from a host that has types.
    #[error("column '{column}' is categorical but holds the number {}: give a text", Decimal(*value))]
    NotAText {
        /// The column.
        column: String,
        /// The number.
        value: f64,
    },
    /// NaN or infinity, as given or after scaling.
    #[error("column '{column}' is {}: give a finite number", Decimal(*value))]
    NotFinite {
        /// The column.
        column: String,
        /// The value.
        value: f64,
    },
    /// A category that is not listed, in a column that refuses such.
    #[error("column '{column}' does not list the value '{value}', and its rule for unseen values is to refuse them")]
    UnseenValue {
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
    /// Nothing to infer a schema from.
    #[error("the sample has no rows: give at least one record")]
    EmptySample,
    /// A column of numbers with holes.
    #[error(
        "column '{0}' holds numbers and an empty value: leave such rows out or fill them in, ignore the column, or name it as categorical"
    )]
    MissingNumber(String),
    /// A categorical column with too many different values.
    #[error(
        "column '{column}' holds text with more than {limit} different values: ignore it, or raise the limit if each value shall be a feature"
    )]
    TooManyValues {
        /// The column.
        column: String,
        /// The limit.
        limit: usize,
    },
}
