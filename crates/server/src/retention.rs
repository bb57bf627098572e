//! Deletes tasks `retention` seconds after they expired, and erases deleted tasks when their grace period is over.
//!
//! A clock may be wrong for a while. So nothing is deleted or erased until every reading of a full hour, measured by
//! this process's own running time, has said that it is due.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use super::app::App;
use super::audit::AuditLine;
use super::store::{DeletedTask, Erase, StoreError, TaskSettings, unix_time};
use ldp_pca::task::TaskDigest;

/// How often the clock is read.
const SWEEP: Duration = Duration::from_secs(600);

/// How long its readings must agree.
const AGREEMENT: Duration = Duration::from_secs(3600);

/// Deletes a task, on request or because its time is over. Whether there was one, and how many reports it had: nobody
/// counts those of a task that was deleted before and is erased now.
pub(super) fn delete(
    app: &App,
    task: TaskDigest,
    erase: Erase,
    asked: Option<(&str, &str)>,
) -> Result<(bool, Option<u64>), StoreError> {
    let erase = if app.config.deletion_grace.is_zero() { Erase::Now } else { erase };
    let records = app.store.task(task).map(|reports| reports.counts().records);
    let deleted = app.store.delete(task, erase)?;
    app.forget(task);
    if deleted {
        let seconds = if erase == Erase::Now { 0 } else { app.config.deletion_grace.as_secs() };
        let (who, request) = asked.unzip();
        tracing::warn!(%task, who, request, records, erased_after_seconds = seconds, "the task is deleted");
    }
    Ok((deleted, records))
}

/// Reads the clock regularly, without end.
pub(super) async fn sweep_forever(app: Arc<App>) {
    let mut ticks = interval(SWEEP);
    // A machine that slept looks once.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut readings = Readings::default();
    loop {
        ticks.tick().await;
        let app = Arc::clone(&app);
        let swept = spawn_blocking(move || {
            readings.sweep(&app, unix_time(), Instant::now());
            readings
        });
        // A panic is a defect; the agreement starts again.
        readings = swept.await.unwrap_or_default();
    }
}

/// The clock's readings so far.
#[derive(Default)]
struct Readings {
    over: Agreements<TaskDigest>,
    erasable: Agreements<DeletedTask>,
}

impl Readings {
    fn sweep(&mut self, app: &App, now: u64, at: Instant) {
        for reports in app.store.tasks() {
            let task = reports.task().digest();
            match over_for(&mut self.over, task, is_over(&reports.settings(), now), at) {
                Some(time) if time.is_zero() => tracing::warn!(
                    %task, records = reports.counts().records, deleted_in_seconds = AGREEMENT.as_secs(),
                    "the task's retention is over by the clock: it is deleted if the clock goes on saying so"
                ),
                Some(time) if time >= AGREEMENT => match delete(app, task, Erase::AfterGrace, None) {
                    Ok((true, records)) => note(app, "task-delete", task, records),
                    // Another aggregator was first.
                    Ok((false, _)) => {}
                    Err(error) => {
                        let text = "cannot delete a task whose retention is over; it is tried again";
                        tracing::warn!(%task, %error, "{text}");
                    }
                },
                _ => {}
            }
        }
        let deleted = app.store.deleted().unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot list deleted tasks; it is tried again");
            Vec::new()
        });
        for task in deleted {
            let is_over = now > task.since.saturating_add(app.config.deletion_grace.as_secs());
            if over_for(&mut self.erasable, task, is_over, at).is_none_or(|time| time < AGREEMENT) {
                continue;
            }
            match app.store.erase(&task) {
                Ok(()) => {
                    tracing::warn!(task = %task.digest, deleted = task.since, "the deleted task is erased");
                    note(app, "task-erase", task.digest, None);
                }
                Err(error) => {
                    tracing::warn!(task = %task.digest, %error, "cannot erase a deleted task; it is tried again");
                }
            }
        }
    }
}

/// The audit trail's line of an action that the clock brings.
fn note(app: &App, action: &str, task: TaskDigest, reports: Option<u64>) {
    let task = task.to_string();
    let task = Some(&*task);
    app.audit.note(&AuditLine { action, outcome: "done", role: "retention", task, reports, ..AuditLine::default() });
}

/// The time since which every reading of the clock has said that something's time is over.
type Agreements<T> = HashMap<T, Instant>;

/// Reads the clock once more, for one thing: how long all readings have said that its time is over, if this one does.
fn over_for<T: Eq + Hash>(agreements: &mut Agreements<T>, what: T, is_over: bool, at: Instant) -> Option<Duration> {
    if !is_over {
        agreements.remove(&what);
        return None;
    }
    Some(at.duration_since(*agreements.entry(what).or_insert(at)))
}

fn is_over(settings: &TaskSettings, now: u64) -> bool {
    settings.expires.zip(settings.retention).is_some_and(|(expires, retention)| now > expires.saturating_add(retention))
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

    #[test]
    fn a_clock_that_is_ahead_for_less_than_an_hour_deletes_nothing() {
        let start = Instant::now();
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let mut agreements = Agreements::default();
        let mut read = |is_over, at| over_for(&mut agreements, 7, is_over, start + minutes(at));
        // The clock is corrected after 55 minutes.
        for (is_over, at, time) in [
            (true, 0, Some(0)),
            (true, 50, Some(50)),
            (false, 55, None),
            (true, 65, Some(0)),
            (true, 124, Some(59)),
            (true, 125, Some(60)),
        ] {
            assert_eq!(read(is_over, at), time.map(minutes));
        }
        // If deleting failed it is tried again.
        assert_eq!(read(true, 135), Some(minutes(70)));
        assert_eq!(AGREEMENT, minutes(60));
    }
}
