//! Connections to the database. One that failed is thrown away, and the next use makes another: nothing else is needed
//! to recover.

use std::fmt::Write;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, NoTls};

use super::error::{PostgresError, describe};
use super::schema::IDENTITY;
use super::sql::{Sql, within};
use crate::locks::hold;

/// Connections at the same time, beside the follower's.
const CONNECTIONS: usize = 8;

/// The longest that a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest until a session has its settings.
const SESSION_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest that sent bytes may stay unconfirmed before a connection counts as lost.
const SILENCE: Duration = Duration::from_secs(15);

/// The first statements of every session. A commit waits for the database's disk, and for its standbys according to its
/// own settings. The session sets it, so that a reload does not change it. An aggregator that vanishes in the middle of
/// a transaction holds its locks no longer than this.
const SESSION: &str = "SET client_min_messages = warning; SET idle_in_transaction_session_timeout = '30s';
    SELECT set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), \
    false)";

/// The address of the database.
#[derive(Clone)]
pub(super) struct Address(Config);

impl FromStr for Address {
    type Err = PostgresError;

    fn from_str(text: &str) -> Result<Self, PostgresError> {
        let mut config = Config::from_str(text).map_err(|error| PostgresError::Address(describe(&error)))?;
        if config.get_ssl_mode() != SslMode::Disable && config.get_ssl_mode() != SslMode::Prefer {
            return Err(PostgresError::Address(
                "it asks for TLS, which this software does not speak to a database: use a local socket or a tunnel"
                    .into(),
            ));
        }
        if config.get_hosts().is_empty() {
            return Err(PostgresError::Address("it names no host".into()));
        }
        config.connect_timeout(*config.get_connect_timeout().unwrap_or(&CONNECT_TIMEOUT));
        config.tcp_user_timeout(*config.get_tcp_user_timeout().unwrap_or(&SILENCE));
        config.application_name(config.get_application_name().unwrap_or("ldp-pca").to_owned());
        Ok(Self(config))
    }
}

impl Address {
    /// A new connection with the session's settings.
    pub(super) async fn connect(&self) -> Result<Client, PostgresError> {
        within(SESSION_TIMEOUT, self.open()).await?
    }

    async fn open(&self) -> Result<Client, PostgresError> {
        let failed = |error| PostgresError::Connect { server: self.describe(), reason: describe(&error) };
        let (client, connection) = self.0.connect(NoTls).await.map_err(failed)?;
        // It ends with the client, or with an error that the client's next use reports.
        tokio::spawn(async move { drop(connection.await) });
        client.batch_execute(SESSION).await.map_err(failed)?;
        Ok(client)
    }

    /// Hosts, ports and database: no user, no password.
    fn describe(&self) -> String {
        let mut text = String::new();
        for (index, host) in self.0.get_hosts().iter().enumerate() {
            let ports = self.0.get_ports();
            let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
            let _ = match host {
                Host::Tcp(name) => write!(text, "{name}:{port}, "),
                #[cfg(unix)]
                Host::Unix(folder) => write!(text, "{}/.s.PGSQL.{port}, ", folder.display()),
            };
        }
        text + "database " + self.0.get_dbname().or(self.0.get_user()).unwrap_or("of the user")
    }
}

/// Connections for short statements.
pub(super) struct Pool {
    address: Address,
    idle: Mutex<Idle>,
    room: Semaphore,
}

/// The connections that are not in use. All are to the follower's database: one that leads to another is useless.
#[derive(Default)]
struct Idle {
    database: Option<Database>,
    clients: Vec<Client>,
}

/// The state that connections must agree on.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Database {
    /// Its [`IDENTITY`].
    pub(super) identity: String,
    /// The configured `synchronous_commit`: a session keeps the value of its start.
    pub(super) synchronous_commit: String,
}

impl Pool {
    pub(super) fn new(address: Address) -> Self {
        Self { address, idle: Mutex::default(), room: Semaphore::new(CONNECTIONS) }
    }

    /// The follower's finding. After a change connections are made again.
    pub(super) fn follow(&self, found: Database) {
        let mut idle = hold(&self.idle);
        if idle.database.as_ref() != Some(&found) {
            *idle = Idle { database: Some(found), clients: Vec::new() };
        }
    }

    /// A connection; waits for one while all are in use.
    pub(super) async fn take(&self) -> Result<Connection<'_>, PostgresError> {
        let room = self.room.acquire().await.expect("nobody closes it");
        let (client, database) = {
            let mut idle = hold(&self.idle);
            idle.clients.retain(|client| !client.is_closed());
            // It leads to the follower's database.
            (idle.clients.pop(), idle.database.clone())
        };
        if let Some(client) = client {
            return Ok(Connection { client, database, pool: self, _room: room });
        }
        let client = self.address.connect().await?;
        let sql = Sql::to("show which database it is", &client);
        let identity: String = sql.row(&format!("SELECT {IDENTITY}")).await?.get(0);
        if hold(&self.idle).database.as_ref().is_some_and(|database| database.identity != identity) {
            return Err(PostgresError::OtherDatabase);
        }
        Ok(Connection { client, database, pool: self, _room: room })
    }
}

/// A connection in use. Dropped, it is closed, and its open transaction is rolled back.
pub(super) struct Connection<'a> {
    pub(super) client: Client,
    /// The follower's database before it was made.
    database: Option<Database>,
    pool: &'a Pool,
    _room: SemaphorePermit<'a>,
}

impl Connection<'_> {
    /// Returns it for the next use: no transaction is open.
    pub(super) fn release(self) {
        let mut idle = hold(&self.pool.idle);
        if idle.database == self.database {
            idle.clients.push(self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_described_without_its_secrets() {
        let address = Address::from_str("postgres://me:secret@db.example:5433,other.example/reports").unwrap();
        assert_eq!(address.describe(), "db.example:5433, other.example:5432, database reports");
        let local = Address::from_str("postgres:///reports?host=/run/postgresql&user=me").unwrap();
        assert_eq!(local.describe(), "/run/postgresql/.s.PGSQL.5432, database reports");
    }

    #[test]
    fn addresses_that_cannot_work_are_refused() {
        for (text, reason) in [
            ("postgres://me:secret@db/reports?sslmode=require", "tunnel"),
            ("postgres:///reports", "no host"),
            ("postgres://me:secret@db:port/reports", "postgres://user"),
            ("postgres://me:secret@db/reports?colour=red", "colour"),
        ] {
            let error = Address::from_str(text).err().unwrap().to_string();
            assert!(error.contains(reason) && !error.contains("secret"), "{error}");
        }
    }
}
