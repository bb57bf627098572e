//! Whether reports can be stored now.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::store::ReportStore;

/// How long a finding stands: however often it is asked for, the disk is tried once a second.
const FRESH: Duration = Duration::from_secs(1);

/// The last finding, and when it was found. Others wait while it is looked for.
#[derive(Default)]
pub(super) struct Readiness {
    last: Mutex<Option<(Instant, Result<(), String>)>>,
}

impl Readiness {
    /// Says why reports cannot be stored now, if they cannot. A store that takes longer than `patience` does not
    /// answer.
    pub(super) async fn find(&self, store: &Arc<dyn ReportStore>, patience: Duration) -> Result<(), String> {
        let mut last = self.last.lock().await;
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
