//! The choice of a store: the folder, or a database.

#[cfg(feature = "postgres")]
use std::fs;
use std::io;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::config::ServerConfig;
use super::error::ServerError;
#[cfg(feature = "postgres")]
use super::store::{At, PostgresOptions, PostgresStore};
use super::store::{FolderOptions, FolderStore, ReportStore, StoreError, StoreMetrics};
use ldp_pca::task::Task;

/// Opens the database if there is one, otherwise the folder, with `tasks` and those that it already has.
pub(super) async fn open_store(
    config: &ServerConfig,
    tasks: Vec<Task>,
    metrics: StoreMetrics,
) -> Result<Arc<dyn ReportStore>, ServerError> {
    if let Some(address) = &config.store {
        #[cfg(feature = "postgres")]
        {
            let (address, data) = (address.text(), &config.data);
            // For tokens and keys.
            fs::create_dir_all(data).at("make", data)?;
            let options = PostgresOptions { metrics, ..PostgresOptions::default() };
            let store = PostgresStore::open(address, &tasks, options).await.map_err(StoreError::from)?;
            return Ok(Arc::new(store));
        }
        #[cfg(not(feature = "postgres"))]
        {
            let _ = address;
            return Err(StoreError::NoDatabases.into());
        }
    }
    let (root, options) = (config.data.clone(), FolderOptions { metrics, ..FolderOptions::default() });
    let store = spawn_blocking(move || FolderStore::open(&root, &tasks, options)).await.map_err(io::Error::from)??;
    Ok(Arc::new(store))
}
