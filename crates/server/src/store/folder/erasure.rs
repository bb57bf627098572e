//! Removes single reports from the sealed segments of a task. Their ids are in `erased` before.
//!
//! Each segment with such a report is written again without it, under another name. One transaction puts the new files
//! and the sum without the reports into the manifest. Then the new files take the places of the old ones; if a crash
//! comes before that, the next start does it.

use std::collections::HashSet;
use std::path::Path;

use super::parquet::{FOOTER_END, Footer};
use super::place::Place;
use super::rows::SegmentRow;
use super::segment::{Segment, SegmentFile, erasing_path, files_in, read_footer, sealed_as, sealed_path};
use crate::store::{At, StoreError};
use ldp_pca::report::{Report, ReportId};

/// Puts the new rows and the sum without these reports, in which those with these ids are left, into the manifest.
pub(super) type Record<'a> = &'a mut dyn FnMut(&[SegmentRow], &[Report], Vec<ReportId>) -> Result<(), StoreError>;

/// Removes the reports with these ids, wherever they are in the sealed segments, and returns how many were counted.
pub(super) fn remove(place: &Place, ids: &HashSet<ReportId>, record: Record<'_>) -> Result<u64, StoreError> {
    let affected = place.manifest.segments_where(place.task.digest(), |row| holds(place, row, ids))?;
    let (mut rows, mut gone) = (Vec::with_capacity(affected.len()), Vec::new());
    for row in affected {
        rows.push(rewrite(place, &row, ids, &mut gone)?);
    }
    if rows.is_empty() {
        return Ok(0);
    }
    record(&rows, &gone, left(place, &rows)?)?;
    for row in &rows {
        take_place(place, row.number)?;
    }
    Ok(gone.len() as u64)
}

/// The ids of all reports once these rows replace the present ones of their segments.
fn left(place: &Place, rows: &[SegmentRow]) -> Result<Vec<ReportId>, StoreError> {
    let ids_of = |row: &SegmentRow| row.ids.as_chunks::<16>().0.iter().map(|id| ReportId::new(*id)).collect();
    let mut left: Vec<ReportId> = rows.iter().flat_map(|row| -> Vec<ReportId> { ids_of(row) }).collect();
    place.manifest.segments_where(place.task.digest(), |row| {
        if !rows.iter().any(|new| new.number == row.number) {
            left.extend::<Vec<ReportId>>(ids_of(row));
        }
        false
    })?;
    Ok(left)
}

/// Finishes or drops what a crash or an error left of a removal.
pub(super) fn settle(place: &Place) -> Result<(), StoreError> {
    let mut left = files_in(&*place.disk, &place.folder)?;
    left.retain(|(file, _)| matches!(file, SegmentFile::Erasing(_)));
    if left.is_empty() {
        return Ok(());
    }
    let is_left = |row: &SegmentRow| left.iter().any(|(file, _)| file.number() == row.number);
    let rows = place.manifest.segments_where(place.task.digest(), is_left)?;
    for (file, path) in &left {
        if is_recorded(place, &rows, file.number(), path) {
            take_place(place, file.number())?;
        } else {
            place.disk.remove(path).at("remove", path)?;
        }
    }
    Ok(())
}

/// Whether the manifest has this new file of a segment, and not the one that it replaces.
pub(super) fn is_recorded(place: &Place, rows: &[SegmentRow], number: u64, path: &Path) -> bool {
    let recorded = rows.iter().find(|row| row.number == number).map(|row| row.sealed);
    recorded.is_some() && sealed_as(&*place.disk, path).ok() == recorded
}

fn take_place(place: &Place, number: u64) -> Result<(), StoreError> {
    let (from, to) = (erasing_path(&place.folder, number), sealed_path(&place.folder, number));
    place.disk.rename(&from, &to).and_then(|()| place.disk.sync_folder(&place.folder)).at("replace", &to)
}

/// Whether a segment has one of these reports. A retry after a failed sync may have left a second copy of a report,
/// which is in the file but not among the ids.
fn holds(place: &Place, row: &SegmentRow, ids: &HashSet<ReportId>) -> bool {
    let counted = || row.ids.as_chunks::<16>().0.iter().any(|id| ids.contains(&ReportId::new(*id)));
    let copies = || {
        let (_, footer) = read_footer(&*place.disk, &sealed_path(&place.folder, row.number)).ok()?;
        let footer = Footer::read(footer.split_last_chunk::<FOOTER_END>()?.0)?;
        Some(footer.reports > row.reports)
    };
    counted() || copies().unwrap_or(false)
}

/// Writes a segment without these reports, and adds those that were counted to `gone`. Returns the new row.
fn rewrite(
    place: &Place,
    row: &SegmentRow,
    ids: &HashSet<ReportId>,
    gone: &mut Vec<Report>,
) -> Result<SegmentRow, StoreError> {
    let (number, path, new) =
        (row.number, sealed_path(&place.folder, row.number), erasing_path(&place.folder, row.number));
    let (counted, kept): (Vec<&[u8; 16]>, Vec<&[u8; 16]>) =
        row.ids.as_chunks::<16>().0.iter().partition(|id| ids.contains(&ReportId::new(**id)));
    let mut counted: HashSet<ReportId> = counted.into_iter().map(|id| ReportId::new(*id)).collect();
    let kept: Vec<u8> = kept.into_iter().flatten().copied().collect();
    let mut segment =
        Segment::create(&*place.disk, &place.folder, number, new.clone(), place.options.sizes).at("write", &new)?;
    let mut source = place.disk.open(&path).at("read", &path)?;
    let (each, mut page) = (place.report_bytes, Vec::new());
    place.scan(&mut *source, SegmentFile::Sealed(number), &path, &mut |found| {
        for (report, frame) in found.reports.drain(..).zip(found.bytes.chunks(each)) {
            if !ids.contains(&report.id()) {
                page.extend_from_slice(frame);
            } else if counted.remove(&report.id()) {
                // The first copy is the one that counts.
                gone.push(report);
            }
        }
        if page.len() >= place.options.sizes.page {
            segment.append(&[&page], each)?;
            page.clear();
        }
        Ok(())
    })?;
    if !page.is_empty() {
        segment.append(&[&page], each).map_err(std::io::Error::from).at("write", &new)?;
    }
    // Damage that the start did not find: an erasure must not make it look whole.
    if let Some(id) = counted.iter().next() {
        let problem = format!("lacks {} reports of the manifest, such as {id}", counted.len());
        return Err(StoreError::Segment { path, problem });
    }
    let sealed = segment.finish(&place.task).at("write", &new)?;
    Ok(SegmentRow { number, reports: kept.len() as u64 / 16, sealed, ids: kept })
}
