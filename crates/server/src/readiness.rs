//! Readiness: whether reports can be stored now.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::store::ReportStore;

/// How long a result is valid: the disk is tried at most once a second, however often it is asked for.
const FRESH: Duration = Duration::from_secs(1);

/// The last result, and its time. Others wait while it is found.
#[derive(Default)]
pub(super) struct Readiness(Mutex<Option<(Instant, Result<(), String>)>>);

impl Readiness {
    /// The reason why reports cannot be stored now, if any. A store that takes longer than `patience` counts as not
    /// answering.
    pub(super) async fn find(&self, store: &Arc<dyn ReportStore>, patience: Duration) -> Result<(), String> {
        let mut last = self.0.lock().await;
        match &*last {
            Some((when, found)) if when.elapsed() < FRESH => found.clone(),
            _ => {
                let store = Arc::clone(store);
                let found = match timeout(patience, spawn_blocking(move || store.check())).await {
                    Ok(Ok(found)) => found,
                    Ok(Err(error)) => Err(error.to_string()),
                    Err(_) => Err("the disk does not answer".into()),
                };
                if let Err(reason) = &found {
                    tracing::warn!(%reason, "not ready");
                }
                last.insert((Instant::now(), found)).1.clone()
            }
        }
    }
}
