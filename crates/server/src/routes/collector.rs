//! What a collector sees in a browser: the list of collections, the page of each with its result, and downloads.
//!
//! A browser asks for the token as the password of HTTP Basic (RFC 7617), with any name, and sends it with every later
//! request by itself. So what only a collector may see is for pages of this origin, and no other one can read or show
//! it.

use std::iter;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Extension, RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{AppendHeaders, Html, IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ldp_pca::components::PublishedComponents;
use ldp_pca::nalgebra::DMatrix;
use ldp_pca::schema::ColumnKind;
use ldp_pca_page::{CSP, Collection, Live, ResultPage};
use serde_json::Value;

use super::blocking;
use super::recovery::{Asked, check_minimum, check_waves, in_time};
use crate::app::App;
use crate::origins::RESOURCE_POLICY;
use crate::problem::{Problem, Reason};
use crate::recovery::{Asker, Waves, denoised};
use crate::request::{Id, weight};
use crate::store::{TaskReports, unix_time};
use crate::tokens::{Role, after};

/// Where the list is, from the page of a result.
const LIST: &str = "../../tasks";

/// What that page leads to, beside it.
const DOWNLOADS: [(&str, &str); 4] = [
    ("Components, for web pages and programs (JSON)", "components"),
    ("Components, as a table (CSV)", "components.csv"),
    ("Covariance, without its noise (CSV)", "covariance.csv"),
    ("Sums of the reports, for another recovery (LDPA)", "aggregate"),
];

/// So many of them, the first ones, are of both waves where the page is.
const OF_BOTH: usize = 2;

/// The header of a page that no page of another origin has a handle of.
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The largest refusal, in bytes.
const LARGEST_REFUSAL: usize = 64 << 10;

/// Marks an answer that is for everybody.
#[derive(Clone, Copy)]
pub(super) struct ForEverybody;

/// The layer around these routes.
pub(super) async fn layer(mut request: Request, next: Next) -> Response {
    let headers = request.headers_mut();
    let is_browser = asks_for_page(headers);
    let mut response = match password(headers) {
        Some(_) if is_of_other_site(headers) => {
            let detail =
                "a page of another site asks with the password that the browser keeps: open the address itself";
            Reason::TokenRole.because(detail).into_response()
        }
        Some(token) => {
            headers.insert(header::AUTHORIZATION, token);
            let mut response = next.run(request).await;
            // Otherwise the browser would keep this password, and never ask for another one.
            if is_browser && response.status() == StatusCode::FORBIDDEN {
                *response.status_mut() = StatusCode::UNAUTHORIZED;
            }
            response
        }
        None => next.run(request).await,
    };
    if is_browser && response.extensions().get::<Reason>().is_some() {
        response = refusal(response).await;
    }
    let varies = AppendHeaders([(header::VARY, "accept, authorization")]);
    let is_private = response.extensions().get::<ForEverybody>().is_none();
    let (csp, referrer) = ((header::CONTENT_SECURITY_POLICY, CSP), (header::REFERRER_POLICY, "no-referrer"));
    let own = [(RESOURCE_POLICY, "same-origin"), (OPENER_POLICY, "same-origin"), csp, referrer];
    let asks = is_browser && response.status() == StatusCode::UNAUTHORIZED;
    let asked = [(header::WWW_AUTHENTICATE, "Basic realm=\"collector\"")];
    (varies, is_private.then_some(own), asks.then_some(asked), response).into_response()
}

/// Whether a browser opens a page, or a client that shows one and does not like JSON as well.
pub(super) fn asks_for_page(headers: &HeaderMap) -> bool {
    let weight = |what: &str| weight(headers, header::ACCEPT, what);
    weight("text/html") > weight("application/json")
}

/// The password of HTTP Basic, as the header with which a token is sent elsewhere.
fn password(headers: &HeaderMap) -> Option<HeaderValue> {
    let pair = STANDARD.decode(after(headers.get(header::AUTHORIZATION)?, "basic ")?).ok()?;
    let colon = pair.iter().position(|byte| *byte == b':')?;
    HeaderValue::from_bytes(&[&b"Bearer "[..], &pair[colon + 1..]].concat()).ok()
}

/// Whether a page of another site asks (Fetch Metadata), and not a person who follows a link there.
fn is_of_other_site(headers: &HeaderMap) -> bool {
    let of = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    let is_own = of("sec-fetch-site").is_none_or(|site| [&b"same-origin"[..], b"none"].contains(&site));
    let is_followed = of("sec-fetch-dest") == Some(&b"document"[..]) && of("sec-fetch-user") == Some(&b"?1"[..]);
    !is_own && !is_followed
}

/// A refusal as a person reads it.
async fn refusal(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let document = to_bytes(body, LARGEST_REFUSAL).await.unwrap_or_default();
    let problem: Value = serde_json::from_slice(&document).unwrap_or_default();
    let text = |name: &str| problem[name].as_str().unwrap_or_default();
    let detail = match parts.status {
        StatusCode::UNAUTHORIZED => "load this page again, and give a collector's token as the password, with any name",
        _ => text("detail"),
    };
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    parts.headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CSP));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(ldp_pca_page::refusal(text("title"), detail)))
}

/// The list of collections. Where everybody may see components, everybody may see it.
pub(super) async fn list(app: Arc<App>, headers: &HeaderMap) -> Result<Response, Problem> {
    if headers.contains_key(header::AUTHORIZATION) || !app.config.open_recovery {
        app.tokens.check(headers, Role::Collector)?;
    }
    Ok(Html(blocking(move || list_of(&app)).await?).into_response())
}

fn list_of(app: &App) -> String {
    let tasks = app.store.tasks();
    let names = |reports: &Arc<dyn TaskReports>| {
        let read = reports.task().schema().columns().iter().filter(|column| column.kind != ColumnKind::Ignored);
        read.map(|column| column.name.clone()).collect()
    };
    let columns: Vec<Vec<String>> = tasks.iter().map(names).collect();
    let collections = tasks.iter().zip(&columns).map(|(reports, columns)| {
        let (task, digest) = (reports.task(), reports.task().digest().to_string());
        // The reports of others have no components of their own.
        let has_result = task.refinement().is_none() && task.moments().is_ok();
        Collection {
            link: has_result.then(|| format!("tasks/{digest}/report")),
            digest,
            period: task.period(),
            columns,
            records: reports.counts().records,
            state: state(app, &**reports),
        }
    });
    let mut collections: Vec<Collection<'_>> = collections.collect();
    collections.sort_by_key(|one| (one.columns, one.period));
    ldp_pca_page::collections(&collections)
}

/// Whether a task collects, in words.
fn state(app: &App, reports: &dyn TaskReports) -> &'static str {
    let settings = reports.settings();
    match app.expired(&settings) {
        _ if settings.is_closed() => "the first wave is over",
        Err(_) => "not begun",
        Ok(Some(_)) => "over",
        Ok(None) if reports.counts().records >= app.ceiling(reports, &settings) => "full",
        Ok(None) => "collecting",
    }
}

/// What is asked for where a test finds the rank, if none is given.
type Page = Asked<false>;

/// `GET /tasks/{id}/report`.
pub(super) async fn report(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
    page: Page,
) -> Result<Response, Problem> {
    let (Waves { first: reports, second }, answer) = page.answer(&app).await?;
    // Of the same question.
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let links = DOWNLOADS.map(|(label, path)| (label, format!("{path}{query}")));
    let mut counts = app.history.of(reports.task().digest(), unix_time(), reports.counts().records);
    let html = blocking(move || {
        let mut downloads = links.iter().map(|(label, link)| (*label, link.as_str())).collect::<Vec<_>>();
        if second.is_some() {
            // The others are of the first wave alone.
            downloads.truncate(OF_BOTH);
            counts.clear();
        }
        let live = Live { downloads: &downloads, counts: &counts, list: LIST };
        ldp_pca_page::result(&ResultPage { task: reports.task(), answer: &answer.found, live: Some(live) })
    });
    Ok(Html(html.await?).into_response())
}

/// `GET /tasks/{id}/components`. Where they are published, everybody gets those that a test finds, and chooses nothing.
/// Why there are none is for everybody too.
pub(super) async fn components(
    State(app): State<Arc<App>>,
    page: Result<Page, Problem>,
    RawQuery(query): RawQuery,
) -> Response {
    let asked = match page {
        Ok(page) => page,
        Err(problem) => return (Extension(ForEverybody), problem).into_response(),
    };
    let has_query = query.is_some_and(|query| !query.is_empty());
    let asker = match asked.asker {
        Ok(Asker::Collector) => Ok(Asker::Collector),
        _ if asked.waves.first.settings().publishes() && !has_query => Ok(Asker::Visitor(asked.client)),
        Err(_) if asked.waves.first.settings().publishes() => {
            let detail = "what is published has no parameters: ask without a query, or with a collector's token";
            Err(Reason::BadQuery.because(detail))
        }
        Err(mut problem) => {
            problem.detail += "; everybody gets published components (ldp-pca task put --publish)";
            Err(problem)
        }
        asker => asker,
    };
    let for_everybody = !matches!(asker, Ok(Asker::Collector));
    let asked = Asked { asker, ..asked };
    let document = async {
        let (waves, answer) = asked.answer(&app).await?;
        let text = blocking(move || PublishedComponents::document(&answer.found, waves.first.task()));
        let reason = if has_query { Reason::BadRank } else { Reason::NoComponents };
        let text = text.await?.map_err(|error| reason.because(error.to_string()))?;
        Ok::<_, Problem>(download("application/json", "components.json", text.into()))
    };
    let answer = document.await;
    if for_everybody { (Extension(ForEverybody), answer).into_response() } else { answer.into_response() }
}

/// `GET /tasks/{id}/components.csv`.
pub(super) async fn components_table(State(app): State<Arc<App>>, page: Page) -> Result<Response, Problem> {
    let (_, answer) = page.answer(&app).await?;
    blocking(move || {
        let vectors = answer.found.vectors();
        let head = (1..=vectors.ncols()).map(|index| format!("component_{index}")).collect();
        table("components.csv", head, &answer.found.asked.feature_names, &vectors)
    })
    .await?
}

/// `GET /tasks/{id}/covariance.csv`.
pub(super) async fn covariance_table(State(app): State<Arc<App>>, asked: Page) -> Result<Response, Problem> {
    let (reports, asker) = (Arc::clone(&asked.waves.first), asked.asker?);
    asked.wanted?;
    check_waves(&app, &asked.waves, asked.waves.last().counts())?;
    let names = reports.task().schema().feature_names();
    let computed = async {
        let permit = app.recoveries.enter(asker).await?;
        blocking(move || {
            let denoised = denoised(&*reports);
            drop(permit);
            denoised
        })
        .await?
    };
    // The time limit is for computing alone: a wide table takes long to write, at every attempt.
    let matrix = in_time(&app, computed).await?.matrix;
    blocking(move || table("covariance.csv", names.clone(), &names, &matrix)).await?
}

/// `GET /tasks/{id}/aggregate`: the sums. They show whether a known id is among few reports, so they are for no others.
pub(super) async fn aggregate(State(app): State<Arc<App>>, id: Id, headers: HeaderMap) -> Result<Response, Problem> {
    app.tokens.check(&headers, Role::Collector)?;
    let reports = app.find(id)?;
    check_minimum(&app, &*reports, reports.counts(), "")?;
    let permit = in_time(&app, app.recoveries.enter(Asker::Collector)).await?;
    let bytes = blocking(move || {
        let bytes = reports.aggregate().to_bytes();
        drop(permit);
        bytes
    });
    Ok(download("application/octet-stream", "aggregate.ldpa", bytes.await?))
}

/// A table with a row for each feature.
fn table(file: &str, head: Vec<String>, names: &[String], values: &DMatrix<f64>) -> Result<Response, Problem> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let head: Vec<String> = iter::once("feature".to_owned()).chain(head).collect();
    let rows = names.iter().zip(values.row_iter());
    let rows = rows.map(|(name, row)| iter::once(name.clone()).chain(row.iter().map(f64::to_string)).collect());
    for record in iter::once(head).chain(rows) {
        writer.write_record(&record).map_err(Problem::internal)?;
    }
    let content = writer.into_inner().map_err(Problem::internal)?;
    Ok(download("text/csv; charset=utf-8", file, content))
}

/// A file that a browser saves under this name.
fn download(media_type: &'static str, name: &str, content: Vec<u8>) -> Response {
    let name = format!("attachment; filename=\"{name}\"");
    ([(header::CONTENT_TYPE, media_type.to_owned()), (header::CONTENT_DISPOSITION, name)], content).into_response()
}
