//! Records in text files, as a schema reads them. Other formats are the command line's, and so is all that is written.
//!
//! Rows have the lines they start on; what separates their cells, how their numbers are written, and whether the first
//! line names the columns follow from the file. The command line and the demo page read files by these rules.
//! [`TextRows`] gives the rows, [`Sample`] infers a schema from them, and [`Layout`] makes features of them.
//!
//! Messages go where others may see them. So no message contains a value of a record, or a name of a header that the
//! schema does not have (the first line may be a record): the line and the column are enough to find it.

mod content;
mod doubt;
mod encode;
mod rows;
mod separator;

pub use csv::StringRecord;

pub use content::no_table;
pub use encode::{Layout, Sample, SampleError, has_names_of, is_header_of, looks_like_names};
pub use rows::{FileFormat, Header, Problem, Row, START, TextOptions, TextRows, start_of};
pub use separator::{Notation, OptionNames, named_tab, parse_separator, separator_name, unmarked};
