//! The `inspect` command: the content of a file.

use std::io::{BufReader, Read};
use std::path::PathBuf;

use clap::Args;
use ldp_pca::components::PublishedComponents;
use ldp_pca::covariance::Covariance;
use ldp_pca::internal::mechanism::HostilePull;
use ldp_pca::internal::task::MAX_TASK_BYTES;
use ldp_pca::recovery::Reports;
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::schema::Schema;
use ldp_pca::task::Task;
use serde::Serialize;

use super::error::{CliError, InFile as _, Result};
use super::files;
use super::hostile::hostile_text;
use super::kind::{Kind, Needed};
use super::output::{Format, first, grouped};
use super::task::{TaskSummary, what_about};

/// Show what a schema, task, reports, aggregate or components file holds. Reports and aggregates are checked against
/// `--task`.
#[derive(Args)]
pub(super) struct Inspect {
    /// The file
    file: PathBuf,
    /// The task of reports or an aggregate
    #[arg(short, long)]
    task: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Content {
    Schema {
        columns: usize,
        features: usize,
        feature_names: Vec<String>,
    },
    Task(TaskSummary),
    Components {
        task: String,
        records: u64,
        rank: usize,
        features: usize,
        feature_names: Vec<String>,
    },
    Reports {
        reports: u64,
        report_bytes: usize,
        first_id: Option<String>,
        invalid: u64,
        first_invalid: Option<String>,
    },
    Aggregate {
        task: String,
        /// What the text says that they are about.
        #[serde(skip)]
        about: &'static str,
        /// Whether components are about an estimated mean; otherwise they are about zero.
        centred: bool,
        records: u64,
        fold_records: Vec<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        hostile: Option<HostilePull>,
    },
}

impl Inspect {
    pub(super) fn run(self) -> Result<()> {
        let file = BufReader::with_capacity(1 << 16, files::open(&self.file)?.0);
        let (start, content) = files::start(file, 4).in_file(&self.file)?;
        let content = match &start[..] {
            b"LDPR" => self.reports(content, &self.task()?)?,
            b"LDPA" => self.aggregate(content, &self.task()?)?,
            _ => self.document(content)?,
        };
        self.format.print(&content, Content::text)
    }

    fn task(&self) -> Result<Task> {
        let problem = "reports and aggregates can only be read with their task: give it with --task";
        files::task(self.task.as_ref().ok_or_else(|| CliError::usage(problem))?)
    }

    fn reports(&self, mut content: impl Read, task: &Task) -> Result<Content> {
        let (mut reports, mut invalid, mut first_id, mut first_invalid) = (0, 0, None, None);
        let mut bytes = vec![];
        for position in 1u64.. {
            bytes.clear();
            content.by_ref().take(report_bytes(task) as u64).read_to_end(&mut bytes).in_file(&self.file)?;
            if bytes.is_empty() {
                break;
            }
            match Report::from_bytes(&bytes, task) {
                Ok(report) => {
                    reports += 1;
                    first_id.get_or_insert_with(|| report.id().to_string());
                }
                Err(problem) => {
                    invalid += 1;
                    first_invalid.get_or_insert_with(|| format!("report {position}: {problem}"));
                }
            }
        }
        Ok(Content::Reports { reports, report_bytes: report_bytes(task), first_id, invalid, first_invalid })
    }

    fn aggregate(&self, content: impl Read, task: &Task) -> Result<Content> {
        let aggregate = files::aggregate_of(&self.file, content, task, "--task")?;
        let pull = |covariance: &Covariance, hostile| covariance.pull(Reports::one(&aggregate, task), hostile);
        Ok(Content::Aggregate {
            task: aggregate.task().to_string(),
            about: what_about(task),
            centred: task.centring().is_some(),
            records: aggregate.records(),
            fold_records: aggregate.folds().iter().map(ldp_pca::internal::aggregate::FoldSum::records).collect(),
            // No reports give no estimate.
            hostile: Covariance::estimate(&aggregate, task)
                .ok()
                .map(|covariance| HostilePull::new(1, covariance.records(), |hostile| pull(&covariance, hostile))),
        })
    }

    fn document(&self, content: impl Read) -> Result<Content> {
        let mut bytes = vec![];
        content.take(MAX_TASK_BYTES as u64 + 1).read_to_end(&mut bytes).in_file(&self.file)?;
        match Kind::of(&bytes) {
            Kind::Task => {
                let task = files::parsed(&self.file, &bytes, Needed::Task, Task::from_json)?;
                return Ok(Content::Task(TaskSummary::of(&task)));
            }
            Kind::Components => {
                let found = files::parsed(&self.file, &bytes, Needed::Components, PublishedComponents::from_json)?;
                return Ok(Content::Components {
                    task: found.task().to_string(),
                    records: found.records(),
                    rank: found.rank(),
                    features: found.schema().dimension(),
                    feature_names: found.schema().feature_names(),
                });
            }
            _ => {}
        }
        let schema = files::parsed(&self.file, &bytes, Needed::Ours, Schema::from_json)?;
        Ok(Content::Schema {
            columns: schema.columns().len(),
            features: schema.dimension(),
            feature_names: schema.feature_names(),
        })
    }
}

impl Content {
    fn text(&self) -> String {
        match self {
            Self::Schema { columns, features, feature_names } => {
                format!("schema\ncolumns    {columns}\nfeatures   {features}: {}\n", first(feature_names, 20))
            }
            Self::Task(summary) => summary.text(true),
            Self::Components { task, records, rank, features, feature_names } => format!(
                "components {rank}\ntask       {task}\nreports    {}\nfeatures   {features}: {}\n",
                grouped(*records),
                first(feature_names, 20)
            ),
            Self::Reports { reports, report_bytes, first_id, invalid, first_invalid } => {
                let mut text = format!("reports    {} of {report_bytes} bytes, all checked\n", grouped(*reports));
                text.extend(first_id.iter().map(|id| format!("first id   {id}\n")));
                let invalid = grouped(*invalid);
                text.extend(first_invalid.iter().map(|first| format!("invalid    {invalid}, the first is {first}\n")));
                text
            }
            Self::Aggregate { task, about, records, fold_records, hostile, .. } => {
                let folds: Vec<String> = fold_records.iter().map(|&records| grouped(records)).collect();
                format!(
                    "aggregate\ntask       {task}\nabout      {about}\nreports    {}\nper fold   {}\n{}",
                    grouped(*records),
                    folds.join(", "),
                    hostile.as_ref().map(|pull| hostile_text(pull, None)).unwrap_or_default()
                )
            }
        }
    }
}
