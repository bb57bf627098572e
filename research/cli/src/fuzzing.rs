//! Entry points for fuzzing: the parts of this program that read files, with the messages that users see.

use std::path::Path;

use ldp_pca_cli::files;
use ldp_pca_dps::{Session, State};
use ldp_pca_literature::experiments::data::{Connections, DATA_SETS, Published};
use ldp_pca_literature::experiments::{Experiment, Matrix, Scale, Value};

use crate::dps_pca;
use crate::experiment::{folder, kept};

/// The name of a file in messages.
const NAME: &str = "fuzzed";

/// A message as a user would see it.
pub type Result<T> = core::result::Result<T, String>;

/// The session and the state that a coordinator finds in a folder of these files, the messages in the order of their
/// names.
///
/// # Errors
/// The message that a user would see.
pub fn session(parameters: &str, messages: &[&[u8]]) -> Result<(Session, State)> {
    dps_pca::folder::read(parameters, messages)
}

/// Reads what a provider has answered: its messages, and how many bytes are whole lines.
///
/// # Errors
/// The message that a user would see.
pub fn answers(bytes: &[u8], header: &str) -> Result<(Vec<String>, usize)> {
    dps_pca::memory::read(bytes, header)
}

/// Reads a matrix of a data set, gzip or not.
///
/// # Errors
/// The message that a user would see.
pub fn matrix(bytes: &[u8]) -> Result<Matrix> {
    folder::read_matrix(Path::new(NAME), bytes).map_err(|error| error.to_string())
}

/// Reads KDD Cup 99, gzip or not.
///
/// # Errors
/// The message that a user would see.
pub fn connections(bytes: &[u8]) -> Result<Connections> {
    folder::read_connections(Path::new(NAME), bytes).map_err(|error| error.to_string())
}

/// Reads one published file of a data set, gzip or not; the choice is that of the data set.
///
/// # Errors
/// The message that a user would see.
pub fn published(bytes: &[u8], choice: u8) -> Result<Matrix> {
    let sets: Vec<Published> = DATA_SETS.iter().filter_map(|set| set.published).collect();
    let mut reader = sets[usize::from(choice) % sets.len()].reader();
    let text = files::unpacked(Path::new(NAME), bytes).map_err(|error| error.to_string())?;
    reader.read(0, text).and_then(|()| reader.finish()).map_err(|error| error.to_string())
}

/// The head of an experiment's cells under --quick.
///
/// # Panics
/// If it cannot be written, which is a bug.
#[must_use]
pub fn head(experiment: &dyn Experiment) -> String {
    serde_json::to_string(&kept::Head::new(experiment, Scale::Quick, 1)).expect("it can be written")
}

/// Cells of an experiment by their names.
pub type Cells = Vec<(String, Vec<Vec<Value>>)>;

/// Reads kept cells: whether there is a head, the complete cells, and how many bytes all that is.
///
/// # Panics
/// If memory cannot be read, which is a bug.
#[must_use]
pub fn cells(bytes: &[u8], columns: usize) -> (bool, Cells, u64) {
    let (head, cells, length) = kept::read(bytes, columns).expect("memory can be read");
    let cells = cells.into_iter().map(|(name, (rows, _))| (name, rows));
    (head.is_some(), cells.collect(), length)
}

/// The line of a cell, as it is kept.
///
/// # Panics
/// If it cannot be written, which is a bug.
#[must_use]
pub fn line(cell: &str, rows: &[Vec<Value>]) -> String {
    kept::line(cell, rows, 0.0).expect("it can be written")
}
