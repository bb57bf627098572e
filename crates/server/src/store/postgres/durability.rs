//! Durability of what the database confirms. Its settings can be reloaded while it runs, so every commit queries them
//! in the same message: a session takes on new settings only between two messages.

use tokio_postgres::{Client, SimpleQueryMessage, error::Severity};

use super::error::{PostgresError, describe};
use crate::store::CommitError;

/// Names, in SQL, a setting with which the database may lose confirmed data; null if there is none.
pub(super) const UNSAFE: &str = "CASE WHEN current_setting('fsync') = 'off' THEN 'fsync'
    WHEN current_setting('full_page_writes') = 'off' THEN 'full_page_writes'
    WHEN current_setting('synchronous_commit') = 'off' THEN 'synchronous_commit' END";

/// The result of [`UNSAFE`].
pub(super) fn check(found: Option<&str>) -> Result<(), PostgresError> {
    found.map_or(Ok(()), |setting| Err(PostgresError::NotDurable(setting.into())))
}

/// Commits, and asks the same session whether that was durable.
pub(super) async fn commit(client: &Client) -> Result<(), CommitError> {
    // A time limit that ended the wait for a standby would end it with success.
    let commit = format!("SELECT set_config('statement_timeout', '0', true), {UNSAFE}; COMMIT");
    let answers = client.simple_query(&commit).await.map_err(uncommitted)?;
    let found = answers.iter().find_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => row.try_get(1).ok().flatten(),
        _ => None,
    });
    check(found).map_err(|error| CommitError::Unknown(error.to_string()))
}

/// A COMMIT that the database refused did nothing. One whose session ended instead may have been done.
fn uncommitted(error: tokio_postgres::Error) -> CommitError {
    let refused = error.as_db_error().is_some_and(|error| error.parsed_severity() == Some(Severity::Error));
    if refused { error.into() } else { CommitError::Unknown(describe(&error)) }
}
