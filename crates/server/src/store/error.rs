//! Reasons why a store cannot be opened.

use std::io;
use std::path::{Path, PathBuf};

use ldp_pca::internal::decimal::plural;
use ldp_pca::task::TaskDigest;

/// Reasons why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused something.
    #[error("cannot {action} {}: {source}; check the disk's space and that the folder is this user's to \
        write", path.display())]
    Io {
        /// The operation.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The disk is full.
    #[error(
        "the disk of {} is full ({}): make room on it, or delete a task that is not needed (DELETE \
            /tasks/{{id}}?now=true of a server that runs); nothing else is wrong",
        path.display(), cause(source)
    )]
    Full {
        /// The folder of the store.
        path: PathBuf,
        /// The operation that failed for lack of space.
        source: Box<StoreError>,
    },
    /// Another process has the folder open.
    #[error("another process holds {}: stop it, or give this one a folder of its own", path.display())]
    Locked {
        /// The folder, or the lock file in it.
        path: PathBuf,
    },
    /// The database of a task.
    #[error("{}: {source}; if the disk has space, restore it from a backup, or stop the server and repair it",
        path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What cannot be done now, and when it can.
    #[error("{}: {problem}", path.display())]
    Refused {
        /// The folder or file of the task.
        path: PathBuf,
        /// The problem, with its remedy.
        problem: String,
    },
    /// A task of which reports are lost or damaged.
    #[error("{}: {} {} lost or damaged{}; restore it from a backup, or go on without what is lost",
        path.display(), plural(*lost, "report"), if *lost == 1 { "is" } else { "are" }, told(damage))]
    Lossy {
        /// The folder of the task.
        path: PathBuf,
        /// As many reports, as far as that is known.
        lost: u64,
        /// What happened, a sentence each.
        damage: Vec<String>,
    },
    /// A second wave beside another one of the same first wave.
    #[error("task {first} has a second wave already, task {second}: use that one")]
    SecondWave {
        /// The first wave's task.
        first: TaskDigest,
        /// The second wave that it has.
        second: TaskDigest,
    },
    /// The first wave changed while its second wave was made.
    #[error("task {first} has {found} reports, and the sums of its second wave {expected}: they are made again")]
    OtherSums {
        /// The first wave's task.
        first: TaskDigest,
        /// Reports that are there.
        found: u64,
        /// Reports in the sums.
        expected: u64,
    },
    /// The database.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Postgres(#[from] super::PostgresError),
    /// A database for a program built without databases.
    #[error(
        "the store is to be a database, but this program was built without databases: build it with the feature \
         postgres, or leave the store out to use a folder"
    )]
    NoDatabases,
}

fn told(damage: &[String]) -> String {
    if damage.is_empty() { String::new() } else { format!(" ({})", damage.join("; ")) }
}

/// The system's error, without the remedy for other cases.
fn cause(error: &StoreError) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

impl StoreError {
    /// The problem as anybody may read it: without the server's paths and addresses.
    pub(in super::super) fn for_clients(&self) -> String {
        match self {
            Self::Refused { problem, .. } => problem.clone(),
            Self::Full { source, .. } => format!("the disk is full ({})", source.for_clients()),
            #[cfg(feature = "postgres")]
            Self::Postgres(error) => error.for_clients(),
            error => cause(error),
        }
    }

    /// Whether what failed may have been done all the same: after a folder's sync, or a COMMIT without an answer.
    pub(in super::super) fn is_in_doubt(&self) -> bool {
        match self {
            Self::Io { .. } | Self::Full { .. } | Self::Database { .. } => true,
            #[cfg(feature = "postgres")]
            Self::Postgres(error) => matches!(error, super::PostgresError::Unconfirmed(_)),
            _ => false,
        }
    }

    pub(super) fn refused(path: &Path, problem: impl Into<String>) -> Self {
        Self::Refused { path: path.to_owned(), problem: problem.into() }
    }

    pub(super) fn database(path: &Path, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Database { path: path.to_owned(), source: source.into() }
    }

    pub(in super::super) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}

/// Adds the operation to the system's error.
pub(in super::super) trait At<T> {
    /// `action` is the operation, on this file or folder.
    fn at(self, action: &'static str, path: &Path) -> Result<T, StoreError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|error| StoreError::io(action, path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_with_its_own_remedy_alone() {
        let source = StoreError::io("write", Path::new("/data/probe.tmp"), io::Error::other("no room left"));
        let full = StoreError::Full { path: "/data".into(), source: Box::new(source) }.to_string();
        assert!(full.starts_with("the disk of /data is full (no room left): make room"), "{full}");
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn nobody_is_told_where_the_database_is() {
        let error = super::super::PostgresError::Connect { server: "db.example:5433".into(), reason: "refused".into() };
        assert_eq!(StoreError::from(error).for_clients(), "the database cannot be reached");
    }
}
