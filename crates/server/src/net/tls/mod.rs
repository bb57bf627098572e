//! HTTPS, where the crate is built with it.

#[cfg(feature = "tls")]
mod acceptor;
#[cfg(not(feature = "tls"))]
#[path = "none.rs"]
mod acceptor;

use std::error::Error;
use std::path::PathBuf;

pub(in super::super) use acceptor::Tls;

/// Reasons why HTTPS cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The crate is built without it.
    #[error(
        "this build has no TLS: build it with the feature `tls`, or leave the certificate to a proxy before the server"
    )]
    NotBuilt,
    /// A file that cannot be read, or is not the expected PEM.
    #[error("{}: {source}; it must be {expected} in PEM", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The expected content.
        expected: &'static str,
        /// The problem.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A certificate and a key that do not match, or cannot be used.
    #[error("{} and {}: {source}; the key must be that of the first certificate", certificate.display(), key.display())]
    Pair {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// The problem.
        source: Box<dyn Error + Send + Sync>,
    },
}
