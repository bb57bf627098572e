//! `repair`: makes a database from what can be read of a damaged one, which is set aside; and `acknowledge`, by which
//! somebody says that they know what was lost.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::super::counter::Found;
use super::super::database::{
    Content, DAMAGED, Database, FILE, REPAIR, REPAIRED, TaskRow, aside, finish_repair, is_damage,
};
use super::super::ids::Ids;
use super::super::salvage::Salvage;
use super::super::{names, remove_folder};
use super::{Progress, all_folders, meter};
use crate::durable::{make_folder, sync_folder};
use crate::store::{At, Lock, StoreError, TaskSettings, sum};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::internal::decimal::plural;
use ldp_pca::task::TaskDigest;

/// The result of [`repair`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// Every task that is whole, or is again.
    pub tasks: Vec<RepairedTask>,
    /// The changes.
    pub repairs: Vec<String>,
    /// The losses: reports, settings, or facts that can no longer be known.
    pub lost: Vec<String>,
    /// Things left as they were found, and what to do about them.
    pub problems: Vec<String>,
}

/// A task that is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepairedTask {
    /// Its digest.
    pub task: String,
    /// Its reports.
    pub reports: u64,
}

/// A task of which something was lost, as somebody acknowledges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Acknowledged {
    /// Its digest.
    pub task: String,
    /// The reports that were lost.
    pub lost: u64,
    /// What happened, a sentence each.
    pub damage: Vec<String>,
}

/// Replaces every damaged database of a folder, those of deleted tasks among them, by one with all that can be read of
/// it, and keeps the damaged one under a name that ends in `.damaged`. What was lost is recorded until somebody
/// acknowledges it. It can be interrupted and repeated.
///
/// # Errors
/// [`StoreError`] when the folder is not there, a server has it open, or the disk refuses.
pub fn repair(root: &Path, progress: Progress<'_>) -> Result<Repaired, StoreError> {
    let _lock = Lock::take(root)?;
    let folders = all_folders(root)?;
    let mut meter = meter(progress, folders.iter().map(|(folder, ..)| folder));
    let mut done = Repaired::default();
    for (folder, digest, _) in folders {
        let bytes = Database::bytes_in(&folder);
        let repaired = match examine(&folder, digest) {
            Err(problem) if is_damage(&problem) => rebuild(&folder, digest, &problem.for_clients(), &mut done.repairs),
            examined => examined,
        };
        match repaired {
            Ok((reports, lost)) => {
                done.lost.extend(lost.iter().map(|lost| format!("task {digest}: {lost}")));
                done.tasks.push(RepairedTask { task: digest.to_string(), reports });
            }
            Err(problem) => {
                done.problems.push(format!("{problem}: it is left as it is"));
                // Half a repair takes space.
                let _ = remove_folder(&folder.join(REPAIR));
            }
        }
        meter(bytes);
    }
    Ok(done)
}

/// The reports of a database that is intact, and what is known to be lost of it.
fn examine(folder: &Path, digest: TaskDigest) -> Result<(u64, Vec<String>), StoreError> {
    let (mut database, content) = Database::open(folder, digest)?;
    if let Some(problem) = database.problems(&content, &mut |_| {})?.into_iter().next() {
        return Err(StoreError::database(&database.path(), problem));
    }
    match database.empty_log() {
        // Somebody reads it.
        Err(StoreError::Refused { .. }) | Ok(()) => Ok((content.reports, content.row.damage)),
        Err(error) => Err(error),
    }
}

/// Makes a new database of what can be read, and puts it in the place of the damaged one. Returns its reports, and what
/// is lost.
fn rebuild(
    folder: &Path,
    digest: TaskDigest,
    problem: &str,
    repairs: &mut Vec<String>,
) -> Result<(u64, Vec<String>), StoreError> {
    let (path, copy, kept) = (folder.join(FILE), folder.join(REPAIR), aside(folder, ""));
    let new = copy.join("new");
    let copied = || {
        remove_folder(&copy)?;
        make_folder(&new)?;
        parts(folder).try_for_each(|(part, end)| fs::copy(part, copy.join(format!("{FILE}{end}"))).map(drop))
    };
    copied().at("copy", folder)?;
    let salvage = Salvage::of(&copy, digest).map_err(|unreadable| {
        let told = format!("{problem}; its task cannot be read ({unreadable}): restore it from a backup");
        StoreError::refused(&path, told)
    })?;
    let known = salvage.row.clone();
    let mut row = known.unwrap_or_else(|| TaskRow::new(&salvage.task, &TaskSettings::default()));
    row.damage.push(format!("it was repaired ({problem})"));
    let counted = Found::read(folder, digest).at("read", folder)?.map(|found| found.numbers);
    let done = write_anew(&new, &salvage, &row, counted)?;
    drop(salvage);
    let put = || {
        for (part, end) in parts(folder) {
            let to = aside(folder, end);
            fs::hard_link(&part, &to).or_else(|_| fs::copy(&part, &to).map(drop))?;
        }
        sync_folder(folder)?;
        fs::rename(new.join(FILE), folder.join(REPAIRED))?;
        sync_folder(folder)?;
        finish_repair(folder)
    };
    put().at("repair", folder)?;
    let (mut database, _) = Database::open(folder, digest)?;
    database.empty_log()?;
    let (path, kept) = (path.display(), kept.display());
    repairs.push(format!("{path}: {problem}: it was made anew from what can be read, and is kept as {kept}"));
    Ok(done)
}

/// The file of a database and its log, as far as they are there, and the ends of their names.
fn parts(folder: &Path) -> impl Iterator<Item = (PathBuf, &'static str)> {
    let parts = ["", "-wal"].map(|end| (folder.join(format!("{FILE}{end}")), end));
    parts.into_iter().filter(|(part, _)| part.exists())
}

/// Makes a database in a folder of its own of what can be read. Returns its reports, and what is lost.
fn write_anew(
    folder: &Path,
    salvage: &Salvage,
    row: &TaskRow,
    counted: Option<[u64; 2]>,
) -> Result<(u64, Vec<String>), StoreError> {
    let (task, [changes, seen]) = (&salvage.task, counted.unwrap_or_default());
    let mut database = Database::create(folder, row, changes.max(salvage.changes))?;
    let (mut ids, mut total, mut lost) = (Ids::new(), Aggregate::empty(task), Vec::new());
    if salvage.row.is_none() {
        lost.push("the settings of its task are lost: they are the defaults now, give them again".to_owned());
    }
    database.change(|change| {
        for (id, at) in &salvage.erased {
            change.refuse([id], *at)?;
            ids.insert(*id);
        }
        salvage.batches(&mut |mut batch| {
            batch.extract(|id| !ids.insert(id));
            sum(&mut total, task, &batch.reports);
            change.append(&batch.reports, &batch.frames())
        })?;
        change.put_sum(&total)?;
        let missing = seen.saturating_sub(total.records() + salvage.erased.len() as u64);
        if missing > 0 {
            let verb = if missing == 1 { "is" } else { "are" };
            lost.push(format!("{} {verb} lost", plural(missing, "acknowledged report")));
        } else if counted.is_none() {
            lost.push("it is not known whether reports are lost".to_owned());
        }
        change.edit(|row| {
            row.lost += missing;
            row.damage.extend_from_slice(&lost);
        })
    })?;
    database.empty_log()?;
    Ok((total.records(), lost))
}

/// Forgets what was lost of a task, or of all: somebody knows of it. Removes what was set aside, too.
///
/// # Errors
/// [`StoreError`] when the folder is not there, a server has it open, or a database cannot be read or changed.
pub fn acknowledge(root: &Path, task: Option<TaskDigest>) -> Result<Vec<Acknowledged>, StoreError> {
    let _lock = Lock::take(root)?;
    let is_asked = |digest: &TaskDigest| task.is_none_or(|task| task == *digest);
    let folders = all_folders(root)?.into_iter().filter(|(_, digest, _)| is_asked(digest));
    // All are open before anything is forgotten.
    let opened = folders.map(|(folder, digest, _)| {
        let (database, Content { row: TaskRow { lost, damage, .. }, .. }) = Database::open(&folder, digest)?;
        Ok((folder, database, Acknowledged { task: digest.to_string(), lost, damage }))
    });
    let mut done = Vec::new();
    for (folder, mut database, known) in opened.collect::<Result<Vec<_>, StoreError>>()? {
        if !known.damage.is_empty() {
            database.change(|change| change.edit(|row| (row.lost, row.damage) = (0, Vec::new())))?;
            done.push(known);
        }
        for name in names(&folder)?.iter().filter(|name| name.ends_with(DAMAGED)) {
            fs::remove_file(folder.join(name)).at("remove", &folder.join(name))?;
        }
    }
    Ok(done)
}
