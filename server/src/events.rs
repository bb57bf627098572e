//! What a task has collected, told to whoever listens (server-sent events).
//!
//! A task's counts become *pulses*, at most one per [`PULSE`]: all listeners hear of the same states, so the components of
//! each are computed once. Nobody is waited for: who reads slowly hears of fewer states, and of the newest.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Extension, Path as UrlPath, Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::sleep;

use super::app::{App, Collection};
use super::config::Most;
use super::net::{Client, Full, Portion, Shares};
use super::observe::Admission;
use super::problem::{Kind, Problem};
use super::recovery::{Asker, Wanted, asker, recover};
use super::store::{Counts, TaskReports};

/// The least time between two states of a task that are told.
const PULSE: Duration = Duration::from_secs(1);

/// How often a comment is sent where nothing happens, so that a connection that is gone is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// When a client whose connection broke should come back.
const RETRY: Duration = Duration::from_secs(2);

/// What all streams share.
pub(super) struct Events {
    stopping: watch::Sender<bool>,
    open: Arc<Shares>,
}

/// The states of one task that are told.
#[derive(Default)]
pub(super) struct Pulse {
    /// `None` once the task is deleted.
    states: watch::Sender<Option<Counts>>,
    driven: AtomicBool,
}

impl Events {
    /// At most `streams` at the same time, and so many of one client.
    pub(super) fn new(streams: usize, of_client: Most) -> Self {
        Self { stopping: watch::Sender::new(false), open: Shares::new(streams, of_client) }
    }

    /// A place for one more stream.
    fn enter(&self, client: Client) -> Result<Portion, Problem> {
        self.open.take(client, 1).map_err(|full| match full {
            Full::All => too_many("the server has"),
            Full::Client => too_many("your address has open here"),
        })
    }

    /// Ends all streams, so that their connections can be closed.
    pub(super) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Is ready when streams are to end.
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

    /// Hears of the states from now on. The first who listens sets the pulse going, which then goes on for as long as the task and
    /// the server do.
    fn listen(&self, app: &App, reports: &dyn TaskReports) -> watch::Receiver<Option<Counts>> {
        if !self.driven.swap(true, Ordering::AcqRel) {
            let mut counts = reports.watch_counts();
            self.states.send_replace(Some(*counts.borrow_and_update()));
            let (states, mut stopping) = (self.states.clone(), app.events.stopping.subscribe());
            tokio::spawn(async move {
                let drive = async {
                    while counts.changed().await.is_ok() {
                        let ended = states.borrow().is_none();
                        if ended {
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
        // The present state is the first one that is told.
        states.mark_changed();
        states
    }
}

/// `GET /tasks/{id}/events`.
pub(super) async fn listen(
    State(app): State<Arc<App>>,
    Extension(Admission { client, .. }): Extension<Admission>,
    id: Result<UrlPath<String>, PathRejection>,
    headers: HeaderMap,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Response, Problem> {
    let reports = app.find(id)?;
    // Everybody may hear of the status.
    let asker = asker(&app, &headers, client, &reports.settings())?;
    let wanted = Wanted::read(query, reports.task().dimension())?;
    let place = app.events.enter(client)?;
    let collection = app.collection(&reports);
    let states = collection.pulse.listen(&app, &*reports);
    let stopping = app.events.stopping.subscribe();
    let listener =
        Listener { app, reports, wanted, asker, states, stopping, told: None, _collection: collection, _place: place };
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
    reports: Arc<dyn TaskReports>,
    wanted: Wanted,
    /// Who is told components, if they are told at all.
    asker: Option<Asker>,
    states: watch::Receiver<Option<Counts>>,
    stopping: watch::Receiver<bool>,
    /// The counts told last, and the records that the last components are of.
    told: Option<(Counts, Option<u64>)>,
    _collection: Arc<Collection>,
    _place: Portion,
}

impl Listener {
    /// The next event; `None` when the server stops or the task is deleted.
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
                self.states.changed().await.ok()?;
                self.tell_counts()
            }
        }
    }

    fn tell_counts(&mut self) -> Option<Event> {
        let counts = (*self.states.borrow_and_update())?;
        let event = event("status", &self.app.status(&*self.reports, counts));
        Some(match self.told.replace((counts, self.told.and_then(|(_, of)| of))) {
            None => event.retry(RETRY),
            Some(_) => event,
        })
    }

    async fn tell_components(&mut self, counts: Counts) -> Event {
        let Some(asker) = self.asker else {
            // Said once.
            self.told = Some((counts, Some(u64::MAX)));
            let detail = "components are told to whoever comes with the collector's token ('Authorization: Bearer <token>'): \
                          this stream has the status alone";
            return event("problem", &Problem::new(Kind::TokenMissing, detail).document());
        };
        // A newer state may have been computed for somebody else.
        let (event, records) = match recover(&self.app, asker, &self.reports, self.wanted, counts.records).await {
            Ok(answer) => {
                let json = String::from_utf8_lossy(answer.json());
                (Event::default().event("recovery").data(json), answer.records().max(counts.records))
            }
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

fn too_many(who: &str) -> Problem {
    Problem::new(
        Kind::TooManyStreams,
        format!("{who} as many event streams as it may: ask again later, or ask for the status now and then"),
    )
}
