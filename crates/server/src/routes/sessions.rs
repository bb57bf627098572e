//! `/sessions`: runs of DPS-PCA between data providers.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path as UrlPath, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use subtle::ConstantTimeEq;
use tokio::time::{Instant, sleep_until};

use super::blocking::blocking;
use crate::app::App;
use crate::problem::{Kind, Problem, excerpt};
use crate::request::{self, Id};
use crate::sessions::Running;
use crate::tokens::{Role, presented};
use ldp_pca_dps::{Message, Parameters, Session, SessionError, SessionId};

/// The longest that a request waits for a round to start: proxies and clients give up at thirty seconds.
const LONGEST_WAIT: Duration = Duration::from_secs(25);

/// Bytes of a number in a message, and of the rest of the message.
const BYTES_PER_NUMBER: usize = 20;
const BESIDE_THE_NUMBERS: usize = 1024;

/// `GET /sessions`.
pub(super) async fn list(State(app): State<Arc<App>>) -> Response {
    let sessions: Vec<String> = app.sessions.ids().iter().map(SessionId::to_string).collect();
    Json(json!({"sessions": sessions})).into_response()
}

/// `POST /sessions`: creates one, or returns the tokens of an existing one.
pub(super) async fn create(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    if let Err(problem) = app.tokens.check(&headers, Role::Admin) {
        return Err(app.limits.refuse(&headers, body, problem));
    }
    let parameters: Parameters = app.limits.read_json(&headers, body, 4096).await?;
    let bad = |detail: String| Kind::BadSession.because(detail);
    let session = blocking(move || Session::new(parameters)).await?.map_err(|error| bad(error.to_string()))?;
    let guarantee = session.guarantee().map_err(|error| bad(error.to_string()))?;
    let (needed, most) = (message_bytes(&session), app.config.max_body_bytes);
    if needed > most {
        let remedy = "raise max_body_bytes";
        return Err(bad(format!("a message may have {needed} bytes, but the server reads bodies of {most}: {remedy}")));
    }
    let (id, providers) = (session.id(), session.parameters().providers);
    let owner = Arc::clone(&app);
    let created = blocking(move || owner.sessions.create(session)).await??;
    if created {
        tracing::info!(session = %id, "session created");
    }
    let tokens: Vec<String> = (1..=providers).map(|provider| token(&app, id, provider)).collect();
    let answer = json!({"session": id.to_string(), "guarantee": guarantee, "tokens": tokens});
    Ok((if created { StatusCode::CREATED } else { StatusCode::OK }, Json(answer)).into_response())
}

/// `GET /sessions/{id}`.
pub(super) async fn show(State(app): State<Arc<App>>, id: Id) -> Result<Response, Problem> {
    let json = find(&app, id)?.session.to_json();
    Ok(([(header::CONTENT_TYPE, "application/json")], json).into_response())
}

/// `DELETE /sessions/{id}`: with all messages.
pub(super) async fn delete(State(app): State<Arc<App>>, id: Id, headers: HeaderMap) -> Result<StatusCode, Problem> {
    app.tokens.check(&headers, Role::Admin)?;
    let id = find(&app, id)?.session.id();
    let owner = Arc::clone(&app);
    blocking(move || owner.sessions.delete(id)).await??;
    tracing::info!(session = %id, "session deleted");
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /sessions/{id}/state?after=t&wait=seconds`: waits until the session is past round t.
pub(super) async fn state(
    State(app): State<Arc<App>>,
    id: Id,
    headers: HeaderMap,
    query: request::Parameters,
) -> Result<Response, Problem> {
    let running = find(&app, id)?;
    let id = running.session.id();
    let provider = match provider_of(&app, &headers, &running)? {
        Some(provider) => Some(provider),
        None => app.tokens.check(&headers, Role::Collector).map(|_| None)?,
    };
    let (after, wait) = read_query(query)?;
    let deadline = Instant::now() + wait.min(app.config.request_timeout);
    let mut changes = running.changes();
    loop {
        changes.mark_unchanged();
        // It may be deleted while somebody waits for it.
        let state = app.sessions.find(id).ok_or_else(|| unknown(&id.to_string()))?.state(provider);
        let waiting = state.is_open() && after.is_some_and(|after| state.round <= after);
        if !waiting || Instant::now() >= deadline || app.events.stopping() {
            return Ok(Json(state).into_response());
        }
        tokio::select! {
            _ = changes.changed() => {}
            () = sleep_until(deadline) => {}
            () = app.events.stopped() => {}
        }
    }
}

/// `POST /sessions/{id}/messages`: a provider's answer to the present round.
pub(super) async fn take(
    State(app): State<Arc<App>>,
    id: Id,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let running = find(&app, id)?;
    let provider = match sender(&app, &headers, &running) {
        Ok(provider) => provider,
        Err(problem) => return Err(app.limits.refuse(&headers, body, problem)),
    };
    let Message { round, cells } = app.limits.read_json(&headers, body, message_bytes(&running.session)).await?;
    let bad = |error: SessionError| Kind::BadMessage.because(error.to_string());
    running.session.check_cells(&cells).map_err(bad)?;
    let id = running.session.id();
    blocking(move || running.take(provider, round, cells)).await??;
    Ok(Json(json!({"session": id.to_string(), "provider": provider, "round": round})).into_response())
}

fn message_bytes(session: &Session) -> usize {
    let (dimension, rank) = session.shape();
    BYTES_PER_NUMBER * dimension * rank + BESIDE_THE_NUMBERS
}

fn find(app: &App, id: Id) -> Result<Arc<Running>, Problem> {
    let UrlPath(id) = id.map_err(|_| Problem::unknown_path())?;
    SessionId::from_hex(&id).and_then(|id| app.sessions.find(id)).ok_or_else(|| unknown(&id))
}

fn unknown(id: &str) -> Problem {
    let id = excerpt(id);
    let detail = format!(
        "there is no session '{id}' here: GET /sessions lists the ids, each of 64 lower-case hexadecimal digits"
    );
    Kind::UnknownSession.because(detail)
}

/// The token of a provider: its number, and a code that nobody can make without the server's key.
fn token(app: &App, session: SessionId, provider: u32) -> String {
    let secret = app.issuer.provider_secret(session.as_bytes(), provider);
    let digits: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{provider}-{digits}")
}

/// The provider whose token the request has, if it has one of this session.
fn provider_of(app: &App, headers: &HeaderMap, running: &Running) -> Result<Option<u32>, Problem> {
    let Some(presented) = presented(headers)? else { return Ok(None) };
    let session = &running.session;
    let number = str::from_utf8(presented).ok().and_then(|text| text.split_once('-')?.0.parse().ok());
    let known = |provider: &u32| {
        (1..=session.parameters().providers).contains(provider)
            && bool::from(token(app, session.id(), *provider).as_bytes().ct_eq(presented))
    };
    Ok(number.filter(known))
}

/// The provider that sends a message.
fn sender(app: &App, headers: &HeaderMap, running: &Running) -> Result<u32, Problem> {
    if let Some(provider) = provider_of(app, headers, running)? {
        return Ok(provider);
    }
    let needed = "messages need the token of a provider of this session, from the answer of POST /sessions";
    Err(match presented(headers)? {
        None => Kind::TokenMissing.because(format!("{needed}: send it as 'Authorization: Bearer <token>'")),
        Some(_)
            if app.tokens.check(headers, Role::Collector).is_ok() || app.tokens.check(headers, Role::Admin).is_ok() =>
        {
            Kind::TokenRole.because(format!("the token is valid, but not for this: {needed}"))
        }
        Some(_) => Kind::TokenUnknown.because(format!("the server does not know this token: {needed}")),
    })
}

fn read_query(query: request::Parameters) -> Result<(Option<u32>, Duration), Problem> {
    let most = LONGEST_WAIT.as_secs();
    let remedy = format!("ask for ?after=t&wait=s with whole numbers from 0, s up to {most}");
    let bad = |what: String| Kind::BadQuery.because(format!("{what}: {remedy}"));
    let (mut after, mut wait) = (None, None);
    for (name, value) in query.map_err(|error| bad(error.to_string()))?.0 {
        let number: u32 = value.parse().map_err(|_| bad(format!("{} is '{}'", excerpt(&name), excerpt(&value))))?;
        let place = match name.as_str() {
            "after" => &mut after,
            "wait" if u64::from(number) <= most => &mut wait,
            _ => return Err(bad(format!("the query has '{}={number}'", excerpt(&name)))),
        };
        if place.replace(number).is_some() {
            return Err(bad(format!("the query has '{name}' twice")));
        }
    }
    Ok((after, Duration::from_secs(wait.unwrap_or(0).into())))
}
