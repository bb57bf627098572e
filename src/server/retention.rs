//! Deletes tasks whose time is over: `retention` seconds after they expired.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use super::app::{App, unix_time};
use super::store::TaskSettings;

/// How often the tasks are looked at.
const SWEEP: Duration = Duration::from_secs(3600);

/// Looks at the tasks at once and then every hour, for ever.
pub(super) async fn sweep_forever(app: Arc<App>) {
    let mut hours = interval(SWEEP);
    // A machine that slept looks once.
    hours.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        hours.tick().await;
        let app = Arc::clone(&app);
        // A panic is a defect that the next hour may not see.
        let _ = spawn_blocking(move || sweep(&app, unix_time())).await;
    }
}

fn sweep(app: &App, now: u64) {
    for reports in app.store.tasks() {
        if !is_over(&reports.settings(), now) {
            continue;
        }
        let task = reports.task().digest();
        match app.store.delete(task) {
            Ok(_) => tracing::info!(%task, records = reports.counts().records, "deleted, its retention is over"),
            Err(error) => {
                tracing::warn!(%task, %error, "cannot delete a task whose retention is over; it is tried again")
            }
        }
        app.forget(task);
    }
}

fn is_over(settings: &TaskSettings, now: u64) -> bool {
    matches!((settings.expires, settings.retention), (Some(expires), Some(retention)) if now > expires.saturating_add(retention))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_over_when_it_has_expired_so_long_ago_and_says_so() {
        let settings = |expires, retention| TaskSettings { expires, retention, ..TaskSettings::default() };
        assert!(is_over(&settings(Some(100), Some(10)), 111));
        assert!(!is_over(&settings(Some(100), Some(10)), 110));
        assert!(is_over(&settings(Some(100), Some(0)), 101));
        for kept in [settings(Some(100), None), settings(None, Some(0)), settings(Some(u64::MAX), Some(1))] {
            assert!(!is_over(&kept, 1 << 40));
        }
    }
}
