//! The data sets of a folder.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ldp_pca_literature::experiments::data::{Connections, DataSet};
use ldp_pca_literature::experiments::{Data, ExperimentError, Matrix};

use crate::error::{CliError, InFile as _, Result};
use crate::files::{self, Input, NpyRows, unpacked};

/// Files named after [`DataSet::file`], with or without `.gz`; each is read once.
pub(super) struct DataFolder {
    path: Option<PathBuf>,
    matrices: Mutex<HashMap<&'static str, Arc<Matrix>>>,
    connections: Mutex<Option<Arc<Connections>>>,
}

impl DataFolder {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { path, matrices: Mutex::default(), connections: Mutex::default() }
    }

    /// The file of a data set, if it is there.
    fn file(&self, set: &DataSet) -> Option<PathBuf> {
        let folder = self.path.as_ref()?;
        let names = [set.file, set.file.trim_end_matches(".gz")];
        names.into_iter().map(|name| folder.join(name)).find(|path| path.is_file())
    }

    pub(super) fn has(&self, set: &DataSet) -> bool {
        self.file(set).is_some()
    }

    /// The property that distinguishes files: the length.
    pub(super) fn length(&self, set: &DataSet) -> u64 {
        self.file(set).and_then(|path| fs::metadata(path).ok()).map_or(0, |metadata| metadata.len())
    }

    /// Reads a data set.
    fn read<T>(
        &self,
        set: &'static DataSet,
        read: impl FnOnce(&Path, Input) -> Result<T>,
    ) -> core::result::Result<Arc<T>, ExperimentError> {
        let path = self.file(set).ok_or(ExperimentError::Missing(set))?;
        let found = files::open(&path).and_then(|(file, _)| read(&path, file)).map(Arc::new);
        found.map_err(|error| ExperimentError::Unreadable { set, problem: error.to_string() })
    }
}

impl Data for DataFolder {
    fn matrix(&self, set: &'static DataSet) -> core::result::Result<Arc<Matrix>, ExperimentError> {
        // Held while reading: other threads that want the same file wait.
        let mut matrices = self.matrices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(matrix) = matrices.get(set.name) {
            return Ok(Arc::clone(matrix));
        }
        let matrix = self.read(set, read_matrix)?;
        matrices.insert(set.name, Arc::clone(&matrix));
        Ok(matrix)
    }

    fn connections(&self) -> core::result::Result<Arc<Connections>, ExperimentError> {
        let set = DataSet::named("kddcup99")
            .ok_or_else(|| std::io::Error::other("kddcup99 is missing from the list of data sets"))
            .map_err(ldp_pca_literature::experiments::data::DataError::from)?;
        let mut kept = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connections) = kept.as_ref() {
            return Ok(Arc::clone(connections));
        }
        let connections = self.read(set, read_connections)?;
        *kept = Some(Arc::clone(&connections));
        Ok(connections)
    }
}

/// A matrix of finite numbers; `path` is for messages.
pub(crate) fn read_matrix(path: &Path, file: impl Read) -> Result<Matrix> {
    let mut rows = NpyRows::new(path, unpacked(path, file)?)?;
    let (mut values, mut row) = (vec![], vec![]);
    while rows.next_row(&mut row)?.is_some() {
        if let Some(value) = row.iter().find(|value| !value.is_finite()) {
            return Err(CliError::file(path, format!("it holds {value}: every value must be finite")));
        }
        values.extend_from_slice(&row);
    }
    Ok(Matrix { columns: rows.columns(), values })
}

pub(crate) fn read_connections(path: &Path, file: impl Read) -> Result<Connections> {
    Connections::read(unpacked(path, file)?).in_file(path)
}
