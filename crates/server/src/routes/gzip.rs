//! Answers that are compressed for browsers: pages, their files, and documents.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::blocking;
use crate::locks::hold;
use crate::problem::Problem;
use crate::request::accepts;

/// The lengths in bytes that are worth it, and are held in memory.
const LENGTHS: RangeInclusive<u64> = 1024..=16 << 20;

/// The beginnings of the media types that are worth it.
const TYPES: [&str; 5] = ["text/", "application/json", "application/wasm", "application/javascript", "image/svg+xml"];

/// The most bytes of compressed files that are kept.
const MOST_KEPT: usize = 32 << 20;

/// The compressed content of files by their paths.
#[derive(Clone, Default)]
pub(super) struct Kept(Arc<Mutex<HashMap<String, Compressed>>>);

/// The time of a file's last change, its length, and its compressed content.
type Compressed = (HeaderValue, u64, Bytes);

impl Kept {
    fn get(&self, path: &str, changed: &HeaderValue, length: u64) -> Option<Bytes> {
        let kept = hold(&self.0);
        kept.get(path).filter(|(of, at, _)| of == changed && *at == length).map(|(_, _, content)| content.clone())
    }

    fn put(&self, path: String, changed: HeaderValue, length: u64, content: Bytes) {
        let mut kept = hold(&self.0);
        if kept.values().map(|(_, _, content)| content.len()).sum::<usize>() + content.len() <= MOST_KEPT {
            kept.insert(path, (changed, length, content));
        }
    }
}

/// The layer.
pub(super) async fn layer(State(kept): State<Kept>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let is_read = request.method() == Method::GET && accepts(request.headers(), header::ACCEPT_ENCODING, "gzip");
    let (mut parts, body) = next.run(request).await.into_parts();
    parts.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    let text = |name| parts.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let stated = text(header::CONTENT_LENGTH).and_then(|length| length.parse().ok());
    let length = stated.or(body.size_hint().exact()).unwrap_or_default();
    let media_type = text(header::CONTENT_TYPE).unwrap_or_default();
    let is_whole = parts.status == StatusCode::OK && !parts.headers.contains_key(header::CONTENT_ENCODING);
    let is_worth_it = LENGTHS.contains(&length) && TYPES.iter().any(|known| media_type.starts_with(known));
    if !(is_read && is_whole && is_worth_it) {
        return Response::from_parts(parts, body);
    }
    // Files have one, and what is made for a request has none.
    let changed = parts.headers.get(header::LAST_MODIFIED).cloned();
    let compressed = async {
        if let Some(content) = changed.as_ref().and_then(|changed| kept.get(&path, changed, length)) {
            return Ok(content);
        }
        let content = to_bytes(body, *LENGTHS.end() as usize).await.map_err(Problem::internal)?;
        let content: Bytes = blocking(move || compressed(&content)).await?.map_err(Problem::internal)?.into();
        if let Some(changed) = changed {
            kept.put(path, changed, length, content.clone());
        }
        Ok::<_, Problem>(content)
    };
    match compressed.await {
        Ok(content) => {
            parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            // They are about the content as it is.
            parts.headers.remove(header::CONTENT_LENGTH);
            parts.headers.remove(header::ACCEPT_RANGES);
            Response::from_parts(parts, Body::from(content))
        }
        Err(problem) => problem.into_response(),
    }
}

fn compressed(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content)?;
    encoder.finish()
}
