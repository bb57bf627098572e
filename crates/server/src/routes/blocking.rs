//! Blocking work: it waits for a disk, or takes long.

use tokio::task::spawn_blocking;

use crate::problem::Problem;

/// Runs it off the request threads. A panic is a defect, and is reported as one.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    spawn_blocking(work).await.map_err(|error| Problem::internal(error.to_string()))
}
