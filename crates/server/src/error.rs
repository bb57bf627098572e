//! Reasons for a server or a relay not to start, or to stop.

use std::io;
use std::net::SocketAddr;

use super::store::StoreError;

/// Reasons for a server or a relay not to start, or to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The folder.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A setting that makes no sense.
    #[error("{0}")]
    Config(String),
    /// What the settings name cannot be used: a file of secrets, a token, the certificate, the audit trail, the folder
    /// of the page or the gateway's keys. With its place and the remedy.
    #[error("{0}")]
    Unusable(String),
    /// The port.
    #[error("cannot listen on {address}: {source}; choose another address or port")]
    Listen {
        /// The last address tried.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// A disk that failed, so that it is unknown what it has of the last reports. They were not acknowledged.
    #[error("serving stopped: {0}; start it again: it reads what the disk has, and what was acknowledged is kept")]
    Doubt(String),
    /// The system, while serving.
    #[error("serving stopped: {0}; start it again, what was acknowledged is kept")]
    Io(#[from] io::Error),
}
