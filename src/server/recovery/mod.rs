//! Components of what was collected so far: computed once per state and wish, off the request threads, a few at a time.

mod answer;
mod wanted;

use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path as UrlPath, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

pub(super) use self::answer::Answer;
use self::answer::Decomposition;
pub(super) use self::wanted::Wanted;
use super::app::App;
use super::problem::{Kind, Problem};
use super::store::TaskReports;
use super::tokens::Role;

/// Wishes per task whose answers are kept. Beyond them the one that was asked for longest ago is forgotten.
const KEPT: usize = 16;

/// The answers of a task's present state, or of one not long ago.
#[derive(Default)]
pub(super) struct RecoveryCache {
    /// What was asked for last stands last.
    answers: Lock<Vec<(Wanted, Slot)>>,
    /// Of the state whose components were asked for last.
    decomposition: Arc<Lock<Option<Arc<Decomposition>>>>,
}

/// The answer to one wish. While it is computed, others wait for it rather than compute it again.
type Slot = Arc<Mutex<Option<Arc<Answer>>>>;

/// `GET /tasks/{id}/recovery`.
pub(super) async fn show(
    State(app): State<Arc<App>>,
    id: Result<UrlPath<String>, PathRejection>,
    headers: HeaderMap,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Response, Problem> {
    let reports = app.find(id)?;
    if !app.open_recovery(&reports.settings()) {
        app.tokens.check(&headers, Role::Collector)?;
    }
    let wanted = Wanted::read(query, reports.task().dimension())?;
    let answer = recover(&app, &reports, wanted, reports.counts().records).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], answer.json().clone()).into_response())
}

/// The components of a state with `records` reports or more.
pub(super) async fn recover(
    app: &App,
    reports: &Arc<dyn TaskReports>,
    wanted: Wanted,
    records: u64,
) -> Result<Arc<Answer>, Problem> {
    let minimum = app.minimum_batch(&reports.settings());
    if records < minimum {
        return Err(below_minimum_batch(records, minimum));
    }
    let collection = app.collection(reports);
    let computed = collection.recovery.answer(app, reports, wanted, records);
    timeout(app.limits.request_timeout(), computed).await.unwrap_or_else(|_| {
        Err(Problem::new(Kind::RecoveryTimeout, "the components are still being computed: ask again later"))
    })
}

impl RecoveryCache {
    async fn answer(
        &self,
        app: &App,
        reports: &Arc<dyn TaskReports>,
        wanted: Wanted,
        records: u64,
    ) -> Result<Arc<Answer>, Problem> {
        let mut last = self.slot(wanted).lock_owned().await;
        // Reports are summed before they are counted, so an answer can be of a newer state than the count.
        if let Some(answer) = last.as_ref().filter(|answer| answer.records() >= records) {
            return Ok(Arc::clone(answer));
        }
        let permit = Arc::clone(&app.recoveries).acquire_owned().await;
        let permit = permit.map_err(|error| Problem::internal(error.to_string()))?;
        let (reports, decomposition) = (Arc::clone(reports), Arc::clone(&self.decomposition));
        let deadline = Instant::now() + solving_time(app.limits.request_timeout());
        // Slot and permit go along: when the request is given up, the answer still serves the next one, and nothing else is begun
        // beside it.
        let computed = spawn_blocking(move || {
            let answer = Arc::new(compute(&*reports, wanted, records, &decomposition, deadline)?);
            *last = Some(Arc::clone(&answer));
            drop(permit);
            Ok::<_, String>(answer)
        });
        let answer = computed.await.unwrap_or_else(|error| Err(error.to_string())).map_err(Problem::internal)?;
        app.metrics.computed_recoveries.inc();
        Ok(answer)
    }

    fn slot(&self, wanted: Wanted) -> Slot {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = match answers.iter().position(|(kept, _)| *kept == wanted) {
            Some(place) => answers.remove(place).1,
            None => Slot::default(),
        };
        if answers.len() == KEPT {
            answers.remove(0);
        }
        answers.push((wanted, Arc::clone(&slot)));
        slot
    }

    /// The error that the components asked for last are predicted to have, of what a random subspace has, and their number.
    pub(super) fn predicted_error(&self) -> Option<(usize, f64)> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.iter().rev().find_map(|(_, slot)| slot.try_lock().ok()?.as_ref()?.predicted_error())
    }
}

/// The sparse solver stops so early that its answer is still waited for.
fn solving_time(request_timeout: Duration) -> Duration {
    request_timeout * 3 / 4
}

fn compute(
    reports: &dyn TaskReports,
    wanted: Wanted,
    records: u64,
    decomposition: &Lock<Option<Arc<Decomposition>>>,
    deadline: Instant,
) -> Result<Answer, String> {
    match wanted.penalty {
        Some(penalty) => Answer::sparse(reports, wanted.rank, penalty, deadline),
        None => {
            // All ranks share the decomposition of a state.
            let mut last = decomposition.lock().unwrap_or_else(PoisonError::into_inner);
            let state = match &*last {
                Some(state) if state.records() >= records => Arc::clone(state),
                _ => Arc::clone(last.insert(Arc::new(Decomposition::compute(reports)?))),
            };
            drop(last);
            Answer::leading(&state, reports.task(), wanted.rank)
        }
    }
}

fn below_minimum_batch(records: u64, minimum: u64) -> Problem {
    Problem::new(
        Kind::BelowMinimumBatch,
        format!("there are {records} reports, and components are given out from {minimum} on: collect more"),
    )
    .with(serde_json::json!({"records": records, "minimum_batch": minimum}))
}
