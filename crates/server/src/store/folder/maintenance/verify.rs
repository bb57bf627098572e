//! `verify`: reads everything, changes nothing.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::Progress;
use super::read::{Folder, Meter};
use crate::store::folder::disk::{Disk, SystemDisk};
use crate::store::folder::erased::Erased;
use crate::store::folder::erasure::is_recorded;
use crate::store::folder::manifest::Manifest;
use crate::store::folder::place::Place;
use crate::store::folder::rows::{SegmentRow, TaskRow};
use crate::store::folder::segment::{IdsChecksum, SegmentFile, footer, sealed_as};
use crate::store::{Damage, StoreError, sum};
use ldp_pca::aggregate::Aggregate;
use ldp_pca::report::ReportId;
use ldp_pca::task::TaskDigest;

/// The result of [`verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Every task of the folder.
    pub tasks: Vec<VerifiedTask>,
    /// Problems of the folder besides its tasks.
    pub problems: Vec<String>,
}

/// The result of [`verify`] for one task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifiedTask {
    /// Its digest.
    pub task: String,
    /// Intact reports, each id once.
    pub reports: u64,
    /// Reports that were erased on request.
    pub erased: u64,
    /// Segments, including the one being written.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Problems: something that was acknowledged is lost, or the next start would refuse the folder.
    pub problems: Vec<String>,
    /// Notes that the next start takes care of.
    pub notes: Vec<String>,
}

impl Verified {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.problems.is_empty() && self.tasks.iter().all(|task| task.problems.is_empty())
    }
}

/// Reads every byte of a folder: all checksums, the manifest against the files, and its sum against the sum of the
/// reports.
///
/// # Errors
/// [`StoreError`] when the folder cannot be read: it does not exist, has another format, or a server has it open.
/// Problems in it are in the result.
pub fn verify(root: &Path, progress: Progress<'_>) -> Result<Verified, StoreError> {
    verify_on(Arc::new(SystemDisk), root, progress)
}

pub(in super::super) fn verify_on(
    disk: Arc<dyn Disk>,
    root: &Path,
    progress: Progress<'_>,
) -> Result<Verified, StoreError> {
    let folder = Folder::hold(disk, root)?;
    folder.check_format()?;
    let mut meter = Meter::new(progress, folder.bytes()?);
    let mut verified = Verified::default();
    verified.problems.extend(crate::secrets::problems(root));
    let opened = folder.manifest().and_then(|manifest| Ok((manifest.tasks()?, manifest)));
    let (rows, manifest) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            verified.problems.push(error.to_string());
            return Ok(verified);
        }
    };
    verified.problems.extend(manifest.doubt.clone());
    for digest in folder.task_folders()? {
        if !rows.iter().any(|row| row.digest == digest) && !folder.segments(digest)?.is_empty() {
            verified.problems.push(format!("task {digest} has reports and is not in {}", manifest.path.display()));
        }
    }
    for row in rows.iter().filter(|row| !row.is_deleted()) {
        verified.tasks.push(verify_task(&folder, &manifest, row, &mut meter));
    }
    Ok(verified)
}

fn verify_task(folder: &Folder, manifest: &Arc<Manifest>, row: &TaskRow, meter: &mut Meter<'_>) -> VerifiedTask {
    let mut found = VerifiedTask { task: row.digest.to_string(), ..VerifiedTask::default() };
    if let Err(error) = verify_files(folder, manifest, row.digest, meter, &mut found) {
        found.problems.push(error.to_string());
    }
    found
}

fn verify_files(
    folder: &Folder,
    manifest: &Arc<Manifest>,
    digest: TaskDigest,
    meter: &mut Meter<'_>,
    found: &mut VerifiedTask,
) -> Result<(), StoreError> {
    let place = folder.place(folder.read_task(digest)?, manifest, true)?;
    let mut numbers = Vec::new();
    let mut rows = manifest.segments(digest)?;
    let mut ids = HashSet::new();
    let mut sealed = Aggregate::empty(&place.task);
    let erased = Erased::read(&*folder.disk, &place.folder, digest)?;
    found.problems.extend(erased.problem());
    let files = folder.files(digest)?;
    let replaced: Vec<SegmentFile> = (files.iter())
        .filter(
            |(file, path)| matches!(file, SegmentFile::Erasing(number) if is_recorded(&place, &rows, *number, path)),
        )
        .map(|(file, _)| SegmentFile::Sealed(file.number()))
        .collect();
    for (file, path) in files {
        let name = path.file_name().unwrap_or_default().display().to_string();
        let (number, is_sealed) = match file {
            file if replaced.contains(&file) => continue,
            SegmentFile::Erasing(number) if replaced.contains(&SegmentFile::Sealed(number)) => {
                found.notes.push(format!("{name} takes the place of segment {number} at the next start"));
                (number, true)
            }
            SegmentFile::Erasing(_) => {
                found.notes.push(format!("{name} was left by a crash; the next start removes it"));
                continue;
            }
            SegmentFile::Sealed(number) => (number, true),
            SegmentFile::Open(number) => (number, false),
            SegmentFile::Damaged => {
                found.notes.push(format!("{name} was set aside, since it could not be read as a whole"));
                continue;
            }
            SegmentFile::Temporary => {
                found.notes.push(format!("{name} was left by a crash; the next start removes it"));
                continue;
            }
        };
        let row = rows.iter().position(|row| row.number == number).filter(|_| is_sealed).map(|row| rows.remove(row));
        found.segments += 1;
        found.bytes += folder.length(&path)?;
        numbers.push(number);
        let file = if is_sealed { SegmentFile::Sealed(number) } else { file };
        verify_segment(&place, (file, &path), row, &mut ids, &mut sealed, meter, found);
    }
    let pending = erased.ids().intersection(&ids).count() as u64;
    if pending > 0 {
        found.notes.push(format!("{pending} reports were being erased; the next start finishes it"));
    }
    found.reports = ids.len() as u64;
    found.erased = erased.ids().len() as u64;
    let seen = found.reports + found.erased - pending;
    let mut damage = Damage::default();
    place.told.count_losses(seen, &numbers, &place.folder, &mut damage);
    found.problems.extend(damage.places);
    let above = place.told.state().map_or(0, |state| seen.saturating_sub(state.records));
    if above > 0 {
        found.notes.push(format!("{above} of the reports are durable and were not known to be acknowledged"));
    }
    if place.told.is_torn() {
        found.notes.push("half of the file `acknowledged` cannot be read, as after a power cut".to_owned());
    }
    for row in rows {
        found.problems.push(format!("segment {} with {} reports is gone", row.number, row.reports));
    }
    if manifest.snapshot(&place.task)? != sealed {
        found.problems.push(format!("the sum in {} is not that of the sealed segments", manifest.path.display()));
    }
    Ok(())
}

/// Reads one segment. `sealed` sums those in the manifest.
fn verify_segment(
    place: &Place,
    (file, path): (SegmentFile, &Path),
    row: Option<SegmentRow>,
    ids: &mut HashSet<ReportId>,
    sealed: &mut Aggregate,
    meter: &mut Meter<'_>,
    found: &mut VerifiedTask,
) {
    let name = path.file_name().unwrap_or_default().display().to_string();
    let (mut new_ids, mut twice) = (Vec::new(), 0u64);
    let mut all_ids = IdsChecksum::default();
    let listed = row.is_some();
    let scanned = meter.scan(place, (file, path), &mut |page| {
        all_ids.add(&[page.bytes], place.report_bytes);
        let before = page.reports.len();
        page.reports.retain(|report| ids.insert(report.id()));
        twice += (before - page.reports.len()) as u64;
        new_ids.extend(page.reports.iter().flat_map(|report| *report.id().as_bytes()));
        if listed {
            sum(sealed, &place.task, page.reports);
        }
        Ok(())
    });
    let scanned = match scanned {
        Ok(scanned) => scanned,
        Err(error) => return found.problems.push(error.to_string()),
    };
    found.problems.extend(place.told.damage_in(file, path, &scanned));
    if twice > 0 {
        found.notes.push(format!("{name} has {twice} reports that occur earlier; they count once"));
    }
    let SegmentFile::Sealed(number) = file else {
        if !place.told.is_cut(file, &scanned) && (scanned.torn > 0 || scanned.stranded > 0) {
            let torn = scanned.torn;
            let note =
                format!("{name} ends with {torn} bytes that were never acknowledged; the next start cuts them off");
            found.notes.push(note);
        }
        return;
    };
    let expected = footer(&place.task, number, &all_ids, scanned.good_end);
    if scanned.footer.is_some_and(|footer| !footer.tells_the_same(expected)) {
        found.problems.push(format!("the footer of {name} is not that of its reports"));
    }
    let sealed_now = sealed_as(&*place.disk, path);
    if row.as_ref().is_some_and(|row| sealed_now.is_ok_and(|sealed_now| sealed_now != row.sealed)) {
        found.problems.push(format!("{name} does not end as it was sealed"));
    }
    match row {
        None => found.notes.push(format!("{name} is not in the manifest; the next start reads it")),
        Some(row) if row.ids != new_ids => {
            let problem = format!("{name} has {} reports that are not all in the manifest", new_ids.len() / 16);
            found.problems.push(problem);
        }
        Some(_) => {}
    }
}
