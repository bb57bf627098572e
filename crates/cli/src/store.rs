//! The `store` commands: upkeep of an aggregator's folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use ldp_pca::task::TaskDigest;
use ldp_pca_server::maintenance::{self, Acknowledged, BackedUp, Exported, MergedTask, Progress, Repaired, Verified};
use ldp_pca_server::{AuditLine, AuditLog, StoreError};
use serde::Serialize;

use super::columnar::write_reports;
use super::error::{CliError, InFile as _, Result};
use super::files::is_standard;
use super::output::{Details, Format, grouped, plural, reading};
use super::remedy;
use super::writing::{Kind, Output, Target};

/// Maintain the folder of an aggregator (`serve --data`)
///
/// Reading needs no pause of the server: verify, export and backup see the folder as it is at one moment. For the
/// others, stop it
#[derive(Subcommand)]
pub(super) enum StoreCommand {
    /// Read every byte of a folder and report what is wrong; change nothing
    Verify(Verify),
    /// Make damaged databases anew from what can be read, and set them aside
    Repair(Repair),
    /// Say that you know what was lost, so that nobody is warned of it any more
    Acknowledge(Acknowledge),
    /// Write all reports of a task into one file
    Export(Export),
    /// Copy a folder, with its keys and tokens
    Backup(Backup),
    /// Add the tasks and reports of folders to another, each report once
    Merge(Merge),
    /// Bring back a deleted task whose reports are not erased yet
    Restore(Restore),
}

impl StoreCommand {
    pub(super) fn run(self) -> Result<()> {
        run!(self, Verify Repair Acknowledge Export Backup Merge Restore)
    }
}

#[derive(Args)]
pub(super) struct Verify {
    /// The folder
    folder: PathBuf,
    #[command(flatten)]
    details: Details,
    #[command(flatten)]
    format: Format,
}

impl Verify {
    fn run(self) -> Result<()> {
        check(&[&self.folder])?;
        let verified = with_bar("verifying", |progress| maintenance::verify(&self.folder, progress))?;
        self.format.print_laid_out(&verified, |verified| verified_text(verified, self.details.wanted))?;
        if verified.is_good() {
            return Ok(());
        }
        let folder = self.folder.display();
        Err(CliError::Failed(format!("{folder} has problems: restore it from a copy, or run `store repair`")))
    }
}

/// What is wrong, then the tasks that are well: how many, or with `details` each.
fn verified_text(verified: &Verified, details: bool) -> String {
    let wrong = |problem: &String| format!("wrong: {problem}\n");
    let mut text: String = verified.problems.iter().map(wrong).collect();
    let (good, bad): (Vec<_>, Vec<_>) = verified.tasks.iter().partition(|task| task.problems.is_empty());
    for task in bad.iter().chain(good.iter().filter(|_| details)) {
        text += &format!(
            "task {}{}: {}, {}{}\n",
            task.task,
            if task.deleted.is_some() { " (deleted)" } else { "" },
            plural(task.reports, "report"),
            plural(task.bytes, "byte"),
            if task.erased > 0 { format!("; {} erased on request", grouped(task.erased)) } else { String::new() }
        );
        task.problems.iter().for_each(|problem| text += &format!("  {}", wrong(problem)));
    }
    let reports = plural(good.iter().map(|task| task.reports).sum(), "report");
    let all = if verified.is_good() { "all is as it was written" } else { "as it was written" };
    text + &format!("{all}: {} with {reports} (--details names each)\n", plural(good.len() as u64, "task"))
}

#[derive(Args)]
pub(super) struct Repair {
    /// The folder; keep a copy until the result is what you expect
    folder: PathBuf,
    #[command(flatten)]
    format: Format,
}

impl Repair {
    fn run(self) -> Result<()> {
        check(&[&self.folder])?;
        let repaired = with_bar("repairing", |progress| maintenance::repair(&self.folder, progress))?;
        self.format.print_laid_out(&repaired, repaired_text)?;
        if repaired.problems.is_empty() {
            return Ok(());
        }
        Err(CliError::Failed(format!("{} is not whole: see the problems", self.folder.display())))
    }
}

fn repaired_text(repaired: &Repaired) -> String {
    let mut text = String::new();
    repaired.repairs.iter().for_each(|repair| text += &format!("{repair}\n"));
    for task in &repaired.tasks {
        text += &format!("task {}: {}\n", task.task, plural(task.reports, "report"));
    }
    repaired.lost.iter().for_each(|lost| text += &format!("lost: {lost}\n"));
    repaired.problems.iter().for_each(|problem| text += &format!("wrong: {problem}\n"));
    text
}

#[derive(Args)]
pub(super) struct Acknowledge {
    /// The folder
    folder: PathBuf,
    /// The task's digest, or the first part of it
    ///
    /// All tasks if it is not given
    #[arg(short, long)]
    task: Option<String>,
    #[command(flatten)]
    told: Told,
}

impl Acknowledge {
    fn run(self) -> Result<()> {
        check(&[&self.folder])?;
        let task = self.task.map(|task| choose_task(&self.folder, &task)).transpose()?;
        let done = maintenance::acknowledge(&self.folder, task).map_err(CliError::failed)?;
        done.iter().try_for_each(|task| self.told.note("store-acknowledge", Some(&task.task), task.lost))?;
        self.told.format.print_laid_out(&BTreeMap::from([("tasks", &done)]), |_| {
            let line = |Acknowledged { task, lost, damage }: &Acknowledged| {
                format!("task {task}: {} lost ({})\n", plural(*lost, "report"), damage.join("; "))
            };
            if done.is_empty() { "nothing was lost\n".to_owned() } else { done.iter().map(line).collect() }
        })
    }
}

#[derive(Args)]
pub(super) struct Backup {
    /// The folder
    folder: PathBuf,
    /// The folder to make; it may not be there
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    #[command(flatten)]
    told: Told,
}

impl Backup {
    fn run(self) -> Result<()> {
        check(&[&self.folder])?;
        if self.to.exists() {
            return Err(CliError::file(&self.to, "it is there: name a folder that is not"));
        }
        let done = with_bar("copying", |progress| maintenance::backup(&self.folder, &self.to, progress))?;
        self.told.note("store-backup", None, done.reports)?;
        self.told.format.print_laid_out(&done, |BackedUp { tasks, reports, files, damage }| {
            let [tasks, reports, files] = [(*tasks, "task"), (*reports, "report"), (*files, "small file")]
                .map(|(count, what)| plural(count, what));
            let lost: String = damage.iter().map(|damage| format!("lost: {damage}\n")).collect();
            format!("{tasks} with {reports}, and {files}\n{lost}")
        })
    }
}

#[derive(Args)]
pub(super) struct Export {
    /// The folder
    folder: PathBuf,
    /// The task's digest, or the first part of it
    ///
    /// Not needed if the folder has one task
    #[arg(short, long)]
    task: Option<String>,
    /// Where to write the reports: a table where it ends in .parquet
    ///
    /// Otherwise the plain sequence; `aggregate` reads both
    #[arg(short, long, value_parser = Target::parser(Kind::Reports))]
    output: Target,
    /// Go on without reports that are lost or damaged
    #[arg(long)]
    allow_loss: bool,
    #[command(flatten)]
    told: Told,
}

#[derive(Serialize)]
struct ExportResult {
    task: String,
    #[serde(flatten)]
    exported: Exported,
    output: Target,
}

impl Export {
    fn run(self) -> Result<()> {
        check(&[&self.folder])?;
        let digest = choose_task(&self.folder, self.task.as_deref().unwrap_or_default())?;
        let mut output = Output::create(&self.output)?;
        let exported = self.write(digest, &mut output).map_err(|error| output.closed().unwrap_or(error))?;
        output.finish()?;
        self.told.note("store-export", Some(&digest.to_string()), exported.reports)?;
        let lost = exported.lost;
        if !is_standard(&self.output) {
            let result = ExportResult { task: digest.to_string(), exported, output: self.output };
            self.told.format.print_laid_out(&result, |ExportResult { exported, output, .. }| {
                format!("{} written to {output}\n", plural(exported.reports, "report"))
            })?;
        }
        if lost == 0 { Ok(()) } else { Err(CliError::Failed(left_out(lost))) }
    }

    fn write(&self, digest: TaskDigest, output: &mut Output) -> Result<Exported> {
        let is_table = self.output.extension().is_some_and(|extension| extension == "parquet");
        let export = |write: &mut dyn FnMut(&[u8]) -> io::Result<()>| {
            let (folder, allowed) = (&self.folder, self.allow_loss);
            with_bar("exporting", |progress| maintenance::export(folder, digest, allowed, write, progress))
        };
        if !is_table {
            return export(&mut |reports| output.write_all(reports));
        }
        let task = maintenance::task(&self.folder, digest).map_err(CliError::failed)?;
        write_reports(output, &task, &self.output, export)
    }
}

fn left_out(lost: u64) -> String {
    let verb = if lost == 1 { "is" } else { "are" };
    format!("{} {verb} lost or damaged, and left out", plural(lost, "report"))
}

/// The task of a folder whose digest begins so.
fn choose_task(folder: &Path, beginning: &str) -> Result<TaskDigest> {
    choose(&maintenance::tasks(folder).map_err(CliError::failed)?, beginning, "tasks", "--task")
}

/// The one of these whose digest begins so.
fn choose(tasks: &[TaskDigest], beginning: &str, what: &str, how: &str) -> Result<TaskDigest> {
    let fitting: Vec<&TaskDigest> = tasks.iter().filter(|task| task.to_string().starts_with(beginning)).collect();
    match fitting[..] {
        [task] => Ok(*task),
        [] if tasks.is_empty() => Err(CliError::Usage(format!("the folder has no {what}: give the one that has them"))),
        _ => {
            let (count, all) = (fitting.len(), tasks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
            let problem = format!("{count} of the folder's {what} begin with '{beginning}'");
            Err(CliError::Usage(format!("{problem}: choose one with {how}, of {all}")))
        }
    }
}

#[derive(Args)]
pub(super) struct Restore {
    /// The folder
    folder: PathBuf,
    /// The task's digest, or the first part of it
    digest: String,
    #[command(flatten)]
    told: Told,
}

impl Restore {
    fn run(self) -> Result<()> {
        check(&[&self.folder])?;
        let deleted = maintenance::deleted(&self.folder).map_err(CliError::failed)?;
        let mut tasks: Vec<TaskDigest> = deleted.into_iter().map(|(task, _)| task).collect();
        tasks.sort();
        tasks.dedup();
        let whole = self.digest.parse::<TaskDigest>();
        let task = whole.or_else(|_| choose(&tasks, &self.digest, "deleted tasks", "its digest"))?;
        let restored = maintenance::restore(&self.folder, task).map_err(CliError::failed)?;
        self.told.note("store-restore", Some(&restored.task), restored.reports)?;
        self.told.format.print_laid_out(&restored, |restored| {
            let (task, verb) = (&restored.task, if restored.reports == 1 { "is" } else { "are" });
            let mut text = format!("task {task}: {} {verb} back\n", plural(restored.reports, "report"));
            if restored.without_retention {
                text += "  it no longer has a retention: give it a new one\n";
            }
            restored.damage.iter().for_each(|damage| text += &format!("  lost: {damage}\n"));
            text
        })
    }
}

#[derive(Args)]
pub(super) struct Merge {
    /// The folders to read
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// The folder to add to; created if missing
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// Go on without reports that are lost or damaged
    #[arg(long)]
    allow_loss: bool,
    #[command(flatten)]
    told: Told,
}

impl Merge {
    /// Refuses a folder that is named twice: held once, it could not be opened again.
    fn check(&self) -> Result<()> {
        let mut named: Vec<PathBuf> = fs::canonicalize(&self.into).into_iter().collect();
        for folder in &self.folders {
            let found = fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
            if named.contains(&found) {
                let problem = "is named twice: name each folder once, and what is added to after --into alone";
                return Err(CliError::Usage(format!("{} {problem}", folder.display())));
            }
            named.push(found);
        }
        Ok(())
    }

    fn run(self) -> Result<()> {
        self.check()?;
        check(&self.folders.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
        let tasks =
            with_bar("merging", |progress| maintenance::merge(&self.folders, &self.into, self.allow_loss, progress))?;
        tasks.iter().try_for_each(|task| self.told.note("store-merge", Some(&task.task), task.added))?;
        self.told.format.print_laid_out(&BTreeMap::from([("tasks", &tasks)]), |_| {
            let line = |task: &MergedTask| {
                let (added, [duplicates, all]) =
                    (plural(task.added, "report"), [task.duplicates, task.reports].map(grouped));
                format!("task {}: {added} added, {duplicates} were there; {all} in all\n", task.task)
            };
            tasks.iter().map(line).collect()
        })?;
        match tasks.iter().map(|task| task.lost).sum() {
            0 => Ok(()),
            lost => Err(CliError::Failed(left_out(lost))),
        }
    }
}

/// Where it is told what was done: the audit trail of commands that show reports or bring them back, and the result.
#[derive(Args)]
struct Told {
    /// The audit log of the aggregator, to which this adds a line
    ///
    /// It is `audit` in the aggregator's settings
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

impl Told {
    fn note(&self, action: &str, task: Option<&str>, reports: u64) -> Result<()> {
        let Some(path) = &self.audit_log else { return Ok(()) };
        let reports = Some(reports);
        let line = AuditLine { action, outcome: "done", role: "operator", task, reports, ..AuditLine::default() };
        AuditLog::at(Some(path.clone())).write(&line).in_file(path)
    }
}

/// Refuses what is no folder of an aggregator, before it is looked for what it holds.
fn check(folders: &[&Path]) -> Result<()> {
    let problem = |folder: &Path| match () {
        () if !folder.is_dir() => Some("there is no such folder"),
        () if !folder.join("tasks").is_dir() => Some("no aggregator has kept tasks in it"),
        () => None,
    };
    let bad = folders.iter().find_map(|&folder| Some((folder, problem(folder)?)));
    bad.map_or(Ok(()), |(folder, problem)| {
        Err(CliError::file(folder, format!("{problem}: give the folder of `ldp-pca serve --data`")))
    })
}

/// Runs some work, with a progress bar over the bytes that it reads.
fn with_bar<T>(label: &'static str, work: impl FnOnce(Progress<'_>) -> Result<T, StoreError>) -> Result<T> {
    let bar = reading(label, 0);
    work(&mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    })
    .map_err(|error| CliError::Failed(format!("{error}{}", remedy::of_store(&error))))
}
