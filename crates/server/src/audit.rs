//! The audit trail: what was done with the power of a token, or by the server itself. One JSON object a line.
//!
//! A line names the action, its task, its outcome and the token's name. It never has a token, a setting's
//! value, a report or its id, and an address only where the operator asks for it ([`LogConfig`]).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::Serialize;

use super::config::LogConfig;
use super::error::ServerError;
use super::locks::hold;
use super::store::{date_of, unix_time};

/// The file, if there is one.
#[derive(Debug, Default)]
pub struct AuditLog {
    path: Option<PathBuf>,
    addresses: bool,
    /// Lines are written one after the other.
    writing: Mutex<()>,
}

/// One action.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AuditLine<'a> {
    /// The time, which [`AuditLog::write`] gives it.
    pub time: String,
    /// What was done, or tried.
    pub action: &'a str,
    /// `done`, `refused` or `failed`.
    pub outcome: &'a str,
    /// `admin`, `collector`, `holder` (somebody without a token), `operator` (a command on the folder),
    /// `retention` (the server, when a time is over) or `refinement` (the server, when a second wave opens).
    pub role: &'a str,
    /// The name of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<&'a str>,
    /// The digest of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<&'a str>,
    /// The task of the second wave that refines it from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refined_by: Option<&'a str>,
    /// The end of the problem's type, for what was not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<&'a str>,
    /// Reports that it was done to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reports: Option<u64>,
    /// Whether reports were erased at once, without a grace period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<bool>,
    /// The request's id, which is in the log too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<&'a str>,
    /// The client's address; of an IPv6 address its /64 network. Written only where addresses are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
}

impl AuditLog {
    /// The audit trail of these settings. Its file is created, so that a wrong path is found at the start.
    pub(super) fn open(config: &LogConfig) -> Result<Self, ServerError> {
        let log = Self { addresses: config.addresses, ..Self::at(config.audit.clone()) };
        if let Some(path) = &log.path {
            append(path).map_err(|error| {
                let remedy = "the folder of the audit log must be this user's to write";
                ServerError::Unusable(format!("{}: {error}; {remedy}", path.display()))
            })?;
        }
        Ok(log)
    }

    /// An audit trail in this file, if there is one, without addresses.
    #[must_use]
    pub fn at(path: Option<PathBuf>) -> Self {
        Self { path, ..Self::default() }
    }

    /// Appends a line, and returns when it is on disk. The file is opened for each line, so it can be renamed or
    /// removed at any time.
    ///
    /// # Errors
    /// Those of the system.
    pub fn write(&self, line: &AuditLine<'_>) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let (time, address) = (date_of(unix_time()), line.address.filter(|_| self.addresses));
        let line = AuditLine { time, address, ..line.clone() };
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        let _alone = hold(&self.writing);
        let mut file = append(path)?;
        // One write, so that lines of several processes do not mix.
        file.write_all(&text)?;
        file.sync_data()
    }

    /// Appends a line, and only reports a failure: what the server did stays done.
    pub(super) fn note(&self, line: &AuditLine<'_>) {
        if let Err(error) = self.write(line) {
            tracing::error!(action = line.action, task = line.task, %error, "the audit log cannot be written");
        }
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn lines(path: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn line() -> AuditLine<'static> {
        let address = Some(IpAddr::from([192, 0, 2, 1]));
        AuditLine { action: "task-delete", outcome: "done", role: "admin", address, ..AuditLine::default() }
    }

    #[test]
    fn a_line_has_a_time_and_an_address_where_that_is_asked_for_and_is_in_the_file_of_this_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        for addresses in [false, true] {
            let config = LogConfig { audit: Some(path.clone()), addresses, ..LogConfig::default() };
            AuditLog::open(&config).unwrap().write(&line()).unwrap();
        }
        let mut found = lines(&path);
        for line in &mut found {
            let time = line.as_object_mut().unwrap().remove("time").unwrap();
            assert!(humantime::parse_rfc3339(time.as_str().unwrap()).is_ok(), "{time}");
        }
        let expected = json!({"action": "task-delete", "outcome": "done", "role": "admin"});
        assert_eq!(found[0], expected);
        assert_eq!(found[1]["address"], "192.0.2.1");
        // A file that is renamed is left, and a new one begun.
        let (log, old) = (AuditLog::at(Some(path.clone())), folder.path().join("audit.jsonl.1"));
        log.write(&line()).unwrap();
        std::fs::rename(&path, &old).unwrap();
        log.write(&line()).unwrap();
        assert_eq!((lines(&old).len(), lines(&path).len()), (3, 1));
        // A path that cannot be written is an error at the start.
        let config = LogConfig { audit: Some(folder.path().join("no/audit.jsonl")), ..LogConfig::default() };
        assert!(AuditLog::open(&config).unwrap_err().to_string().contains("no/audit.jsonl"));
    }
}
