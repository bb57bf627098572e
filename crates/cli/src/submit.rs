//! The `submit` command: reports for a running aggregator.

use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ldp_pca::report::{Report, ReportError, report_bytes};
use ldp_pca::task::Task;
use ldp_pca_server::SealingKey;
use serde::{Deserialize, Serialize};

use super::aggregator::{self, Aggregator, Answer, DEFAULT_PATIENCE, DEFAULT_URL, RELAY_KEYS, printable, token};
use super::error::{CliError, InFile as _, Result};
use super::files;
use super::kind::Kind;
use super::output::{Format, grouped, plural, reading};

/// Send reports to a running aggregator, again after errors
///
/// A report counts once, by its id, however often it is sent: after an error the same bytes are sent again, and a
/// command that was interrupted can simply be repeated. An aggregator accepts ids that it issued, unless the task says
/// otherwise: `randomize --url` makes reports with them. So one report is sent first, and no other if its id was not
/// issued there. Exits with 1 when reports were refused.
///
/// With --relay each report is sealed to the aggregator and left with a relay, which sends it on in a shuffled batch.
/// Nobody says then whether it counts.
#[derive(Args)]
pub(super) struct Submit {
    /// Files of reports
    #[arg(required = true)]
    reports: Vec<PathBuf>,
    /// The task file
    #[arg(short, long)]
    task: PathBuf,
    /// The aggregator
    #[arg(long, value_parser = aggregator::url, default_value = DEFAULT_URL)]
    url: String,
    /// A relay to leave the reports with, in place of the aggregator
    #[arg(long, value_name = "URL", value_parser = aggregator::url, conflicts_with_all = ["url", "token_file"])]
    relay: Option<String>,
    /// The aggregator's keys: a relay that gives out another one gets nothing
    ///
    /// As /.well-known/ohttp-gateway of the aggregator gives them
    #[arg(long, value_name = "FILE", requires = "relay")]
    relay_keys: Option<PathBuf>,
    /// A file with a token to send along
    ///
    /// Aggregators need none; a gateway before one may [default: the variable LDP_PCA_TOKEN, if it is set]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Seconds to keep trying while nothing answers
    ///
    /// Or while the aggregator asks to wait
    #[arg(long, default_value_t = DEFAULT_PATIENCE)]
    patience: u64,
    #[command(flatten)]
    format: Format,
}

/// The most reports per request: an answer lists 1000 refused ones.
const MOST: usize = 1000;

/// The most bytes per request, unless one report has more.
const MOST_BYTES: usize = 1 << 20;

/// The aggregator's verdict on the reports of one request.
#[derive(Deserialize)]
struct Verdict {
    accepted: u64,
    duplicate: u64,
    rejected: u64,
    rejections: Vec<Rejection>,
}

/// One refused report.
#[derive(Deserialize)]
struct Rejection {
    index: u64,
    r#type: String,
    detail: String,
}

/// The verdict on all reports.
#[derive(Default, Serialize)]
struct Submitted {
    task: String,
    url: String,
    /// Whether every report was sent.
    complete: bool,
    /// Reports that the aggregator has answered for.
    sent: u64,
    accepted: u64,
    /// Those of ids that were there already.
    duplicate: u64,
    rejected: u64,
    rejections: Vec<Refused>,
    /// Reports that a relay keeps until their batch is complete.
    relayed: u64,
    seconds: f64,
}

/// The refused reports of one kind.
#[derive(Serialize)]
struct Refused {
    /// The end of the type of the problem (docs/reference/http-api.md).
    kind: String,
    reports: u64,
    /// The place of the first.
    first: String,
    detail: String,
}

/// Reports on their way.
struct Upload<'a> {
    /// Or a relay.
    aggregator: Aggregator,
    /// The aggregator's key, where reports go to a relay.
    key: Option<SealingKey>,
    task: &'a Task,
    /// The most reports of the next requests.
    most: usize,
    result: Submitted,
    refused: BTreeMap<String, Refused>,
}

impl Submit {
    pub(super) fn run(self) -> Result<()> {
        let started = Instant::now();
        let task = files::task(&self.task)?;
        let (aggregator, url) = match &self.relay {
            // What a gateway before the aggregator wants to know is not for a relay.
            Some(relay) => (Aggregator::new(relay, None)?, relay.clone()),
            None => (Aggregator::new(&self.url, token(self.token_file.as_deref())?)?, self.url.clone()),
        };
        let aggregator = aggregator.patient(self.patience);
        let key = self.relay.as_ref().map(|_| sealing_key(&aggregator, self.relay_keys.as_deref())).transpose()?;
        let result = Submitted { task: task.digest().to_string(), url, ..Submitted::default() };
        let most = (MOST_BYTES / report_bytes(&task)).clamp(1, MOST);
        let mut upload = Upload { aggregator, key, task: &task, most, result, refused: BTreeMap::new() };
        let sent = self.reports.iter().try_for_each(|path| upload.send_file(path));
        let Upload { mut result, refused, .. } = upload;
        result.complete = sent.is_ok();
        result.rejections = refused.into_values().collect();
        result.seconds = started.elapsed().as_secs_f64();
        if result.sent + result.relayed > 0 {
            self.format.print(&result, Submitted::text)?;
        }
        sent?;
        if result.rejected > 0 {
            let verb = if result.rejected == 1 { "was" } else { "were" };
            return Err(CliError::Failed(format!("{} {verb} refused", plural(result.rejected, "report"))));
        }
        Ok(())
    }
}

/// The aggregator's key that the relay gives to everybody. A file with another one is an error: whoever seals to a key
/// of their own stands out.
pub(super) fn sealing_key(relay: &Aggregator, file: Option<&Path>) -> Result<SealingKey> {
    let Answer { url, body, .. } = relay.get(RELAY_KEYS)?.good()?;
    let key = SealingKey::read(&body).map_err(|error| CliError::Failed(format!("{url}: {error}")))?;
    let Some(path) = file else { return Ok(key) };
    let expected = std::fs::read(path).map_err(|error| CliError::not_opened(path, &error))?;
    let expected = SealingKey::read(&expected).map_err(|error| CliError::file(path, error))?;
    if key == expected {
        return Ok(key);
    }
    Err(CliError::file(path, format!("{url} has another key: one of them is not the aggregator's, so send nothing")))
}

impl Submitted {
    fn text(&self) -> String {
        if self.relayed > 0 {
            let (relayed, url, seconds) = (plural(self.relayed, "report"), &self.url, self.seconds);
            let then = "it sends them on when their batch is complete";
            let mut text = format!("{relayed} left with the relay at {url} in {seconds:.1} s: {then}\n");
            if !self.complete {
                text += "not all were sent: run the same command again, and the aggregator counts each once\n";
            }
            return text;
        }
        let (sent, [accepted, duplicate]) = (plural(self.sent, "report"), [self.accepted, self.duplicate].map(grouped));
        let mut text = format!("{sent} sent to {} in {:.1} s: {accepted} accepted", self.url, self.seconds);
        if self.duplicate > 0 {
            text += &format!(", {duplicate} were there already");
        }
        if self.rejected > 0 {
            text += &format!(", {} refused", grouped(self.rejected));
        }
        text += "\n";
        for Refused { kind, reports, first, detail } in &self.rejections {
            text += &format!("  {} {kind}, the first in {first}: {detail}\n", grouped(*reports));
        }
        // Ids that another aggregator issued are refused again.
        if !self.complete && !self.rejections.iter().any(|refused| refused.kind == "report-not-issued") {
            text += "not all were sent: run the same command again, and those that are there count once\n";
        }
        text
    }
}

impl Upload<'_> {
    fn send_file(&mut self, path: &Path) -> Result<()> {
        use ReportError::{Length, Magic, OtherTask, Version};
        let (file, length) = files::open(path)?;
        let bar = reading("submitting", length);
        self.aggregator.bar = bar.clone();
        let content = BufReader::with_capacity(1 << 16, bar.wrap_read(file));
        let width = report_bytes(self.task);
        let (start, mut content) = files::start(content, width as u64).in_file(path)?;
        if start.is_empty() {
            return Err(CliError::file(path, "the file is empty: give reports"));
        }
        // Only the aggregator judges what is altered; what is something else altogether does not go there.
        let first = Report::from_bytes(&start, self.task);
        if let Err(error @ (Magic | Version(_) | OtherTask { .. } | Length { .. })) = first {
            let problem = if error == Magic {
                let held = Kind::of(&start).name();
                format!("it holds {held}, not reports: give the file that `ldp-pca randomize` wrote")
            } else {
                error.to_string()
            };
            return Err(CliError::file(path, format!("{problem} (nothing of the file was sent)")));
        }
        let cut = |reports: u64| format!("the file ends within report {}: it was cut", grouped(reports + 1));
        // The length of a pipe is given as 0.
        if !length.is_multiple_of(width as u64) {
            let problem = cut(length / width as u64);
            return Err(CliError::file(path, format!("{problem} (nothing of it was sent)")));
        }
        let (mut bytes, mut before) = (Vec::with_capacity(MOST_BYTES), 0);
        loop {
            bytes.clear();
            content.by_ref().take((self.most * width) as u64).read_to_end(&mut bytes).in_file(path)?;
            let (reports, rest) = bytes.split_at(bytes.len() / width * width);
            self.send(path, before, reports)?;
            before += (reports.len() / width) as u64;
            if !rest.is_empty() {
                return Err(CliError::file(path, cut(before)));
            }
            if reports.is_empty() {
                return Ok(());
            }
        }
    }

    /// Sends reports of a file that come after `before` others.
    fn send(&mut self, path: &Path, mut before: u64, mut reports: &[u8]) -> Result<()> {
        let (task, width) = (self.task.digest(), report_bytes(self.task));
        if let Some(key) = &self.key {
            for report in reports.chunks_exact(width) {
                let sealed = key.seal(task, report).map_err(CliError::failed)?;
                self.aggregator.send_sealed(&sealed)?.good()?;
                self.result.relayed += 1;
            }
            return Ok(());
        }
        while !reports.is_empty() {
            // One by one until one counts: where an id is of another origin, so are the others', and each report that
            // is sent reveals something.
            let most = if self.counts_none() { 1 } else { self.most };
            let count = most.min(reports.len() / width);
            let (now, later) = reports.split_at(count * width);
            let answer = self.aggregator.send_reports(task, now)?;
            match (answer.status, answer.problem().as_deref()) {
                (200, _) | (422, Some("reports-rejected")) => {
                    self.count(path, before, count as u64, &answer)?;
                    (reports, before) = (later, before + count as u64);
                }
                // What stands before the aggregator may read less than that does.
                (413, _) if count > 1 => self.most = count / 2,
                _ => return Err(answer.refused()),
            }
        }
        Ok(())
    }

    /// Whether no report counts yet.
    fn counts_none(&self) -> bool {
        self.result.accepted + self.result.duplicate == 0
    }

    /// Adds a verdict on this many reports.
    fn count(&mut self, path: &Path, before: u64, count: u64, answer: &Answer) -> Result<()> {
        let verdict: Verdict = answer.document()?;
        let total = verdict.accepted.saturating_add(verdict.duplicate).saturating_add(verdict.rejected);
        if total != count {
            let (url, total) = (&answer.url, plural(total, "report"));
            return Err(CliError::Failed(format!("{url} answers for {total} instead of {count}")));
        }
        let first = self.counts_none();
        self.result.sent += count;
        self.result.accepted += verdict.accepted;
        self.result.duplicate += verdict.duplicate;
        self.result.rejected += verdict.rejected;
        for Rejection { index, r#type, detail } in verdict.rejections {
            let kind = printable(r#type.strip_prefix("urn:ldp-pca:problem:").unwrap_or(&r#type));
            let detail = printable(&detail);
            let entry = self.refused.entry(kind.clone());
            let place = || format!("{}, report {}", path.display(), before.saturating_add(index).saturating_add(1));
            entry.or_insert_with(|| Refused { kind, reports: 0, first: place(), detail }).reports += 1;
        }
        if first && self.refused.contains_key("report-not-issued") {
            return Err(CliError::failed(
                "the aggregator did not issue the id of the first report, so the others were not sent: `randomize \
                 --url` makes reports with ids that it issues, or its operator sets issued_ids to false for the task. \
                 The aggregator has seen the first report: another one of that record spends its privacy budget again",
            ));
        }
        Ok(())
    }
}
