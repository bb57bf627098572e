//! Components of the reports collected so far: `GET /tasks/{id}/recovery`.

use std::sync::Arc;

use axum::extract::{Extension, FromRequestParts, Path as UrlPath, Query, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use ldp_pca::internal::decimal::plural;
use ldp_pca::internal::waves::{RefineError, refinement_of};
use ldp_pca::recovery::{Question, Rank};
use ldp_pca::task::Task;
use tokio::time::timeout;

use crate::app::App;
use crate::net::Client;
use crate::problem::{Problem, Reason};
use crate::recovery::{Answer, Asker, Waves, read_question};
use crate::store::{Counts, TaskReports};
use crate::tokens::Role;

/// `GET /tasks/{id}/recovery`.
pub(super) async fn show(State(app): State<Arc<App>>, asked: Asked) -> Result<Response, Problem> {
    let (_, answer) = asked.answer(&app).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], answer.json.clone()).into_response())
}

/// The right of a request to components, now or whenever there are new ones. A token, if there is one, must be valid.
/// Where no rank `IS_NEEDED`, one is found by the test if there is none.
pub(super) struct Asked<const IS_NEEDED: bool = true> {
    pub(super) client: Client,
    pub(super) waves: Waves,
    /// The role in which the client may have components, or why it may not.
    pub(super) asker: Result<Asker, Problem>,
    pub(super) wanted: Result<Question, Problem>,
}

impl<const IS_NEEDED: bool> FromRequestParts<Arc<App>> for Asked<IS_NEEDED> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let client = Extension::from_request_parts(parts, app).await;
        let Extension(client) = client.map_err(Problem::internal)?;
        let first = app.find(UrlPath::from_request_parts(parts, app).await)?;
        let (query, dimension) = (Query::from_request_parts(parts, app).await, first.task().dimension());
        let asked = read_question(query, dimension, IS_NEEDED);
        let second = if matches!(asked, Ok((_, true))) { app.second_wave(&*first) } else { None };
        let open = |reports: &Arc<dyn TaskReports>| app.open_recovery(&reports.settings());
        let asker = if app.tokens.has(&parts.headers, Role::Collector)? {
            Ok(Asker::Collector)
        } else if open(&first) && second.as_ref().is_none_or(open) {
            Ok(Asker::Anybody(client))
        } else {
            // Refuses: there is no token.
            app.tokens.check(&parts.headers, Role::Collector).map(|_| Asker::Collector)
        };
        let wanted = asked.and_then(|(wanted, refined)| {
            if refined {
                check_second(first.task(), second.as_ref().map(|second| second.task()), wanted.rank)?;
            }
            Ok(wanted)
        });
        Ok(Self { client, waves: Waves { first, second }, asker, wanted })
    }
}

impl<const IS_NEEDED: bool> Asked<IS_NEEDED> {
    /// The components, and the reports that they are of.
    pub(super) async fn answer(self, app: &App) -> Result<(Waves, Arc<Answer>), Problem> {
        let Self { waves, asker, wanted, .. } = self;
        let answer = recover(app, asker?, &waves, wanted?, waves.last().counts()).await?;
        Ok((waves, answer))
    }
}

/// Refuses components of both waves where there is no second wave, or it refines another number of components.
fn check_second(first: &Task, second: Option<&Task>, rank: Rank) -> Result<(), Problem> {
    if first.refinement().is_some() {
        return Err(of_second_wave(first));
    }
    let Some(second) = second else {
        return Err(Reason::NotRefined.because(
            "the task has no second wave that is open: ask without refined, or once the answer of /tasks/{id} has the \
             header Refined-By",
        ));
    };
    match refinement_of(first, rank, second) {
        Ok(_) => Ok(()),
        Err(error @ RefineError::Rank(_)) => {
            Err(Reason::BadRank.because(format!("rank is '{}': {error}", rank.value())))
        }
        Err(other) => Err(Problem::internal(other)),
    }
}

fn of_second_wave(task: &Task) -> Problem {
    let first = task.campaign();
    Reason::SecondWave.because(format!(
        "this task is a second wave's, and its reports alone have no components: those of the first wave are at \
         /tasks/{first}/recovery, and with refined=true those of both waves"
    ))
}

/// Refuses components where the reports say nothing of them alone, and below the minimum of a wave.
pub(super) fn check_waves(app: &App, waves: &Waves, last: Counts) -> Result<(), Problem> {
    if waves.first.task().refinement().is_some() {
        return Err(of_second_wave(waves.first.task()));
    }
    waves.first.task().moments().map_err(|error| Reason::NoComponents.because(error.to_string()))?;
    let Some(second) = &waves.second else { return check_minimum(app, &*waves.first, last, "") };
    check_minimum(app, &*waves.first, waves.first.counts(), "")?;
    check_minimum(app, &**second, last, " of the second wave")
}

/// Refuses the sums of fewer reports than the task's minimum.
pub(super) fn check_minimum(app: &App, reports: &dyn TaskReports, counts: Counts, which: &str) -> Result<(), Problem> {
    let (records, minimum) = (counts.records, app.minimum_batch(&reports.settings()));
    if records >= minimum {
        return Ok(());
    }
    let are = if records == 1 { "is" } else { "are" };
    let found = plural(records, "report");
    let detail = format!("there {are} {found}{which}, and components need at least {minimum}: collect more");
    let members = serde_json::json!({"records": records, "minimum_batch": minimum});
    Err(Reason::BelowMinimumBatch.because(detail).with(members))
}

/// The components of a state of the last wave, or of a later one.
pub(super) async fn recover(
    app: &App,
    asker: Asker,
    waves: &Waves,
    wanted: Question,
    last: Counts,
) -> Result<Arc<Answer>, Problem> {
    check_waves(app, waves, last)?;
    let collection = app.collection(&waves.first);
    let computed = collection.recovery.answer(&app.recoveries, asker, waves, wanted, waves.records(last));
    in_time(app, computed).await
}

/// What is computed, if that is soon.
pub(super) async fn in_time<T>(app: &App, computed: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    timeout(app.config.request_timeout, computed).await.unwrap_or_else(|_| {
        Err(Reason::RecoveryTimeout.because("the components are still being computed: ask again later"))
    })
}
