//! The numbers of reports over time, for the page of a collection: in memory, since the server was started.

use std::collections::HashMap;
use std::mem;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::locks::hold;
use crate::store::ReportStore;
use ldp_pca::task::TaskDigest;

/// The least time between two numbers.
const HOUR: Duration = Duration::from_secs(3600);

/// The most numbers of a task. Beyond them every second one is left out.
const MOST: usize = 400;

/// A time in seconds since 1970, and the reports that counted then.
type Count = (u64, u64);

/// The numbers of all tasks, in the order of time.
#[derive(Default)]
pub(super) struct History(Mutex<HashMap<TaskDigest, Vec<Count>>>);

impl History {
    /// Notes the numbers of a store every hour, without end.
    pub(super) async fn keep_forever(&self, store: &dyn ReportStore, now: fn() -> u64) {
        let mut ticks = interval(HOUR);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let tasks = store.tasks();
            self.note(tasks.iter().map(|reports| (reports.task().digest(), reports.counts().records)), now());
        }
    }

    /// Adds the present numbers of all tasks, and forgets other tasks.
    fn note(&self, records: impl Iterator<Item = (TaskDigest, u64)>, now: u64) {
        let mut history = hold(&self.0);
        let mut before = mem::take(&mut *history);
        history.extend(records.map(|(task, records)| {
            let mut counts = before.remove(&task).unwrap_or_default();
            if counts.len() == MOST {
                counts = counts.into_iter().step_by(2).collect();
            }
            counts.push((now, records));
            (task, counts)
        }));
    }

    /// The numbers of a task so far, with the present one.
    pub(super) fn of(&self, task: TaskDigest, now: u64, records: u64) -> Vec<Count> {
        let mut counts = hold(&self.0).get(&task).cloned().unwrap_or_default();
        counts.push((now, records));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_some_hundred_numbers_in_order_whatever_the_time_and_another_none() {
        let (history, kept, gone) = (History::default(), TaskDigest::new([1; 32]), TaskDigest::new([2; 32]));
        history.note([(gone, 7)].into_iter(), 0);
        for hour in 1..=2_000 {
            history.note([(kept, 10 * hour)].into_iter(), hour);
        }
        let counts = history.of(kept, 2_001, 20_001);
        assert!((200..=401).contains(&counts.len()), "{}", counts.len());
        assert_eq!((counts[0], counts.last()), ((1, 10), Some(&(2_001, 20_001))));
        assert!(counts.is_sorted());
        assert_eq!(history.of(gone, 5, 1), [(5, 1)]);
    }
}
