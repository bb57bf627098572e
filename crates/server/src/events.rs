//! The states of tasks, sent to listeners.
//!
//! A task's counts become *pulses*, at most one per [`PULSE`]: all listeners get the same states, so the components of
//! each are computed once. Nobody waits for a slow listener: it gets fewer states, and the newest one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use super::config::Most;
use super::net::{Client, Portion, Shares};
use super::problem::{Problem, Reason};
use super::store::{Counts, TaskReports};

/// The least time between two published states of a task.
const PULSE: Duration = Duration::from_secs(1);

/// The state that all streams share.
pub(super) struct Events {
    stopping: watch::Sender<bool>,
    open: Arc<Shares>,
}

/// The published states of one task.
#[derive(Default)]
pub(super) struct Pulse {
    /// `None` once the task is deleted.
    states: watch::Sender<Option<Counts>>,
    driven: AtomicBool,
}

impl Events {
    /// At most `streams` at the same time, and a share of them for one client.
    pub(super) fn new(streams: usize, of_client: Most) -> Self {
        Self { stopping: watch::Sender::new(false), open: Shares::new(streams, of_client) }
    }

    /// A place for one more stream.
    pub(super) fn enter(&self, client: Client) -> Result<Portion, Problem> {
        self.open.take(client, 1).map_err(|full| {
            let who = full.who();
            let remedy = "ask again later, or ask for the status now and then";
            Reason::TooManyStreams.because(format!("{who} as many event streams as it may: {remedy}"))
        })
    }

    /// Ends all streams, so that their connections can be closed.
    pub(super) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Ready when streams have to end.
    pub(super) fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopping = self.stopping.subscribe();
        async move {
            // Without a server there is nothing to wait for either.
            let _ = stopping.wait_for(|stopping| *stopping).await;
        }
    }

    pub(super) fn stopping(&self) -> bool {
        *self.stopping.borrow()
    }
}

impl Pulse {
    /// Ends the streams of the task.
    pub(super) fn end(&self) {
        self.states.send_replace(None);
    }

    /// Subscribes to the states from now on. The first listener starts the pulse, which then runs as long as the task
    /// and the server.
    pub(super) fn listen(&self, events: &Events, reports: &dyn TaskReports) -> watch::Receiver<Option<Counts>> {
        if !self.driven.swap(true, Ordering::AcqRel) {
            let mut counts = reports.watch_counts();
            self.states.send_replace(Some(*counts.borrow_and_update()));
            let (states, mut stopping) = (self.states.clone(), events.stopping.subscribe());
            tokio::spawn(async move {
                let drive = async {
                    while counts.changed().await.is_ok() {
                        if states.borrow().is_none() {
                            break;
                        }
                        states.send_replace(Some(*counts.borrow_and_update()));
                        sleep(PULSE).await;
                    }
                    // Deleted, maybe by another aggregator.
                    states.send_replace(None);
                };
                tokio::select! {
                    () = drive => {}
                    _ = stopping.wait_for(|stopping| *stopping) => {}
                }
            });
        }
        let mut states = self.states.subscribe();
        // The present state is the first one that is published.
        states.mark_changed();
        states
    }
}
