//! Reasons why a database cannot be used as a store.

use std::error::Error;
use std::iter::successors;

use tokio_postgres::error::SqlState;

use crate::store::{CommitError, TaskSettings};
use ldp_pca::task::TaskDigest;

/// Reasons why a database cannot be used as a store. No message contains a password.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// An address that cannot be read.
    #[error(
        "the address of the database cannot be used: {0}; write postgres://user:password@host:port/database, or \
        postgres:///database?host=/run/postgresql&user=name for a local socket"
    )]
    Address(String),
    /// No connection.
    #[error("cannot connect to the database at {server}: {reason}; check that it runs and that this user may log in")]
    Connect {
        /// Hosts, ports and database.
        server: String,
        /// The error of the database or the system.
        reason: String,
    },
    /// A statement that failed.
    #[error("the database refused to {action}: {reason}")]
    Query {
        /// The operation.
        action: &'static str,
        /// The database's error.
        reason: String,
    },
    /// A COMMIT that failed, or whose answer was lost: it may have been done.
    #[error("the database did not confirm a change: {0}")]
    Unconfirmed(String),
    /// A connection that leads to another database than the previous one.
    #[error("the database is not the one of a moment ago: nothing is stored until it has been read")]
    OtherDatabase,
    /// A database that may lose confirmed data, by this setting.
    #[error(
        "the database has {0} = off, so it can lose what it has confirmed: set it to on, or keep the reports in a \
            folder"
    )]
    NotDurable(String),
    /// A release of PostgreSQL that lacks required features, by its own version text.
    #[error("the database is PostgreSQL {0}, but 13 or newer is needed: upgrade it")]
    TooOld(String),
    /// The tables were replaced a moment ago.
    #[error("the tables of the database were replaced: they are read again")]
    Replaced,
    /// Tables that have other content than this release expects.
    #[error("{0}")]
    Content(String),
}

impl PostgresError {
    /// The error of an attempt to `action`.
    pub(super) fn query(action: &'static str) -> impl FnOnce(tokio_postgres::Error) -> Self {
        move |error| Self::Query { action, reason: describe(&error) }
    }

    /// The problem as anybody may read it: without the database's address, which the follower logs.
    pub(in super::super) fn for_clients(&self) -> String {
        match self {
            Self::Connect { .. } => "the database cannot be reached".into(),
            error => error.to_string(),
        }
    }

    /// The settings of a task, as the table has them.
    pub(super) fn settings(task: TaskDigest, json: &str) -> Result<TaskSettings, Self> {
        serde_json::from_str(json).map_err(|error| {
            Self::Content(format!(
                "the settings of task {task} in the database: {error}; a newer aggregator may have written them: \
                    upgrade this one"
            ))
        })
    }
}

impl From<PostgresError> for CommitError {
    fn from(error: PostgresError) -> Self {
        Self::Write(error.for_clients())
    }
}

/// Of a statement that is not a COMMIT: nothing was written.
impl From<tokio_postgres::Error> for CommitError {
    fn from(error: tokio_postgres::Error) -> Self {
        // Undefined table: the task was deleted.
        if error.code() == Some(&SqlState::UNDEFINED_TABLE) {
            return Self::Closed;
        }
        Self::Write(describe(&error))
    }
}

/// The whole story: the client's own words are often only "db error".
pub(super) fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return format!("{} ({})", error.message(), error.code().code());
    }
    let causes = successors(Some(error as &(dyn Error + 'static)), |&error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
