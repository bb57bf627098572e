//! All connections, so that those that take too long can be closed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::{AbortHandle, JoinHandle};

use super::activity::{Activity, Clock, Phase};
use crate::server::config::ServerConfig;

/// How often connections are looked at, unless a limit is short.
const SWEEP: Duration = Duration::from_millis(250);

/// The connections and their limits.
pub(super) struct Table {
    start: Instant,
    pub(super) clock: Arc<Clock>,
    open: Mutex<Open>,
    max_connections: usize,
    header: u64,
    idle: u64,
    stall: u64,
    period: Duration,
}

#[derive(Default)]
struct Open {
    connections: HashMap<u64, Entry>,
    next: u64,
}

struct Entry {
    activity: Arc<Activity>,
    task: AbortHandle,
}

/// Takes a connection out of the table when it ends.
pub(super) struct Place {
    table: Arc<Table>,
    number: u64,
}

impl Table {
    pub(super) fn new(config: &ServerConfig) -> Self {
        let milliseconds = |limit: Duration| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let shortest = config.header_timeout.min(config.idle_timeout).min(config.request_timeout);
        Self {
            start: Instant::now(),
            clock: Arc::default(),
            open: Mutex::default(),
            max_connections: config.max_connections.max(1),
            header: milliseconds(config.header_timeout),
            idle: milliseconds(config.idle_timeout),
            stall: milliseconds(config.request_timeout),
            period: (shortest / 4).clamp(Duration::from_millis(1), SWEEP),
        }
    }

    /// The time between sweeps.
    pub(super) fn period(&self) -> Duration {
        self.period
    }

    /// Closes what has taken too long.
    pub(super) fn sweep(&self) {
        self.clock.set(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX));
        self.hold().connections.retain(|_, entry| {
            let (phase, since) = entry.activity.phase();
            let late = match phase {
                Phase::Idle => since > self.idle,
                Phase::Head => since > self.header,
                Phase::Busy => false,
            } || entry.activity.stalled() > self.stall;
            if late {
                entry.task.abort();
            }
            !late
        });
    }

    /// Starts a connection's task, unless there is no place for it and none is idle.
    pub(super) fn start<T>(
        self: &Arc<Self>,
        activity: Arc<Activity>,
        task: impl FnOnce(Place) -> JoinHandle<T>,
    ) -> bool {
        let mut open = self.hold();
        if open.connections.len() >= self.max_connections && !open.make_room() {
            return false;
        }
        let number = open.next;
        open.next += 1;
        // Under the lock: the task takes itself out when it ends, which is after it was put in.
        let task = task(Place { table: Arc::clone(self), number }).abort_handle();
        open.connections.insert(number, Entry { activity, task });
        true
    }

    /// Closes the connection that has been idle longest, if one is idle.
    pub(super) fn make_room(&self) -> bool {
        self.hold().make_room()
    }

    /// Cuts all connections.
    pub(super) fn close_all(&self) {
        self.hold().connections.drain().for_each(|(_, entry)| entry.task.abort());
    }

    fn hold(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn make_room(&mut self) -> bool {
        let idle = self.connections.iter().filter_map(|(number, entry)| {
            let (phase, since) = entry.activity.phase();
            // Of equal ones the first that came.
            (phase == Phase::Idle).then_some((since, u64::MAX - number))
        });
        let Some((_, number)) = idle.max() else { return false };
        if let Some(entry) = self.connections.remove(&(u64::MAX - number)) {
            entry.task.abort();
        }
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.table.hold().connections.remove(&self.number);
    }
}
