//! The files of `experiment`.

#[path = "../../src/cli/experiment/folder.rs"]
mod folder;
#[path = "../../src/cli/experiment/kept.rs"]
mod kept;

use std::path::Path;

use ldp_pca::experiments::data::Connections;
use ldp_pca::experiments::{Experiment, Matrix, Scale, Value};

use super::{NAME, Result};

/// Reads a matrix of a data set, gzip or not.
pub(crate) fn matrix(bytes: &[u8]) -> Result<Matrix> {
    folder::read_matrix(Path::new(NAME), bytes).map_err(|error| error.to_string())
}

/// Reads KDD Cup 99, gzip or not.
pub(crate) fn connections(bytes: &[u8]) -> Result<Connections> {
    folder::read_connections(Path::new(NAME), bytes).map_err(|error| error.to_string())
}

/// The head of quickly run cells of an experiment.
pub(crate) fn head(experiment: &dyn Experiment) -> String {
    serde_json::to_string(&kept::Head::new(experiment, Scale::Quick, 1)).expect("it can be written")
}

/// Reads kept cells: whether there is a head, those cells that are there whole, and how many bytes all that is.
pub(crate) fn cells(bytes: &[u8], columns: usize) -> (bool, Vec<(String, Vec<Vec<Value>>)>, u64) {
    let (head, cells, length) = kept::read(bytes, columns).expect("memory can be read");
    (head.is_some(), cells.into_iter().collect(), length)
}

/// The line of a cell, as it is kept.
pub(crate) fn line(cell: &str, rows: &[Vec<Value>]) -> String {
    kept::line(cell, rows).expect("it can be written")
}
