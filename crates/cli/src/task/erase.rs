//! The `task erase` command: single reports leave a running aggregator.

use std::path::PathBuf;

use clap::Args;
use ldp_pca::report::ReportId;
use ldp_pca::task::TaskDigest;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::aggregator::{self, Aggregator};
use crate::error::{CliError, Result};
use crate::files;
use crate::output::{Format, grouped};

/// Ids in one request.
const AT_ONCE: usize = 1000;

/// Erase single reports from a running aggregator, by their ids
///
/// The reports leave the sums and the store. Their ids stay refused, so the same bytes do not count again. Without the
/// id, a report cannot be found: nothing links it to a person.
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
    /// The aggregator
    #[arg(long, value_parser = aggregator::url, default_value = aggregator::DEFAULT_URL)]
    url: String,
    /// A file with an admin's token [default: the variable LDP_PCA_TOKEN has it]
    ///
    /// Not needed for one id where the aggregator's open_erasure allows that
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
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
        let aggregator = Aggregator::new(&self.url, aggregator::token(self.token_file.as_deref())?)?;
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
