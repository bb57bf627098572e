//! Reads a segment, whole or hurt: page by page, and around damage report by report.

use std::io;

use super::parquet::{FOOTER_END, Footer, MAGIC, MAX_METADATA, MAX_PAGE_HEADER, PageHeader};
use crate::report::{Report, ReportError, report_bytes};
use crate::task::Task;

/// Reads from an offset on until the buffer is full or the segment ends; returns how much that is.
pub(super) type ReadAt<'a> = &'a mut dyn FnMut(&mut [u8], u64) -> io::Result<usize>;

/// What a segment holds beside its good reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scanned {
    /// Good reports.
    pub(super) reports: u64,
    /// The end of the last page that is as it was written.
    pub(super) good_end: u64,
    /// Reports lost in damage that has good pages behind it, or as many as would have had room in it.
    pub(super) lost: u64,
    /// Damaged stretches that have good pages behind them.
    pub(super) holes: u64,
    /// Where the first of these begins.
    pub(super) first_hole: Option<u64>,
    /// Where damage begins that has no good page behind it.
    pub(super) hurt_end: Option<u64>,
    /// Good reports behind `good_end`, in damage at the end.
    pub(super) stranded: u64,
    /// Bytes behind `good_end` that are neither stranded reports, nor a footer, nor unused room.
    pub(super) torn: u64,
    /// The footer, when it follows the last good page.
    pub(super) footer: Option<Footer>,
}

impl Scanned {
    /// Whether all reports are in good pages, one after the other.
    pub(super) fn is_whole(&self) -> bool {
        self.holes == 0 && self.stranded == 0
    }
}

/// Why a segment is not read.
#[derive(Debug)]
pub(super) enum ScanError {
    /// The system, or whoever takes the reports.
    Io(io::Error),
    /// A whole report that is not one of the task.
    Foreign { offset: u64, source: ReportError },
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reports that were read together, and their bytes.
pub(super) struct Found<'a> {
    pub(super) reports: &'a mut Vec<Report>,
    pub(super) bytes: &'a [u8],
}

/// Reads a segment of `length` bytes and hands its good reports to `each`, a page at a time and in order.
///
/// Where a page is damaged, the reports in it that carry the right checksum are good ones, and reading goes on at the
/// next page. A write that did not come to its end is passed over, unless it begins before `known_end`: all that is
/// before that was whole once. A report that is whole and yet not one of the task is an error: nothing is passed over that another
/// release might read.
///
/// So many bytes are `searched` at a time, at least one.
pub(super) fn scan(
    read: ReadAt<'_>,
    length: u64,
    known_end: u64,
    task: &Task,
    searched: usize,
    each: &mut dyn FnMut(Found<'_>) -> io::Result<()>,
) -> Result<Scanned, ScanError> {
    let report_bytes = report_bytes(task);
    let (reports, scanned) = (Vec::new(), Scanned::default());
    let mut scan = Scan { read, task, report_bytes, searched, known_end, each, reports, scanned };
    let footer = scan.footer(length)?;
    let end = footer.as_ref().map_or(length, |(start, _)| *start);
    scan.pages(length, end)?;
    // A footer in the middle of a torn page is a payload that looks like one.
    if let Some((start, footer)) = footer
        && scan.scanned.good_end == start
    {
        (scan.scanned.footer, scan.scanned.torn) = (Some(footer), 0);
    }
    Ok(scan.scanned)
}

struct Scan<'a> {
    read: ReadAt<'a>,
    task: &'a Task,
    report_bytes: usize,
    searched: usize,
    known_end: u64,
    each: &'a mut dyn FnMut(Found<'_>) -> io::Result<()>,
    reports: Vec<Report>,
    scanned: Scanned,
}

/// What stands where a page should.
enum Page {
    /// A page as it was written; it ends here.
    Good { end: u64 },
    /// A page with its header, whose content is not what it was; it ends here.
    Damaged { header_end: u64, end: u64 },
    /// The beginning of a page that is not there to its end.
    Cut,
    /// No page header.
    Nothing,
}

impl Scan<'_> {
    /// All pages up to `end`; the file itself goes on to `length`.
    fn pages(&mut self, length: u64, end: u64) -> Result<(), ScanError> {
        let mut offset = MAGIC.len() as u64;
        self.scanned.good_end = offset;
        if length < offset {
            self.scanned.torn = length;
            return Ok(());
        }
        // Damage that is a hole if a good page follows: how many reports it saved and lost.
        // Nothing stands in unused room. A page may end with zeros, so they count where one is read.
        let used = self.last_byte(offset, end)?;
        let mut hurt = (self.bytes(0, MAGIC.len())? != MAGIC).then_some(0);
        let (mut saved, mut lost) = (0, 0);
        while offset < used {
            let unfinished = offset >= self.known_end;
            match self.page(offset, end)? {
                // A write that did not come to its end, in room that was taken before. Only a checksum may be zeros by
                // itself.
                Page::Damaged { end: next, .. } if unfinished && next > used + 4 => break,
                Page::Good { end: next } => {
                    self.scanned.holes += u64::from(hurt.is_some());
                    self.scanned.first_hole = self.scanned.first_hole.or(hurt);
                    self.scanned.lost += lost;
                    self.scanned.stranded = 0;
                    (saved, lost, hurt) = (0, 0, None);
                    self.scanned.good_end = next;
                    offset = next;
                }
                Page::Damaged { header_end, end: next } => {
                    let frames = (next - header_end) / self.report_bytes as u64;
                    let (good, first_bad) = self.salvage_frames(header_end, next)?;
                    (saved, lost, hurt) = (saved + good, lost + frames - good, hurt.or(first_bad).or(Some(offset)));
                    offset = next;
                }
                // A write that did not come to its end is the last one.
                Page::Cut if unfinished => break,
                Page::Cut | Page::Nothing => {
                    let Some(next) = self.next_page(offset + 1, end)? else {
                        self.scanned.stranded =
                            saved + self.salvage_anywhere(offset, end.min(used + self.report_bytes as u64))?;
                        break;
                    };
                    let good = self.salvage_anywhere(offset, next)?;
                    let room = (next - offset) / self.report_bytes as u64;
                    (saved, lost, hurt) = (saved + good, lost + room.saturating_sub(good), hurt.or(Some(offset)));
                    offset = next;
                }
            }
            self.scanned.stranded = saved;
        }
        self.scanned.hurt_end = hurt;
        let behind = self.last_byte(self.scanned.good_end, length)? - self.scanned.good_end;
        self.scanned.torn = behind.saturating_sub(self.scanned.stranded * self.report_bytes as u64);
        Ok(())
    }

    /// Where the zeros begin that go on to `end`: room that was taken and not used.
    fn last_byte(&mut self, start: u64, mut end: u64) -> Result<u64, ScanError> {
        while end > start {
            let from = end.saturating_sub(self.searched as u64).max(start);
            let part = self.bytes(from, (end - from) as usize)?;
            if let Some(last) = part.iter().rposition(|byte| *byte != 0) {
                return Ok(from + last as u64 + 1);
            }
            end = from;
        }
        Ok(start)
    }

    /// Reads the page at `offset`, and hands on its reports if it is good.
    fn page(&mut self, offset: u64, end: u64) -> Result<Page, ScanError> {
        let head = self.bytes(offset, MAX_PAGE_HEADER.min((end - offset) as usize))?;
        let Some((header, header_bytes)) = PageHeader::read(&head, self.report_bytes) else { return Ok(Page::Nothing) };
        let header_end = offset + header_bytes as u64;
        let next = header_end + u64::from(header.bytes);
        if next > end {
            return Ok(Page::Cut);
        }
        let content = self.bytes(header_end, header.bytes as usize)?;
        if content.len() < header.bytes as usize || crc32fast::hash(&content) != header.checksum {
            return Ok(Page::Damaged { header_end, end: next });
        }
        for (index, frame) in content.chunks(self.report_bytes).enumerate() {
            let place = header_end + (index * self.report_bytes) as u64;
            let report =
                Report::from_bytes(frame, self.task).map_err(|source| ScanError::Foreign { offset: place, source })?;
            self.reports.push(report);
        }
        self.hand_on(&content)?;
        Ok(Page::Good { end: next })
    }

    /// The good reports of a page whose content was damaged: their places are known. Also where the first bad one is.
    fn salvage_frames(&mut self, start: u64, end: u64) -> Result<(u64, Option<u64>), ScanError> {
        let content = self.bytes(start, (end - start) as usize)?;
        let mut first_bad = None;
        let mut good = Vec::with_capacity(content.len());
        for (index, frame) in content.chunks(self.report_bytes).enumerate() {
            match Report::from_bytes(frame, self.task) {
                Ok(report) => {
                    self.reports.push(report);
                    good.extend_from_slice(frame);
                }
                Err(source) if frame.len() == self.report_bytes && checksum_fits(frame) => {
                    let offset = start + (index * self.report_bytes) as u64;
                    return Err(ScanError::Foreign { offset, source });
                }
                Err(_) => first_bad = first_bad.or(Some(start + (index * self.report_bytes) as u64)),
            }
        }
        Ok((self.hand_on(&good)?, first_bad))
    }

    /// The good reports in a stretch without a page header, wherever they are.
    fn salvage_anywhere(&mut self, start: u64, end: u64) -> Result<u64, ScanError> {
        let mut offset = start;
        let mut good = Vec::new();
        while offset < end {
            let window = self.bytes(offset, (self.searched + self.report_bytes).min((end - offset) as usize))?;
            let mut position = 0;
            while let Some(frame) = window.get(position..position + self.report_bytes) {
                match frame.starts_with(b"LDPR").then(|| Report::from_bytes(frame, self.task)) {
                    Some(Ok(report)) => {
                        self.reports.push(report);
                        good.extend_from_slice(frame);
                        position += self.report_bytes;
                    }
                    _ => position += 1,
                }
            }
            if position == 0 {
                break;
            }
            offset += position as u64;
        }
        self.hand_on(&good)
    }

    fn hand_on(&mut self, bytes: &[u8]) -> Result<u64, ScanError> {
        let count = self.reports.len() as u64;
        self.scanned.reports += count;
        if count > 0 {
            (self.each)(Found { reports: &mut self.reports, bytes })?;
        }
        self.reports.clear();
        Ok(count)
    }

    /// The start of the next good page, if there is one before `end`.
    ///
    /// Payloads may look like headers. Following them all could take very long, so the search gives up when it has
    /// followed too many.
    fn next_page(&mut self, start: u64, end: u64) -> Result<Option<u64>, ScanError> {
        let mut offset = start;
        let mut patience = 4 * (end - start) + self.searched as u64;
        while offset < end {
            let window = self.bytes(offset, (self.searched + MAX_PAGE_HEADER).min((end - offset) as usize))?;
            for position in 0..window.len().min(self.searched) {
                // The type of the page, and the type of the next field.
                if !window[position..].starts_with(&[0x15, 0x00, 0x15]) {
                    continue;
                }
                let head = &window[position..window.len().min(position + MAX_PAGE_HEADER)];
                let Some((header, header_bytes)) = PageHeader::read(head, self.report_bytes) else { continue };
                let content_start = offset + (position + header_bytes) as u64;
                if content_start + u64::from(header.bytes) > end {
                    continue;
                }
                let Some(left) = patience.checked_sub(header.bytes.into()) else { return Ok(None) };
                patience = left;
                let content = self.bytes(content_start, header.bytes as usize)?;
                if crc32fast::hash(&content) == header.checksum {
                    return Ok(Some(offset + position as u64));
                }
            }
            offset += self.searched as u64;
        }
        Ok(None)
    }

    /// Where the footer starts, and what it says, if the segment ends like one that has a footer.
    fn footer(&mut self, length: u64) -> Result<Option<(u64, Footer)>, ScanError> {
        let Some(metadata_end) = length.checked_sub(FOOTER_END as u64) else { return Ok(None) };
        let end = self.bytes(metadata_end, FOOTER_END)?;
        let Some((size, magic)) = end.split_first_chunk::<4>() else { return Ok(None) };
        let size = u32::from_le_bytes(*size) as usize;
        if magic != MAGIC || size > MAX_METADATA {
            return Ok(None);
        }
        let Some(start) = metadata_end.checked_sub(size as u64) else { return Ok(None) };
        let metadata = self.bytes(start, size)?;
        Ok(Footer::read(&metadata).map(|footer| (start, footer)))
    }

    /// `count` bytes from `offset` on, or as many as there are.
    fn bytes(&mut self, offset: u64, count: usize) -> Result<Vec<u8>, ScanError> {
        let mut bytes = vec![0; count];
        let filled = (self.read)(&mut bytes, offset)?;
        bytes.truncate(filled);
        Ok(bytes)
    }
}

/// Whether a frame is as it was written, whatever it says.
fn checksum_fits(frame: &[u8]) -> bool {
    frame.split_last_chunk::<4>().is_some_and(|(content, checksum)| crc32fast::hash(content).to_le_bytes() == *checksum)
}
