//! Reads a segment, whole or damaged: page by page, and around damage report by report.

use std::io;
use std::path::Path;

use super::parquet::{FOOTER_END, Footer, MAGIC, MAX_METADATA, MAX_PAGE_HEADER, PageHeader};
use crate::store::StoreError;
use ldp_pca::report::{Report, ReportError, report_bytes};
use ldp_pca::task::Task;

/// Reads from an offset until the buffer is full or the segment ends; returns the number of bytes.
pub(super) type ReadAt<'a> = &'a mut dyn FnMut(&mut [u8], u64) -> io::Result<usize>;

/// The contents of a segment besides its good reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scanned {
    /// Good reports.
    pub(super) reports: u64,
    /// The end of the last intact page.
    pub(super) good_end: u64,
    /// Reports lost in damage that is followed by good pages, or as many as fit into it.
    pub(super) lost: u64,
    /// Damaged stretches that are followed by good pages.
    pub(super) holes: u64,
    /// The start of the first of these.
    pub(super) first_hole: Option<u64>,
    /// The start of damage that is not followed by a good page.
    pub(super) hurt_end: Option<u64>,
    /// Good reports after `good_end`, in damage at the end.
    pub(super) stranded: u64,
    /// Bytes after `good_end` that are neither stranded reports, nor a footer, nor unused space.
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

/// Reasons why a segment is not read.
#[derive(Debug)]
pub(super) enum ScanError {
    /// An error of the system, or of the receiver of the reports.
    Io(io::Error),
    /// A whole report that is not one of the task.
    Foreign { offset: u64, source: ReportError },
}

impl ScanError {
    /// The error for the segment in this file.
    pub(super) fn at(self, path: &Path) -> StoreError {
        match self {
            Self::Io(error) => StoreError::io("read", path, error),
            Self::Foreign { offset, source } => StoreError::ForeignReport { path: path.to_owned(), offset, source },
        }
    }
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

/// Reads a segment of `length` bytes and passes its good reports to `each`, a page at a time and in order.
///
/// In a damaged page the reports with the right checksum are good, and reading continues at the next page. An
/// incomplete write is skipped, unless it starts before `known_end`: everything before that was once whole. A whole
/// report that is not one of the task is an error: nothing is skipped that another release might read.
///
/// `searched` bytes are searched at a time, at least one.
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

/// The content at the place of a page.
enum Page {
    /// An intact page; it ends here.
    Good { end: u64 },
    /// A page with its header, but changed content; it ends here.
    Damaged { header_end: u64, end: u64 },
    /// The start of a page whose end is missing.
    Cut,
    /// No page header.
    Nothing,
}

impl Scan<'_> {
    /// All pages up to `end`; the file itself continues to `length`.
    fn pages(&mut self, length: u64, end: u64) -> Result<(), ScanError> {
        let mut offset = MAGIC.len() as u64;
        self.scanned.good_end = offset;
        if length < offset {
            self.scanned.torn = length;
            return Ok(());
        }
        // Damage that is a hole if a good page follows: the reports saved and lost.
        // Unused space is empty. A page may end with zeros, so they count where one is read.
        let used = self.last_byte(offset, end)?;
        let mut hurt = (self.bytes(0, MAGIC.len())? != MAGIC).then_some(0);
        let (mut saved, mut lost) = (0, 0);
        while offset < used {
            let unfinished = offset >= self.known_end;
            match self.page(offset, end)? {
                // An incomplete write, in space reserved before. Only a checksum may be zeros by itself.
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
                // An incomplete write is the last one.
                Page::Cut if unfinished => break,
                Page::Cut | Page::Nothing => {
                    let Some(next) = self.next_page(offset + 1, end)? else {
                        self.scanned.stranded =
                            saved + self.salvage_anywhere(offset, end.min(used + self.report_bytes as u64))?;
                        break;
                    };
                    let good = self.salvage_anywhere(offset, next)?;
                    let room = (next - offset) / self.report_bytes as u64;
                    // Saved reports are not stranded: a good page is next.
                    (lost, hurt) = (lost + room.saturating_sub(good), hurt.or(Some(offset)));
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

    /// The start of the zeros that continue to `end`: space that was reserved and not used.
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

    /// Reads the page at `offset`, and passes its reports on if it is good.
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

    /// The good reports of a page whose content was damaged: their places are known. Also the place of the first bad
    /// one.
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

    /// The good reports in a stretch without a page header, at any place.
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
    /// Payloads may look like headers. Following all of them could take very long, so the search gives up after too
    /// many.
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

    /// The start of the footer, and its content, if the segment ends like one with a footer.
    fn footer(&mut self, length: u64) -> Result<Option<(u64, Footer)>, ScanError> {
        let Some(metadata_end) = length.checked_sub(FOOTER_END as u64) else { return Ok(None) };
        let end = self.bytes(metadata_end, FOOTER_END)?;
        let Some((size, magic)) = end.split_first_chunk::<4>() else { return Ok(None) };
        let size = u32::from_le_bytes(*size) as usize;
        if magic != MAGIC || size > MAX_METADATA {
            return Ok(None);
        }
        let Some(start) = metadata_end.checked_sub(size as u64) else { return Ok(None) };
        Ok(Footer::read(&self.bytes(start, size)?).map(|footer| (start, footer)))
    }

    /// `count` bytes from `offset`, or as many as there are.
    fn bytes(&mut self, offset: u64, count: usize) -> Result<Vec<u8>, ScanError> {
        let mut bytes = vec![0; count];
        let filled = (self.read)(&mut bytes, offset)?;
        bytes.truncate(filled);
        Ok(bytes)
    }
}

/// Whether a frame is intact, with any content.
fn checksum_fits(frame: &[u8]) -> bool {
    frame.split_last_chunk::<4>().is_some_and(|(content, checksum)| crc32fast::hash(content).to_le_bytes() == *checksum)
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    use super::super::maintenance::tests::compact;
    use super::super::segment::{IdsChecksum, footer};
    use super::super::tests::model;
    use super::*;

    /// The bytes of a report of this task.
    const EACH: usize = 35;

    /// The bytes searched at a time.
    const SEARCHED: [usize; 5] = [1, 7, EACH, MAX_PAGE_HEADER, 1 << 20];

    /// Reports whose last bytes are not zero.
    fn reports() -> Vec<Report> {
        let mut all = model::reports(&compact(), &mut ChaCha8Rng::seed_from_u64(1), 200);
        all.retain(|report| !report.to_bytes()[EACH - 2..].contains(&0));
        all.truncate(40);
        assert_eq!(all.len(), 40);
        all
    }

    fn page(frames: &[u8], checksum: u32) -> Vec<u8> {
        let header = PageHeader { reports: (frames.len() / EACH) as u32, bytes: frames.len() as u32, checksum };
        [&header.to_bytes(), frames].concat()
    }

    fn good_page(reports: &[Report]) -> Vec<u8> {
        let frames: Vec<u8> = reports.iter().flat_map(Report::to_bytes).collect();
        page(&frames, crc32fast::hash(&frames))
    }

    /// A segment with pages of this many reports each.
    struct Made {
        reports: Vec<Report>,
        bytes: Vec<u8>,
        /// The start of each page, and the place of each report.
        pages: Vec<usize>,
        places: Vec<usize>,
    }

    impl Made {
        fn new(counts: &[usize]) -> Self {
            let mut made = Self { reports: Vec::new(), bytes: MAGIC.to_vec(), pages: Vec::new(), places: Vec::new() };
            let mut rest = reports().into_iter();
            for count in counts {
                let reports: Vec<Report> = rest.by_ref().take(*count).collect();
                made.pages.push(made.bytes.len());
                made.bytes.extend(good_page(&reports));
                made.places.extend((1..=*count).rev().map(|behind| made.bytes.len() - behind * EACH));
                made.reports.extend(reports);
            }
            made
        }

        /// Changes a byte in the middle of each of these reports.
        fn hurt(mut self, reports: &[usize]) -> Self {
            reports.iter().for_each(|report| self.bytes[self.places[*report] + 20] ^= 1);
            self
        }

        /// Leaves nothing of the header of a page.
        fn behead(mut self, page: usize) -> Self {
            let first = self.places.iter().find(|place| **place > self.pages[page]).unwrap();
            self.bytes[self.pages[page]..*first].fill(0xff);
            self
        }

        fn length(&self) -> u64 {
            self.bytes.len() as u64
        }

        /// Checks what a scan finds, and that all reports except these are passed on.
        fn assert_found(&self, known_end: u64, lost: &[usize], expected: &Scanned) {
            let kept: Vec<&Report> = self
                .reports
                .iter()
                .enumerate()
                .filter(|(index, _)| !lost.contains(index))
                .map(|(_, kept)| kept)
                .collect();
            for searched in SEARCHED {
                let (scanned, found) = scanned(&self.bytes, known_end, searched).unwrap();
                assert_eq!(scanned, *expected, "{searched} bytes at a time");
                assert_eq!(found.iter().collect::<Vec<_>>(), kept, "{searched} bytes at a time");
            }
        }
    }

    fn scanned(bytes: &[u8], known_end: u64, searched: usize) -> Result<(Scanned, Vec<Report>), ScanError> {
        scanned_as(bytes, bytes.len() as u64, known_end, searched)
    }

    /// The scan of a file with this stated length.
    fn scanned_as(
        bytes: &[u8],
        length: u64,
        known_end: u64,
        searched: usize,
    ) -> Result<(Scanned, Vec<Report>), ScanError> {
        let (task, mut found) = (compact(), Vec::new());
        let mut read = |buffer: &mut [u8], offset: u64| {
            let rest = bytes.get(offset as usize..).unwrap_or_default();
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        };
        let scanned = scan(&mut read, length, known_end, &task, searched, &mut |page| {
            assert_eq!(page.bytes, page.reports.iter().flat_map(Report::to_bytes).collect::<Vec<u8>>());
            found.append(page.reports);
            Ok(())
        });
        Ok((scanned?, found))
    }

    #[test]
    fn good_pages_are_whole_with_unused_room_behind_them_or_none() {
        for room in [0, 1, 4, 5, 100] {
            let mut made = Made::new(&[3, 1, 2]);
            let good_end = made.length();
            made.bytes.extend(vec![0; room]);
            for known_end in [0, good_end, u64::MAX] {
                made.assert_found(known_end, &[], &Scanned { reports: 6, good_end, ..Scanned::default() });
            }
        }
        assert!(Scanned::default().is_whole());
        assert!(!Scanned { holes: 1, ..Scanned::default() }.is_whole());
        assert!(!Scanned { stranded: 1, ..Scanned::default() }.is_whole());
    }

    #[test]
    fn a_file_that_was_hardly_begun_has_no_reports() {
        for length in 0..4 {
            let expected = Scanned { good_end: 4, torn: length as u64, ..Scanned::default() };
            assert_eq!(scanned(&MAGIC[..length], 0, 1).unwrap().0, expected);
        }
        assert_eq!(scanned(MAGIC, 0, 1).unwrap().0, Scanned { good_end: 4, ..Scanned::default() });
        let expected = Scanned { good_end: 4, hurt_end: Some(0), ..Scanned::default() };
        assert_eq!(scanned(&[0; 4], 0, 1).unwrap().0, expected);
        assert_eq!(scanned(&[0; 100], 0, 1).unwrap().0, expected);
    }

    #[test]
    fn damage_before_a_good_page_is_a_hole_with_what_is_lost_in_it() {
        let whole =
            |made: &Made| Scanned { reports: made.reports.len() as u64, good_end: made.length(), ..Scanned::default() };
        let hole = |made: &Made, holes, lost: u64, first_hole: usize| {
            let whole = whole(made);
            Scanned { holes, lost, first_hole: Some(first_hole as u64), reports: whole.reports - lost, ..whole }
        };
        let made = Made::new(&[3, 3, 2]).hurt(&[1]);
        made.assert_found(0, &[1], &hole(&made, 1, 1, made.places[1]));
        // Two pages together are one hole.
        let made = Made::new(&[3, 3, 2]).hurt(&[1, 3, 5]);
        made.assert_found(0, &[1, 3, 5], &hole(&made, 1, 3, made.places[1]));
        let made = Made::new(&[3, 2, 3, 1]).hurt(&[2, 5, 7]);
        made.assert_found(0, &[2, 5, 7], &hole(&made, 2, 3, made.places[2]));
        // The beginning of the file, and a checksum that is not that of the page.
        let mut made = Made::new(&[2]);
        made.bytes[1] ^= 1;
        made.assert_found(0, &[], &hole(&made, 1, 0, 0));
        let mut made = Made::new(&[2, 2]);
        let (frames, start) = (made.places[0]..made.pages[1], made.pages[0]);
        let other = page(&made.bytes[frames.clone()], crc32fast::hash(&made.bytes[frames.clone()]) ^ 1);
        made.bytes.splice(start..frames.end, other);
        made.assert_found(0, &[], &hole(&made, 1, 0, start));
        // A page without its header.
        let made = Made::new(&[2, 3, 1]).behead(1);
        made.assert_found(u64::MAX, &[], &hole(&made, 1, 0, made.pages[1]));
        let made = Made::new(&[2, 3, 1]).behead(1).hurt(&[3]);
        made.assert_found(0, &[3], &hole(&made, 1, 1, made.pages[1]));
        let made = Made::new(&[2, 3, 1]).hurt(&[0, 3, 4]).behead(1);
        made.assert_found(0, &[0, 3, 4], &hole(&made, 1, 3, made.places[0]));
    }

    #[test]
    fn good_reports_in_damage_at_the_end_are_stranded() {
        let stranded = |made: &Made, page: usize, stranded: u64, hurt_end: Option<usize>| {
            let good_end = made.pages[page] as u64;
            let reports = made.places.iter().filter(|place| **place < made.pages[page]).count() as u64 + stranded;
            let torn = made.length() - good_end - stranded * EACH as u64;
            let hurt_end = hurt_end.map(|place| place as u64);
            Scanned { reports, good_end, stranded, hurt_end, torn, ..Scanned::default() }
        };
        let made = Made::new(&[2, 3, 2]).hurt(&[3, 5]);
        made.assert_found(0, &[3, 5], &stranded(&made, 1, 3, Some(made.places[3])));
        let made = Made::new(&[2, 3]).behead(1);
        made.assert_found(0, &[], &stranded(&made, 1, 3, None));
        let made = Made::new(&[2, 3, 3]).hurt(&[2, 6]).behead(2);
        made.assert_found(0, &[2, 6], &stranded(&made, 1, 4, Some(made.places[2])));
        // Room that was not used makes no difference.
        let mut made = Made::new(&[2, 3, 3]).hurt(&[2, 6]).behead(2);
        let expected = stranded(&made, 1, 4, Some(made.places[2]));
        made.bytes.extend([0; 100]);
        made.assert_found(0, &[2, 6], &expected);
    }

    #[test]
    fn an_incomplete_write_is_skipped_where_nothing_was_known_to_be_whole() {
        let made = |zeros: usize, cut: usize| {
            let mut made = Made::new(&[2, 2]);
            let length = made.bytes.len();
            made.bytes[length - zeros..].fill(0);
            made.bytes[length - zeros - 1] |= 1;
            made.bytes.truncate(length - cut);
            made
        };
        let start = Made::new(&[2, 2]).pages[1] as u64;
        let page = Made::new(&[2, 2]).length() - start;
        let passed = |torn| Scanned { reports: 2, good_end: start, torn, ..Scanned::default() };
        let kept = |torn, hurt_end: Option<usize>| {
            let hurt_end = hurt_end.map(|place| place as u64);
            Scanned { reports: 3, good_end: start, stranded: 1, torn, hurt_end, ..Scanned::default() }
        };
        // In room that was taken before.
        let bad = Some(made(0, 0).places[3]);
        made(5, 0).assert_found(0, &[2, 3], &passed(page - 5));
        made(5, 0).assert_found(start, &[2, 3], &passed(page - 5));
        made(5, 0).assert_found(start + 1, &[3], &kept(page - 5 - EACH as u64, bad));
        // A checksum may be zeros.
        made(4, 0).assert_found(0, &[3], &kept(page - 4 - EACH as u64, bad));
        // The file ends in it.
        made(0, 1).assert_found(start, &[2, 3], &passed(page - 1));
        made(0, 1).assert_found(start + 1, &[3], &kept(page - 1 - EACH as u64, None));
    }

    #[test]
    fn a_whole_report_of_another_task_is_an_error_with_its_place() {
        let mut frames: Vec<u8> = reports()[..3].iter().flat_map(Report::to_bytes).collect();
        frames[EACH + 6] ^= 1;
        let checksum = crc32fast::hash(&frames[EACH..2 * EACH - 4]);
        frames[2 * EACH - 4..2 * EACH].copy_from_slice(&checksum.to_le_bytes());
        for wrong in [0, 1] {
            let page = page(&frames, crc32fast::hash(&frames) ^ wrong);
            let place = MAGIC.len() + page.len() - 2 * EACH;
            let found = scanned(&[&MAGIC[..], &page].concat(), 0, 1 << 20);
            assert!(matches!(found, Err(ScanError::Foreign { offset, .. }) if offset == place as u64), "{found:?}");
        }
    }

    /// After something that is not a page: a header that promises more than there is.
    #[test]
    fn a_page_is_found_behind_what_looks_like_a_longer_one() {
        for promised in [EACH, 100 * EACH, 1_000_000 * EACH] {
            let header = PageHeader { reports: (promised / EACH) as u32, bytes: promised as u32, checksum: 1 };
            let start = [&MAGIC[..], &[0xff], &header.to_bytes()].concat();
            let all = &reports()[..2];
            for behind in [&[][..], &[0; 10]] {
                let page = good_page(all);
                let bytes = [&start, &page[..], behind].concat();
                for searched in SEARCHED {
                    let (scanned, found) = scanned(&bytes, 0, searched).unwrap();
                    assert_eq!(
                        (found, scanned.holes, scanned.first_hole),
                        (all.to_vec(), 1, Some(4)),
                        "{promised} {searched}"
                    );
                    assert_eq!(scanned.good_end, (start.len() + page.len()) as u64);
                }
            }
        }
    }

    /// Headers of complete pages with changed content: each is read as a whole.
    #[test]
    fn a_search_that_follows_too_many_headers_gives_up_and_keeps_the_reports() {
        let (first, last) = (good_page(&reports()[..20]), good_page(&reports()[20..21]));
        let header = PageHeader { reports: 100, bytes: 100 * EACH as u32, checksum: 1 }.to_bytes();
        for (headers, searched, found) in
            [(3, 1, true), (3, 48, true), (5, 1, false), (5, 48, false), (5, 1 << 20, true)]
        {
            let garbage = [vec![0xff], header.repeat(headers), vec![0xee; 100 * EACH]].concat();
            let (good_end, end) = (MAGIC.len() + first.len(), MAGIC.len() + first.len() + garbage.len() + last.len());
            let (scanned, reports) = scanned(&[MAGIC, &first[..], &garbage, &last].concat(), 0, searched).unwrap();
            assert_eq!((reports.len(), scanned.holes), (21, u64::from(found)), "{headers} {searched}");
            assert_eq!(scanned.stranded, u64::from(!found), "{headers} {searched}");
            assert_eq!(scanned.good_end, if found { end } else { good_end } as u64);
        }
    }

    #[test]
    fn a_footer_is_one_behind_the_last_good_page_alone() {
        let sealed = |made: &Made| {
            let mut ids = IdsChecksum::default();
            made.reports.iter().for_each(|report| ids.add(&[&report.to_bytes()], EACH));
            footer(&compact(), 7, &ids, made.length())
        };
        let with_footer = |mut made: Made, footer: &[u8]| {
            made.bytes.extend_from_slice(footer);
            made
        };
        let made = Made::new(&[3, 2]);
        let (footer, good_end) = (sealed(&made), made.length());
        let bytes = footer.to_bytes();
        let whole = Scanned { reports: 5, good_end, footer: Some(footer.clone()), ..Scanned::default() };
        with_footer(Made::new(&[3, 2]), &bytes).assert_found(u64::MAX, &[], &whole);
        // A footer that differs from the written one counts as torn.
        let torn = Scanned { footer: None, torn: bytes.len() as u64, ..whole.clone() };
        for place in [0, 20, bytes.len() - 6, bytes.len() - 1] {
            let mut bad = bytes.clone();
            bad[place] ^= 0x10;
            let made = with_footer(Made::new(&[3, 2]), &bad);
            assert_eq!(scanned(&made.bytes, 0, 1 << 20).unwrap().0.footer, None, "byte {place}");
        }
        let mut bad = bytes.clone();
        *bad.last_mut().unwrap() = b'2';
        with_footer(Made::new(&[3, 2]), &bad).assert_found(0, &[], &Scanned { hurt_end: None, ..torn });
        // Behind damage it is none.
        let made = Made::new(&[3, 2]).hurt(&[4]);
        let (start, bad) = (made.pages[1] as u64, made.places[4] as u64);
        let behind = good_end - start - EACH as u64 + bytes.len() as u64;
        let expected = Scanned {
            reports: 4,
            good_end: start,
            stranded: 1,
            torn: behind,
            hurt_end: Some(bad),
            ..Scanned::default()
        };
        with_footer(made, &bytes).assert_found(u64::MAX, &[4], &expected);
    }

    /// The file may be cut while it is read.
    #[test]
    fn a_file_that_is_shorter_than_it_is_said_to_be_has_no_page_beyond_its_end() {
        let made = Made::new(&[2]);
        let frames = &made.bytes[made.places[0]..];
        // The checksum is that of the bytes that are left.
        let bytes = [&MAGIC[..], &page(frames, crc32fast::hash(&frames[..EACH]))].concat();
        let (scanned, found) = scanned_as(&bytes[..bytes.len() - EACH], bytes.len() as u64, u64::MAX, 1 << 20).unwrap();
        assert_eq!((found, scanned.good_end, scanned.stranded), (made.reports[..1].to_vec(), 4, 1));
    }
}
