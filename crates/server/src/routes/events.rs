//! A task's progress as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use ldp_pca::recovery::Question;
use serde::Serialize;
use tokio::sync::watch;

use super::recovery::{Asked, recover};
use crate::app::{App, TaskResults};
use crate::net::Portion;
use crate::problem::{Problem, Reason};
use crate::recovery::{Asker, Waves};
use crate::store::{Counts, TaskReports};

/// How often a comment is sent while nothing happens, so that a lost connection is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// When a client whose connection broke should reconnect.
const RETRY: Duration = Duration::from_secs(2);

/// `GET /tasks/{id}/events`.
pub(super) async fn listen(
    State(app): State<Arc<App>>,
    Asked { client, waves, asker, wanted }: Asked,
) -> Result<Response, Problem> {
    // Everybody may see the status.
    let (asker, wanted) = (asker.ok(), wanted?);
    let place = app.events.enter(client)?;
    let listen = |reports: &Arc<dyn TaskReports>| {
        let collection = app.collection(reports);
        (collection.pulse.listen(&app.events, &**reports), collection)
    };
    let (first, last) = (listen(&waves.first), listen(waves.last()));
    let listener = Listener {
        app,
        waves,
        wanted,
        asker,
        first: first.0,
        states: last.0,
        told: None,
        _collections: [first.1, last.1],
        _place: place,
    };
    let events = stream::unfold(listener, |mut listener| async {
        Some((Ok::<_, Infallible>(listener.next().await?), listener))
    });
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    // Proxies that buffer an answer would hold the events back.
    Ok(([("x-accel-buffering", "no")], events).into_response())
}

/// One stream.
struct Listener {
    app: Arc<App>,
    waves: Waves,
    wanted: Question,
    /// The client that may get components, if any.
    asker: Option<Asker>,
    /// The states of the last wave.
    states: watch::Receiver<Option<Counts>>,
    /// Those of the first, which ends a stream of both waves too.
    first: watch::Receiver<Option<Counts>>,
    /// The last counts sent, and the number of records of the last components.
    told: Option<(Counts, Option<u64>)>,
    _collections: [Arc<TaskResults>; 2],
    _place: Portion,
}

impl Listener {
    /// The next event; `None` when the server stops or a task is deleted.
    async fn next(&mut self) -> Option<Event> {
        let mut first = self.first.clone();
        tokio::select! {
            biased;
            () = self.app.events.stopped() => None,
            _ = first.wait_for(Option::is_none) => None,
            event = self.wait() => event,
        }
    }

    async fn wait(&mut self) -> Option<Event> {
        match self.told {
            // The components of a state follow its counts, which are sent at once.
            Some((counts, of)) if of.is_none_or(|records| records < self.waves.records(counts)) => {
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
        let event = event("status", &self.app.status(&**self.waves.last(), counts));
        Some(match self.told.replace((counts, self.told.and_then(|(_, of)| of))) {
            None => event.retry(RETRY),
            Some(_) => event,
        })
    }

    async fn tell_components(&mut self, counts: Counts) -> Event {
        let Some(asker) = self.asker else {
            // Said once.
            self.told = Some((counts, Some(u64::MAX)));
            let detail = "components are sent only to clients with the collector's token ('Authorization: Bearer \
                <token>'): this stream has the status alone";
            return event("problem", &Reason::TokenMissing.because(detail).document());
        };
        let of = self.waves.records(counts);
        // A newer state may have been computed for somebody else.
        let (event, records) = match recover(&self.app, asker, &self.waves, self.wanted.clone(), counts).await {
            Ok(answer) => {
                let json = String::from_utf8_lossy(&answer.json);
                (Event::default().event("recovery").data(json), answer.found.asked.records.max(of))
            }
            Err(problem) => (event("problem", &problem.document()), of),
        };
        self.told = Some((counts, Some(records)));
        event
    }
}

fn event(name: &str, data: &impl Serialize) -> Event {
    // The events are numbers and texts, which JSON has.
    Event::default().event(name).json_data(data).unwrap_or_default()
}
