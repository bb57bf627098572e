//! `merge`: the reports of several folders in one, each id once.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::super::database::{Content, Database, TaskRow, in_file};
use super::super::{check_set_aside, make_folders, make_task, sweep, task_folder, task_folders};
use super::{Progress, meter, read_batches, refuse_losses};
use crate::store::{Lock, StoreError, TaskSettings, sum, unix_time};
use ldp_pca::internal::aggregate::MAX_RECORDS;
use ldp_pca::internal::decimal::plural;
use ldp_pca::report::ReportId;
use ldp_pca::task::TaskDigest;

/// The result for one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MergedTask {
    /// Its digest.
    pub task: String,
    /// Reports that were added.
    pub added: u64,
    /// Reports that were there before.
    pub duplicates: u64,
    /// Reports that the task has now.
    pub reports: u64,
    /// Reports that were lost or are damaged in the folders that were read.
    pub lost: u64,
}

/// Tasks of some folders, each as it is read.
type Parts = BTreeMap<TaskDigest, Vec<(Database, Content)>>;

/// Adds all tasks and reports of `sources`, which servers may have open, to the folder `into`, which is made if it is
/// missing. A new task brings its settings. A report that was erased from one of the folders is in none afterwards. A
/// first wave that is over in one of the sources is over afterwards. Each task is merged as a whole or not at all; it
/// can be interrupted and repeated.
///
/// # Errors
/// [`StoreError`] when a folder cannot be opened, read or written, or a task's quota has no room for the reports.
/// [`StoreError::Lossy`] when reports of a source are lost or damaged, unless `allow_loss`. Also, and then nothing is
/// added, when two folders have different second waves of a task, or a first wave is over in one and another, or
/// `into`, has further reports.
pub fn merge(
    sources: &[PathBuf],
    into: &Path,
    allow_loss: bool,
    progress: Progress<'_>,
) -> Result<Vec<MergedTask>, StoreError> {
    make_folders(into)?;
    let _lock = Lock::take(into)?;
    sweep(into)?;
    let mut parts = Parts::new();
    for root in sources {
        read_parts(root, &mut parts)?;
    }
    for (database, content) in parts.values().flatten() {
        refuse_losses(database, &content.row, allow_loss)?;
    }
    let mut there = Parts::new();
    read_parts(into, &mut there)?;
    check_waves(&there, &parts)?;
    check_reports(&there, &parts)?;
    drop(there);
    let mut meter = meter(progress, parts.values().flatten().map(|(database, _)| &database.folder));
    parts.into_iter().map(|(digest, parts)| merge_task(into, digest, &parts, allow_loss, &mut meter)).collect()
}

/// Reads the tasks of a folder, but for their reports.
fn read_parts(root: &Path, parts: &mut Parts) -> Result<(), StoreError> {
    for digest in task_folders(root)? {
        parts.entry(digest).or_default().push(Database::read(&task_folder(root, digest), digest)?);
    }
    Ok(())
}

/// Refuses two second waves of one task.
fn check_waves(there: &Parts, parts: &Parts) -> Result<(), StoreError> {
    let mut waves = BTreeMap::new();
    for (database, content) in there.values().chain(parts.values()).flatten() {
        let first = content.row.task.campaign();
        let Some(found) = content.row.second_wave() else { continue };
        let expected = *waves.entry(first).or_insert(found);
        if expected != found {
            let problem = format!(
                "it has the second wave {found} of task {first}, and another folder has {expected}: merge the folders \
                    of one second wave only, since the reports of two cannot be put together"
            );
            return Err(StoreError::refused(&database.folder, problem));
        }
    }
    Ok(())
}

/// Refuses further reports for a first wave that is over in one of the folders: its second wave did not see them.
fn check_reports(there: &Parts, parts: &Parts) -> Result<(), StoreError> {
    for (digest, own) in parts {
        let all: Vec<_> = own.iter().chain(there.get(digest).into_iter().flatten()).collect();
        let erased: HashSet<ReportId> = all.iter().flat_map(|(_, content)| content.erased.iter().copied()).collect();
        for (over, fixed) in all.iter().filter(|(_, content)| content.row.settings.is_closed()) {
            for (database, content) in &all {
                let is_there = |id: &ReportId| fixed.ids.contains(*id) || erased.contains(id);
                let further = content.ids.iter().filter(|id| !is_there(id)).count();
                if further > 0 {
                    let problem = format!(
                        "it has {further} reports that are not in {}, where the first wave is over: its second wave \
                            does not know them; leave one of the two folders out, and merge the other into an empty \
                            one",
                        over.folder.display()
                    );
                    return Err(StoreError::refused(&database.folder, problem));
                }
            }
        }
    }
    Ok(())
}

fn merge_task(
    into: &Path,
    digest: TaskDigest,
    parts: &[(Database, Content)],
    allow_loss: bool,
    meter: &mut dyn FnMut(u64),
) -> Result<MergedTask, StoreError> {
    let folder = task_folder(into, digest);
    let TaskRow { task, settings: first, .. } = &parts[0].1.row;
    if !folder.exists() {
        make_task(into, task, &TaskSettings { closed: None, refined_by: None, ..first.clone() })?;
    }
    let (mut database, mut content) = Database::open(&folder, digest)?;
    // After the opening, which may set a damaged log aside.
    if parts.iter().any(|(_, content)| !content.erased.is_empty()) {
        check_set_aside(&folder)?;
    }
    database.complete_sum(&mut content)?;
    let Content { row, mut ids, erased: known, sum: mut total, .. } = content;
    let erased: HashSet<ReportId> = parts.iter().flat_map(|(_, content)| content.erased.iter().copied()).collect();
    let mut merged = MergedTask { task: digest.to_string(), added: 0, duplicates: 0, reports: 0, lost: 0 };
    let refused: HashSet<ReportId> = known.union(&erased).copied().collect();
    let mut settings = row.settings;
    let limit = settings.max_records.unwrap_or(MAX_RECORDS);
    database.change(|change| {
        change.erase(task, &erased, &mut total)?;
        change.refuse(erased.difference(&known), unix_time())?;
        for (source, Content { row: theirs, .. }) in parts {
            merged.lost += read_batches(source, theirs, allow_loss, &mut |mut batch| {
                meter(batch.bytes.len() as u64);
                batch.extract(|id| refused.contains(&id));
                merged.duplicates += batch.extract(|id| !ids.insert(id)).len() as u64;
                merged.added += batch.reports.len() as u64;
                sum(&mut total, task, &batch.reports);
                if total.records() > limit {
                    let problem =
                        format!("its quota of {} has no room for those of the other folders", plural(limit, "report"));
                    return Err(StoreError::database(&folder, problem).into());
                }
                Ok(in_file(&folder, || change.append(&batch.reports, &batch.frames()))?)
            })?;
            if theirs.settings.is_closed() && settings.refined_by.is_none() {
                settings = settings.with_wave_of(&theirs.settings);
            }
        }
        change.edit(|row| row.settings = settings)?;
        change.put_sum(&total)
    })?;
    database.empty_log()?;
    merged.reports = total.records();
    Ok(merged)
}
