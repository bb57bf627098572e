//! The `task put` command: a task for a running aggregator.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use ldp_pca_server::TaskSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{CliError, InFile as _, Result};
use crate::files;
use crate::output::Format;

/// Give a running aggregator a task to collect for
///
/// A task that it already has keeps its reports, and all settings except those given here.
#[derive(Args)]
pub(crate) struct Put {
    /// The task file (see `task new`)
    task: PathBuf,
    /// The aggregator
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    url: String,
    /// A file with an admin's token, such as admin.token in the aggregator's folder
    #[arg(long)]
    token_file: PathBuf,
    /// A file with settings for the task, in JSON (docs/http-api.md): {"minimum_batch": 1000}; null takes one away
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: Format,
}

/// The outcome.
#[derive(Serialize)]
struct PutSummary {
    task: String,
    /// Whether the task is new to the aggregator.
    created: bool,
    url: String,
}

/// The change that the command would make.
#[derive(Serialize, Deserialize)]
struct Change {
    created: bool,
    before: Option<Map<String, Value>>,
    after: Map<String, Value>,
}

impl Change {
    fn text(&self) -> String {
        let none = Map::new();
        let before = self.before.as_ref().unwrap_or(&none);
        let names: BTreeSet<&String> = before.keys().chain(self.after.keys()).collect();
        let shown = |settings: &Map<String, Value>, name: &str| {
            settings.get(name).map_or("not set".to_owned(), Value::to_string)
        };
        let mut text = String::from(if self.created { "the aggregator does not have the task yet\n" } else { "" });
        for name in names {
            let (from, to) = (shown(before, name), shown(&self.after, name));
            text +=
                &if from == to { format!("{name}: {from}, as now\n") } else { format!("{name}: {from}, then {to}\n") };
        }
        text + "nothing was changed\n"
    }
}

impl Put {
    pub(super) fn run(self) -> Result<()> {
        let task = files::task(&self.task)?;
        let settings = match &self.settings {
            Some(path) => {
                let text = files::text(path)?;
                // Checked here, where the file has a name. Sent as it is, because a null has a meaning.
                serde_json::from_str::<TaskSettings>(&text).in_file(path)?;
                text
            }
            None => "{}".to_owned(),
        };
        let token = files::token(&self.token_file)?;
        let body = format!("{{\"task\":{},\"settings\":{settings}}}", task.to_json());
        let url = format!("{}/tasks/{}", self.url.trim_end_matches('/'), task.digest());
        let asked = if self.dry_run { format!("{url}?dry_run=true") } else { url.clone() };
        let failed = |error: ureq::Error| CliError::Failed(format!("{url}: {error}"));
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let request = agent.put(&asked).header("content-type", "application/json");
        let mut response = request.header("authorization", format!("Bearer {token}")).send(body).map_err(failed)?;
        let status = response.status();
        if !status.is_success() {
            return Err(CliError::refused(&url, &mut response));
        }
        if self.dry_run {
            let change: Change = response.body_mut().read_json().map_err(failed)?;
            return self.format.print(&change, Change::text);
        }
        let summary = PutSummary { task: task.digest().to_string(), created: status.as_u16() == 201, url };
        self.format.print(&summary, |summary| {
            let said = if summary.created { "collects for it" } else { "had it, and has the settings given here" };
            format!("task {}\nthe aggregator {said}: {}\n", summary.task, summary.url)
        })
    }
}
