//! Answers that are compressed for browsers: pages and documents that are made for a request.

use std::io::{self, Write as _};
use std::ops::RangeInclusive;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::blocking;
use crate::problem::Problem;
use crate::request::{accepts, text};

/// The lengths in bytes that are worth it, and are held in memory.
const LENGTHS: RangeInclusive<u64> = 1024..=16 << 20;

/// The beginnings of the media types that are worth it.
const TYPES: [&str; 2] = ["text/", "application/json"];

/// The layer.
pub(super) async fn layer(request: Request, next: Next) -> Response {
    let is_read = request.method() == Method::GET && accepts(request.headers(), header::ACCEPT_ENCODING, "gzip");
    let (mut parts, body) = next.run(request).await.into_parts();
    parts.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    let media_type = text(&parts.headers, header::CONTENT_TYPE);
    let is_long = body.size_hint().exact().is_some_and(|length| LENGTHS.contains(&length));
    let is_worth_it = is_long && TYPES.iter().any(|known| media_type.starts_with(known));
    if !(is_read && parts.status == StatusCode::OK && is_worth_it) {
        return Response::from_parts(parts, body);
    }
    match packed(body).await {
        Ok(content) => {
            parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            parts.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(parts, Body::from(content))
        }
        Err(problem) => problem.into_response(),
    }
}

async fn packed(body: Body) -> Result<Vec<u8>, Problem> {
    let content = to_bytes(body, *LENGTHS.end() as usize).await.map_err(Problem::internal)?;
    let pack = move || -> io::Result<Vec<u8>> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&content)?;
        encoder.finish()
    };
    blocking(pack).await?.map_err(Problem::internal)
}
