//! Where reports are kept: in the folder, or in a database.

use std::fmt;
use std::io;

use serde::Deserialize;
use tokio::task::spawn_blocking;

use super::store::{FolderOptions, FolderStore, ReportStore, StoreError, StoreMetrics};
#[cfg(feature = "postgres")]
use super::store::{PostgresOptions, PostgresStore};
use super::{ServerConfig, ServerError};
use crate::task::Task;

/// The address of a PostgreSQL database, as `postgres://user:password@host:port/database`, or
/// `postgres:///database?host=/run/postgresql&user=name` for a local socket. `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct DatabaseAddress(String);

impl DatabaseAddress {
    /// An address. It is read when the server starts.
    pub fn new(address: impl Into<String>) -> Self {
        Self(address.into())
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatabaseAddress(…)")
    }
}

/// Opens the database if there is one, and else the folder, with `tasks` and those that it already has.
pub(super) async fn open_store(
    config: &ServerConfig,
    tasks: Vec<Task>,
    metrics: StoreMetrics,
) -> Result<Box<dyn ReportStore>, ServerError> {
    let queue = config.max_pending_requests;
    if let Some(DatabaseAddress(address)) = &config.store {
        #[cfg(feature = "postgres")]
        {
            let options = PostgresOptions { queue, metrics, ..PostgresOptions::default() };
            let store = PostgresStore::open(address, &tasks, options).await.map_err(StoreError::from)?;
            return Ok(Box::new(store));
        }
        #[cfg(not(feature = "postgres"))]
        {
            let _ = address;
            return Err(StoreError::NoDatabases.into());
        }
    }
    let (root, options) = (config.data.clone(), FolderOptions { queue, metrics, ..FolderOptions::default() });
    let store = spawn_blocking(move || FolderStore::open(&root, &tasks, options)).await.map_err(io::Error::from)??;
    Ok(Box::new(store))
}
