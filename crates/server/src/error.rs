//! Reasons for a server not to start, or to stop.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::store::StoreError;

/// Reasons for a server not to start, or to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The folder.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A setting that makes no sense.
    #[error("{0}")]
    Config(String),
    /// A file of secrets.
    #[error("{}: {source}; it must be this user's to read, and its folder to write", path.display())]
    Secret {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file of secrets that is damaged, or missing where a new one would not do.
    #[error("{}: {problem}", path.display())]
    UnusableSecret {
        /// The file.
        path: PathBuf,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// An invalid token.
    #[error("{0}")]
    Token(String),
    /// The audit trail.
    #[error("{}: {source}; the folder of the audit log must be this user's to write", path.display())]
    AuditLog {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder of the page.
    #[error("{} is not a folder: build the page first, or serve without it", path.display())]
    Page {
        /// The path given.
        path: PathBuf,
    },
    /// The port.
    #[error("cannot listen on {address}: {source}; choose another address or port")]
    Listen {
        /// The last address tried.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The certificate.
    #[error("{0}")]
    Tls(String),
    /// A disk that failed, so that it is unknown what it has of the last reports. They were not acknowledged.
    #[error("the server stopped: {0}; start it again: it reads what the disk has, and what was acknowledged is kept")]
    Doubt(String),
    /// The system, while serving.
    #[error("the server stopped: {0}; start it again, what was acknowledged is kept")]
    Io(#[from] io::Error),
}
