//! Components of the reports collected so far: `GET /tasks/{id}/recovery`.

use std::sync::Arc;

use axum::extract::{Extension, FromRequestParts, Path as UrlPath, Query, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use ldp_pca::recovery::Question;
use tokio::time::timeout;

use crate::app::App;
use crate::net::Client;
use crate::problem::{Kind, Problem};
use crate::recovery::{Answer, Asker, read_question};
use crate::store::TaskReports;
use crate::tokens::Role;

/// `GET /tasks/{id}/recovery`.
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Asked { reports, asker, question, .. }: Asked,
) -> Result<Response, Problem> {
    let answer = recover(&app, asker?, &reports, question?, reports.counts().records).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], answer.json.clone()).into_response())
}

/// The right of a request to components, now or whenever there are new ones. A token, if there is one, must be valid.
pub(super) struct Asked {
    pub(super) client: Client,
    pub(super) reports: Arc<dyn TaskReports>,
    /// The role in which the client may have components, or why it may not.
    pub(super) asker: Result<Asker, Problem>,
    pub(super) question: Result<Question, Problem>,
}

impl FromRequestParts<Arc<App>> for Asked {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let client = Extension::from_request_parts(parts, app).await;
        let Extension(client) = client.map_err(|error| Problem::internal(error.to_string()))?;
        let reports = app.find(UrlPath::from_request_parts(parts, app).await)?;
        let asker = if app.tokens.has(&parts.headers, Role::Collector)? {
            Ok(Asker::Collector)
        } else if app.open_recovery(&reports.settings()) {
            Ok(Asker::Anybody(client))
        } else {
            // Refuses: there is no token.
            app.tokens.check(&parts.headers, Role::Collector).map(|_| Asker::Collector)
        };
        let question = read_question(Query::from_request_parts(parts, app).await, reports.task().dimension());
        Ok(Self { client, reports, asker, question })
    }
}

/// The components of a state with `records` reports or more.
pub(super) async fn recover(
    app: &App,
    asker: Asker,
    reports: &Arc<dyn TaskReports>,
    question: Question,
    records: u64,
) -> Result<Arc<Answer>, Problem> {
    if reports.task().refinement().is_some() {
        let first = reports.task().campaign();
        return Err(Kind::SecondWave.because(format!(
            "this task is a second wave's, and its reports alone have no components: those of the first wave are at \
                /tasks/{first}/recovery, and `ldp-pca recover --refined` has those of both waves"
        )));
    }
    let minimum = app.minimum_batch(&reports.settings());
    if records < minimum {
        let problem = Kind::BelowMinimumBatch
            .because(format!("there are {records} reports, and components need at least {minimum}: collect more"));
        return Err(problem.with(serde_json::json!({"records": records, "minimum_batch": minimum})));
    }
    let collection = app.collection(reports);
    let computed = collection.recovery.answer(&app.recoveries, asker, reports, question, records);
    timeout(app.config.request_timeout, computed).await.unwrap_or_else(|_| {
        Err(Kind::RecoveryTimeout.because("the components are still being computed: ask again later"))
    })
}
