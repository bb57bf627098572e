//! What a task has collected, told to whoever listens (server-sent events).
//!
//! A task's counts become *pulses*, at most one per [`PULSE`]: all listeners hear of the same states, so the components of
//! each are computed once. Nobody is waited for: who reads slowly hears of fewer states, and of the newest.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::problem::Problem;
use super::router::App;
use super::store::{Counts, ReportStore, TaskReports};
use crate::recovery::Rank;
use crate::task::TaskDigest;

/// The least time between two states of a task that are told.
const PULSE: Duration = Duration::from_secs(1);

/// How often a comment is sent where nothing happens, so that a connection that is gone is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// When a client whose connection broke should come back.
const RETRY: Duration = Duration::from_secs(2);

/// What all streams share.
pub(super) struct Events {
    pulses: BTreeMap<TaskDigest, watch::Sender<Counts>>,
    stopping: watch::Sender<bool>,
    /// One permit per stream.
    room: Arc<Semaphore>,
}

impl Events {
    /// For the tasks of `store`; at most `streams` at the same time.
    pub(super) fn new(store: &dyn ReportStore, streams: usize) -> Self {
        let pulse = |task: &Arc<dyn TaskReports>| (task.task().digest(), watch::Sender::new(task.counts()));
        Self {
            pulses: store.tasks().iter().map(pulse).collect(),
            stopping: watch::Sender::new(false),
            room: Arc::new(Semaphore::new(streams.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Ends all streams, so that their connections can be closed.
    pub(super) fn stop(&self) {
        self.stopping.send_replace(true);
    }
}

/// Turns counts into pulses for as long as the result is kept.
pub(super) fn drive(app: &Arc<App>) -> JoinSet<()> {
    let mut drivers = JoinSet::new();
    for store in app.store.tasks() {
        let (app, digest, mut counts) = (Arc::clone(app), store.task().digest(), store.watch_counts());
        drivers.spawn(async move {
            let Some(pulses) = app.events.pulses.get(&digest) else { return };
            while counts.changed().await.is_ok() {
                pulses.send_replace(*counts.borrow_and_update());
                sleep(PULSE).await;
            }
        });
    }
    drivers
}

/// The stream of a task's states with its `rank` leading components.
pub(super) fn listen(app: Arc<App>, store: Arc<dyn TaskReports>, rank: Rank) -> Result<Response, Problem> {
    let permit = Arc::clone(&app.events.room).try_acquire_owned().map_err(|_| full())?;
    let Some(pulses) = app.events.pulses.get(&store.task().digest()) else {
        return Err(Problem::internal("the task has no pulse"));
    };
    let mut pulses = pulses.subscribe();
    // The present state is the first one that is told.
    pulses.mark_changed();
    let stopping = app.events.stopping.subscribe();
    let listener = Listener { app, store, rank, pulses, stopping, told: None, _permit: permit };
    let events = stream::unfold(listener, |mut listener| async {
        let event = listener.next().await?;
        Some((Ok::<_, Infallible>(event), listener))
    });
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    // Proxies that collect an answer before they pass it on would keep the events.
    Ok(([("x-accel-buffering", "no")], events).into_response())
}

/// One stream.
struct Listener {
    app: Arc<App>,
    store: Arc<dyn TaskReports>,
    rank: Rank,
    pulses: watch::Receiver<Counts>,
    stopping: watch::Receiver<bool>,
    /// The counts told last, and the records that the last components are of.
    told: Option<(Counts, Option<u64>)>,
    _permit: OwnedSemaphorePermit,
}

impl Listener {
    /// The next event; `None` when the server stops.
    async fn next(&mut self) -> Option<Event> {
        let mut stopping = self.stopping.clone();
        tokio::select! {
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => None,
            event = self.wait() => event,
        }
    }

    async fn wait(&mut self) -> Option<Event> {
        match self.told {
            // The components of a state follow its counts, which are told at once.
            Some((counts, of)) if of.is_none_or(|records| records < counts.records) => {
                Some(self.tell_components(counts).await)
            }
            _ => {
                self.pulses.changed().await.ok()?;
                Some(self.tell_counts())
            }
        }
    }

    fn tell_counts(&mut self) -> Event {
        let counts = *self.pulses.borrow_and_update();
        let event = event("status", &self.app.status(&*self.store, counts));
        match self.told.replace((counts, self.told.and_then(|(_, of)| of))) {
            None => event.retry(RETRY),
            Some(_) => event,
        }
    }

    async fn tell_components(&mut self, counts: Counts) -> Event {
        let recovered = self.app.recover(&self.store, self.rank, counts.records).await;
        // A newer state may have been computed for somebody else.
        let (event, records) = match &recovered {
            Ok(recovery) => (event("recovery", recovery), recovery.records().max(counts.records)),
            Err(problem) => (event("problem", &problem.document()), counts.records),
        };
        self.told = Some((counts, Some(records)));
        event
    }
}

fn event(name: &str, data: &impl Serialize) -> Event {
    // What is told are numbers and texts, which JSON has.
    Event::default().event(name).json_data(data).unwrap_or_default()
}

fn full() -> Problem {
    Problem::unavailable(
        "too-many-streams",
        "Too many listeners",
        "the server has as many event streams as it may: ask again later, or ask for the status now and then",
    )
}
