//! The layer around routes that need an admin's token, erase, or give the sums: each action with a known token, and
//! each erasure that was done without one, has a line in the audit trail. A client that does not wait for the answer
//! does not stop the action or its line.

use std::sync::Arc;

use axum::extract::{Extension, MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::blocking;
use super::observe::RequestId;
use crate::app::App;
use crate::audit::AuditLine;
use crate::net::Client;
use crate::problem::{Problem, Reason};
use crate::request::task_of;
use crate::tokens::Role;

/// What a handler adds to the line of its action, as an extension of its answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Audited {
    /// Nothing was changed, nor meant to be.
    pub(super) harmless: bool,
    pub(super) reports: Option<u64>,
    pub(super) now: Option<bool>,
}

/// The action of a request that has a line.
fn action_of(method: &Method, route: &str) -> Option<&'static str> {
    match (method.as_str(), route) {
        ("PUT", "/tasks/{id}") => Some("task-put"),
        ("DELETE", "/tasks/{id}") => Some("task-delete"),
        ("POST", "/tasks/{id}/erasures") => Some("reports-erase"),
        ("GET", "/tasks/{id}/aggregate") => Some("sums-read"),
        _ => None,
    }
}

/// The layer.
pub(super) async fn layer(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Extension(id): Extension<RequestId>,
    request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let Some(action) = route.and_then(|route| action_of(request.method(), route.as_str())) else {
        return next.run(request).await;
    };
    let task = task_of(request.uri().path()).map(str::to_owned);
    let known = app.tokens.who(request.headers());
    let work = tokio::spawn(async move {
        let response = next.run(request).await;
        let note = response.extensions().get::<Audited>().copied().unwrap_or_default();
        let problem = response.extensions().get::<Reason>().copied();
        let outcome = match response.status() {
            status if status.is_success() => "done",
            status if status.is_server_error() => "failed",
            _ => "refused",
        };
        // Anybody can be refused without a token, as often as they like: the metrics count that.
        if !note.harmless && (known.is_some() || outcome == "done") {
            let (role, who) = known.unzip();
            // The line is written to the disk, which may take a while.
            let written = blocking(move || {
                app.audit.note(&AuditLine {
                    action,
                    outcome,
                    role: role.map_or("holder", Role::name),
                    who: who.as_deref(),
                    task: task.as_deref(),
                    problem: problem.map(Reason::name),
                    reports: note.reports,
                    now: note.now,
                    request: Some(id.as_str()),
                    address: Some(client.address()),
                    ..AuditLine::default()
                });
            });
            if let Err(problem) = written.await {
                return problem.into_response();
            }
        }
        response
    });
    work.await.unwrap_or_else(|error| Problem::internal(error).into_response())
}
