//! The `task put` command: a task for a running aggregator.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use ldp_pca_server::TaskSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::aggregator::{ByAdmin, printable};
use crate::error::{InFile as _, Result};
use crate::files;
use crate::output::Format;

/// Give a running aggregator a task to collect for
///
/// A task that it already has keeps its reports, and all settings except those given here.
#[derive(Args)]
pub(crate) struct Put {
    /// The task file (see `task new`)
    task: PathBuf,
    #[command(flatten)]
    by: ByAdmin,
    /// A file with settings for the task, in JSON
    ///
    /// Such as {"minimum_batch": 1000}; null takes one away (docs/reference/http-api.md)
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Let everybody have the components that stand out, for web pages
    ///
    /// At /tasks/ID/components; the setting `publish`
    #[arg(long)]
    publish: bool,
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
            settings.get(name).map_or("not set".to_owned(), |value| printable(&value.to_string()))
        };
        let mut text = String::from(if self.created { "the aggregator does not have the task yet\n" } else { "" });
        for name in names {
            let (from, to) = (shown(before, name), shown(&self.after, name));
            let then = if from == to { "as now".to_owned() } else { format!("then {to}") };
            text += &format!("{}: {from}, {then}\n", printable(name));
        }
        text + "nothing was changed\n"
    }
}

impl Put {
    pub(super) fn run(self) -> Result<()> {
        let task = files::task(&self.task)?;
        let mut settings = match &self.settings {
            Some(path) => {
                let text = files::text(path)?;
                // Checked here, where the file has a name, and no list. Sent with its nulls, which have a meaning.
                serde_json::from_str::<Map<String, Value>>(&text)
                    .and_then(|settings| serde_json::from_str::<TaskSettings>(&text).map(|_| settings))
                    .map_err(|error| {
                        let problem = files::without_values(&error);
                        format!("not settings ({problem}): give JSON, as in {{\"minimum_batch\": 1000}}")
                    })
                    .in_file(path)?
            }
            None => Map::new(),
        };
        if self.publish {
            settings.insert("publish".into(), true.into());
        }
        let aggregator = self.by.aggregator()?;
        let body = format!("{{\"task\":{},\"settings\":{}}}", task.to_json(), Value::Object(settings));
        let digest = task.digest().to_string();
        let place = format!("/tasks/{digest}");
        let path = format!("{place}{}", if self.dry_run { "?dry_run=true" } else { "" });
        let answer = aggregator.send_json("PUT", &path, &body)?;
        if self.dry_run {
            return self.format.print(&answer.good()?.document::<Change>()?, Change::text);
        }
        let created = answer.good_with("task", &digest)?.status == 201;
        let summary = PutSummary { task: digest, created, url: aggregator.at(&place) };
        self.format.print(&summary, |summary| {
            let said = if summary.created { "collects for it" } else { "had it, and has the settings given here" };
            format!("task {}\nthe aggregator {said}: {}\n", summary.task, summary.url)
        })
    }
}
