//! The commands `task erase` and `task delete`: single reports, or a whole task, leave a running aggregator.

use std::path::PathBuf;

use clap::Args;
use ldp_pca::report::ReportId;
use ldp_pca::task::TaskDigest;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::aggregator::{Aggregator, ByAdmin, printable, token};
use crate::error::{CliError, Result};
use crate::files;
use crate::output::{Format, grouped};

/// Ids in one request.
const AT_ONCE: usize = 1000;

/// Erase single reports from a running aggregator, by their ids
///
/// The reports leave the sums and the store. Their ids stay refused, so the same bytes do not count again. Without the
/// id, a report cannot be found: nothing links it to a person. No token is needed for one id where the aggregator's
/// open_erasure allows that.
#[derive(Args)]
pub(crate) struct Erase {
    /// The task's digest
    #[arg(value_parser = digest)]
    task: TaskDigest,
    /// The ids, 32 hexadecimal digits each, as the device that sent the reports kept them
    #[arg(required_unless_present = "ids")]
    id: Vec<ReportId>,
    /// A file with more ids, one a line
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,
    #[command(flatten)]
    by: ByAdmin,
    #[command(flatten)]
    format: Format,
}

fn digest(text: &str) -> Result<TaskDigest, String> {
    text.parse::<TaskDigest>().map_err(|error| format!("{error} (`ldp-pca inspect` shows that of a task's file)"))
}

/// The outcome.
#[derive(Default, PartialEq, Serialize, Deserialize)]
struct Erased {
    erased: u64,
    /// Erased earlier.
    before: u64,
    /// No report has or had the id.
    unknown: u64,
}

impl Erase {
    pub(super) fn run(self) -> Result<()> {
        let aggregator = Aggregator::new(&self.by.url, token(self.by.token_file.as_deref())?)?;
        let path = format!("/tasks/{}/erasures", self.task);
        let mut all = Erased::default();
        let done = self.all_ids()?.chunks(AT_ONCE).try_for_each(|ids| -> Result<()> {
            let answer = aggregator.send_json("POST", &path, &json!({"ids": ids}).to_string())?;
            let erased: Erased = answer.good()?.document()?;
            all.erased += erased.erased;
            all.before += erased.before;
            all.unknown += erased.unknown;
            Ok(())
        });
        // What was erased before an error is said too.
        if done.is_ok() || all != Erased::default() {
            self.format.print(&all, |all| {
                let [erased, before, unknown] = [all.erased, all.before, all.unknown].map(grouped);
                format!("erased: {erased}\nerased before: {before}\nnot found: {unknown}\n")
            })?;
        }
        done?;
        if all.unknown == 0 {
            return Ok(());
        }
        let problem =
            "the aggregator has no report of these ids and never had: check the task, the ids and the aggregator";
        Err(CliError::Failed(format!("{} not found: {problem}", grouped(all.unknown))))
    }

    fn all_ids(&self) -> Result<Vec<ReportId>> {
        let mut ids = self.id.clone();
        if let Some(path) = &self.ids {
            for (line, text) in (1..).zip(files::text(path)?.lines()).filter(|(_, text)| !text.trim().is_empty()) {
                ids.push(text.trim().parse().map_err(|error| CliError::at(path, "line", line, error))?);
            }
        }
        ids.sort_unstable_by_key(|id| *id.as_bytes());
        ids.dedup();
        if ids.is_empty() {
            return Err(CliError::usage("there is no id: name ids, or a file that has some"));
        }
        Ok(ids)
    }
}

/// Delete a task from a running aggregator
///
/// It ends at once. Its reports are erased after the aggregator's deletion_grace: until then `store restore` brings
/// them back.
#[derive(Args)]
pub(crate) struct Delete {
    /// The task's digest
    #[arg(value_parser = digest)]
    task: TaskDigest,
    #[command(flatten)]
    by: ByAdmin,
    /// Erase its reports at once, those deleted before among them
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    format: Format,
}

/// The aggregator's answer.
#[derive(Serialize, Deserialize)]
struct Deleted {
    task: TaskDigest,
    /// The date; `None` where its reports are erased.
    restorable_until: Option<String>,
}

impl Delete {
    pub(super) fn run(self) -> Result<()> {
        let path = format!("/tasks/{}?now={}", self.task, self.now);
        let deleted: Deleted = self.by.aggregator()?.delete(&path)?.good()?.document()?;
        // The command in it is one line, to be copied.
        self.format.print_laid_out(&deleted, |Deleted { task, restorable_until }| {
            let Some(until) = restorable_until.as_deref().map(printable) else {
                return format!("task {task}\nis deleted, and its reports are erased\n");
            };
            format!(
                "task {task}\nis deleted; its reports are erased after {until}\n\
                 until then, with the server stopped: ldp-pca store restore FOLDER {task}\n\
                 (in PostgreSQL: docs/operate/erase-and-close.md)\n"
            )
        })
    }
}
