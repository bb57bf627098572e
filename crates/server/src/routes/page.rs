//! The page's files: only those in the given folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;
use tokio::task::spawn_blocking;
use tower_http::services::ServeDir;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::problem::Problem;

/// The rights of pages: load from here, show images of their own making (`blob:`), run WebAssembly, connect to here.
/// The built page states the same in its own head, for hosts that send no headers (www/vite.config.ts). Only here can
/// it say that nobody may frame it.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; \
    style-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// The one hidden folder that is for everybody (RFC 8615).
const WELL_KNOWN: &str = ".well-known";

/// Answers with the files of `folder`; beside a file there may be its content in gzip, under the name with `.gz`.
pub(super) fn files(folder: &Path) -> Router {
    let nothing = Router::new().fallback(async || Problem::unknown_path());
    let files = ServeDir::new(folder).precompressed_gzip();
    let files = files.call_fallback_on_method_not_allowed(true).fallback(nothing);
    let policy = SetResponseHeaderLayer::if_not_present(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(CONTENT_SECURITY_POLICY),
    );
    let folder: Arc<Path> = folder.into();
    Router::new().fallback_service(files).layer(from_fn_with_state(folder, only_inside)).layer(policy)
}

async fn only_inside(State(folder): State<Arc<Path>>, request: Request, next: Next) -> Response {
    let Some(file) = named(&folder, request.uri().path()) else { return Problem::unknown_path().into_response() };
    // The disk is asked off the request threads.
    match spawn_blocking(move || is_inside(&folder, file)).await {
        Ok(true) => next.run(request).await,
        _ => Problem::unknown_path().into_response(),
    }
}

/// The file of a path, unless it is hidden: names that start with a dot belong to version control or an editor.
fn named(folder: &Path, path: &str) -> Option<PathBuf> {
    let path = percent_decode_str(path).decode_utf8().ok()?;
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    parts.try_fold(folder.to_owned(), |file, part| {
        let hidden = part.starts_with('.') && part != WELL_KNOWN;
        (!hidden && !part.contains(['\\', '\0'])).then(|| file.join(part))
    })
}

/// Whether the file is there, and no link leads out of the folder (which may itself be a link). A name that the system
/// refuses, as one that is too long, is not there.
fn is_inside(folder: &Path, file: PathBuf) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let inside = |file: PathBuf| file.starts_with(&folder);
    // The answer for a folder is its index.
    let file = if file.is_dir() { file.join("index.html") } else { file };
    let packed: OsString = [file.as_os_str(), ".gz".as_ref()].into_iter().collect();
    file.canonicalize().is_ok_and(inside) && PathBuf::from(packed).canonicalize().map_or(true, inside)
}
