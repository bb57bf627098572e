//! `export`: the reports of a task in one file.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::Progress;
use super::read::{Folder, Meter};
use crate::store::StoreError;
use crate::store::folder::disk::SystemDisk;
use crate::store::folder::erased::Erased;
use crate::store::folder::parquet::{MAGIC, PageHeader};
use crate::store::folder::segment::{IdsChecksum, footer};
use ldp_pca::task::TaskDigest;

/// The form of the written reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One after the other, as in a file of reports.
    Plain,
    /// As one Parquet file.
    Parquet,
}

/// The result of [`export`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Reports, each id once.
    pub reports: u64,
    /// Damaged reports that were left out.
    pub lost: u64,
}

/// Writes all reports of a task, in their order of arrival.
///
/// # Errors
/// [`StoreError`] when the folder does not hold the task, a server has it open, or it cannot be read or written to
/// `output`.
pub fn export(
    root: &Path,
    task: TaskDigest,
    layout: Layout,
    output: &mut dyn Write,
    progress: Progress<'_>,
) -> Result<Exported, StoreError> {
    let folder = Folder::hold(Arc::new(SystemDisk), root)?;
    folder.check_format()?;
    let manifest = folder.manifest()?;
    let place = folder.place(folder.read_task(task)?, &manifest, true)?;
    let mut meter = Meter::new(progress, folder.bytes()?);
    // An erasure that was cut short is finished at the next start.
    let erased = Erased::read(&*folder.disk, &place.folder, task)?;
    let mut ids = erased.ids().clone();
    let mut checksum = IdsChecksum::default();
    let (mut end, mut lost) = (0, 0);
    let failed = |error| StoreError::io("write the reports of", &place.folder, error);
    if layout == Layout::Parquet {
        end += put(output, MAGIC).map_err(failed)?;
    }
    for (file, path) in folder.segments(task)? {
        let scanned = meter.scan(&place, (file, &path), &mut |page| {
            let mut bytes = Vec::with_capacity(page.bytes.len());
            for (report, frame) in page.reports.iter().zip(page.bytes.chunks(place.report_bytes)) {
                if ids.insert(report.id()) {
                    bytes.extend_from_slice(frame);
                }
            }
            if bytes.is_empty() {
                return Ok(());
            }
            checksum.add(&[&bytes], place.report_bytes);
            if layout == Layout::Parquet {
                let reports = (bytes.len() / place.report_bytes) as u32;
                let checksum = crc32fast::hash(&bytes);
                end += put(output, &PageHeader { reports, bytes: bytes.len() as u32, checksum }.to_bytes())?;
            }
            end += put(output, &bytes)?;
            Ok(())
        })?;
        lost += scanned.lost;
    }
    lost = lost.max(place.told.missing(ids.len() as u64));
    if layout == Layout::Parquet {
        put(output, &footer(&place.task, 0, &checksum, end).to_bytes()).map_err(failed)?;
    }
    Ok(Exported { reports: ids.len() as u64 - erased.ids().len() as u64, lost })
}

fn put(output: &mut dyn Write, bytes: &[u8]) -> io::Result<u64> {
    output.write_all(bytes)?;
    Ok(bytes.len() as u64)
}
