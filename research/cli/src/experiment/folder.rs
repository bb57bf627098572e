//! The data sets of a folder.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ldp_pca_cli::error::{CliError, InFile as _, Result};
use ldp_pca_cli::files::{self, Input, NpyRows, unpacked};
use ldp_pca_literature::experiments::data::{Connections, DataSet, Published};
use ldp_pca_literature::experiments::{Data, ExperimentError, Matrix};

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
        self.named(set.file.trim_end_matches(".gz"))
    }

    /// A file of this name, packed or not.
    fn named(&self, name: &str) -> Option<PathBuf> {
        let folder = self.path.as_ref()?;
        [format!("{name}.gz"), name.to_owned()].map(|name| folder.join(name)).into_iter().find(|path| path.is_file())
    }

    /// All files of a data set as they are published, if they are there.
    fn published(&self, set: &DataSet) -> Option<(Published, Vec<PathBuf>)> {
        let published = set.published?;
        let paths = published.files.iter().map(|file| self.named(file.name)).collect::<Option<_>>()?;
        Some((published, paths))
    }

    /// The matrix that was made of a data set, or else its published files.
    fn files(&self, set: &DataSet) -> Vec<PathBuf> {
        let made = self.file(set).map(|path| vec![path]);
        made.or_else(|| self.published(set).map(|(_, paths)| paths)).unwrap_or_default()
    }

    pub(super) fn has(&self, set: &DataSet) -> bool {
        !self.files(set).is_empty()
    }

    /// The property that distinguishes files: the length.
    pub(super) fn length(&self, set: &DataSet) -> u64 {
        self.files(set).iter().filter_map(|path| fs::metadata(path).ok()).map(|metadata| metadata.len()).sum()
    }

    /// Reads the file of a data set.
    fn read<T>(
        &self,
        set: &'static DataSet,
        read: impl FnOnce(&Path, Input) -> Result<T>,
    ) -> core::result::Result<Arc<T>, ExperimentError> {
        let path = self.file(set).ok_or(ExperimentError::Missing(set))?;
        of_set(set, files::open(&path).and_then(|(file, _)| read(&path, file)))
    }
}

impl Data for DataFolder {
    fn matrix(&self, set: &'static DataSet) -> core::result::Result<Arc<Matrix>, ExperimentError> {
        // Held while reading: other threads that want the same file wait.
        let mut matrices = self.matrices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(matrix) = matrices.get(set.name) {
            return Ok(Arc::clone(matrix));
        }
        let matrix = match self.published(set).filter(|_| self.file(set).is_none()) {
            Some((published, paths)) => of_set(set, read_published(published, &paths))?,
            None => self.read(set, read_matrix)?,
        };
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
    Ok(Matrix { columns: rows.columns(), values, classes: None })
}

/// What was read of a data set, or that it cannot be read.
fn of_set<T>(set: &'static DataSet, read: Result<T>) -> core::result::Result<Arc<T>, ExperimentError> {
    read.map(Arc::new).map_err(|error| ExperimentError::Unreadable { set, problem: error.to_string() })
}

/// The published files of a data set, in their order.
fn read_published(published: Published, paths: &[PathBuf]) -> Result<Matrix> {
    let mut reader = published.reader();
    for (index, path) in paths.iter().enumerate() {
        let (file, _) = files::open(path)?;
        reader.read(index, unpacked(path, file)?).in_file(path)?;
    }
    let [first, ..] = paths else { return Err(CliError::Failed("the data set has no files".into())) };
    reader.finish().in_file(first)
}

pub(crate) fn read_connections(path: &Path, file: impl Read) -> Result<Connections> {
    Connections::read(unpacked(path, file)?).in_file(path)
}
