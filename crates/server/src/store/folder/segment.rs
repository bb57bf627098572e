//! The segment being written: pages of reports, one per group, each durable before anything else happens.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::disk::{Disk, DiskFile};
use super::format::FORMAT;
use super::parquet::{FOOTER_END, FORMAT_NOTE, Footer, IDS_NOTE, MAGIC, MAX_METADATA, PageHeader, WRITER};
use super::rows::Sealed;
use super::sizes::Sizes;
use crate::store::{At, StoreError};
use ldp_pca::report::report_bytes;
use ldp_pca::task::Task;

/// The kind of a file in the folder of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SegmentFile {
    /// Being written, or left so by a crash.
    Open(u64),
    /// With its footer.
    Sealed(u64),
    /// A sealed one without reports that are being erased, before it takes the other's place (`erasure`).
    Erasing(u64),
    /// The rest of an incomplete file after a crash.
    Temporary,
    /// A file that could not be read and was set aside.
    Damaged,
}

impl SegmentFile {
    /// The number of a segment; 0 for other files.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Open(number) | Self::Sealed(number) | Self::Erasing(number) => number,
            Self::Temporary | Self::Damaged => 0,
        }
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        let (stem, extension) = name.rsplit_once('.')?;
        match extension {
            "tmp" => return Some(Self::Temporary),
            "damaged" => return Some(Self::Damaged),
            _ => {}
        }
        let number = stem.parse().ok().filter(|number| stem == format!("{number:08}"))?;
        match extension {
            "open" => Some(Self::Open(number)),
            "parquet" => Some(Self::Sealed(number)),
            "erasing" => Some(Self::Erasing(number)),
            _ => None,
        }
    }
}

/// The files in the folder of a task, segments first and in order.
pub(super) fn files_in(disk: &dyn Disk, folder: &Path) -> Result<Vec<(SegmentFile, PathBuf)>, StoreError> {
    let names = disk.list(folder).at("list", folder)?;
    let mut files: Vec<(SegmentFile, PathBuf)> =
        names.iter().filter_map(|name| Some((SegmentFile::of_name(name)?, folder.join(name)))).collect();
    files.sort_by_key(|(file, path)| match file {
        SegmentFile::Open(number) | SegmentFile::Sealed(number) | SegmentFile::Erasing(number) => {
            (*number, path.clone())
        }
        SegmentFile::Temporary | SegmentFile::Damaged => (u64::MAX, path.clone()),
    });
    Ok(files)
}

pub(super) fn open_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:08}.open"))
}

pub(super) fn sealed_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:08}.parquet"))
}

pub(super) fn erasing_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:08}.erasing"))
}

pub(super) fn temporary_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:08}.tmp"))
}

/// An unused name for a file that cannot be read.
pub(super) fn damaged_path(disk: &dyn Disk, folder: &Path, number: u64) -> io::Result<PathBuf> {
    let taken = disk.list(folder)?;
    let mut names = (0..).map(|copy| format!("{number:08}.{copy}.damaged"));
    Ok(folder.join(names.find(|name| !taken.contains(name)).unwrap_or_default()))
}

/// The reason why reports were not appended.
#[derive(Debug)]
pub(super) enum NotAppended {
    /// The file has none of the reports.
    Refused(io::Error),
    /// They may or may not be in the file. The segment must be abandoned.
    Unknown(io::Error),
}

impl From<NotAppended> for io::Error {
    fn from(error: NotAppended) -> Self {
        match error {
            NotAppended::Refused(error) | NotAppended::Unknown(error) => error,
        }
    }
}

/// A segment without its footer. Everything up to `length` is on disk.
pub(super) struct Segment {
    pub(super) number: u64,
    path: PathBuf,
    file: Box<dyn DiskFile>,
    pub(super) length: u64,
    pub(super) reports: u64,
    ids: IdsChecksum,
    sizes: Sizes,
    /// The end of the reserved space, which is zeros.
    room: u64,
    /// Whether the content beyond `length` is unknown. Then only the footer is still written to the file.
    doubtful: bool,
    /// Whether it has its final name.
    renamed: bool,
}

impl Segment {
    /// Creates the file, replacing one of this name.
    pub(super) fn create(disk: &dyn Disk, folder: &Path, number: u64, path: PathBuf, sizes: Sizes) -> io::Result<Self> {
        let mut file = disk.create(&path)?;
        file.write_at(&mut [IoSlice::new(MAGIC)], 0)?;
        file.sync()?;
        disk.sync_folder(folder)?;
        let (length, ids) = (MAGIC.len() as u64, IdsChecksum::default());
        Ok(Self { number, path, file, length, reports: 0, ids, sizes, room: 0, doubtful: false, renamed: false })
    }

    /// Continues a file that holds reports with `ids` in good pages up to `length`. The bytes after them are cut off,
    /// and the pages are synced, because a killed process may have left them only in the system's memory.
    pub(super) fn resume(
        disk: &dyn Disk,
        path: PathBuf,
        number: u64,
        length: u64,
        ids: IdsChecksum,
        sizes: Sizes,
    ) -> io::Result<Self> {
        let mut file = disk.open(&path)?;
        // A crash while the file was created may have left it empty.
        if length == MAGIC.len() as u64 {
            file.write_at(&mut [IoSlice::new(MAGIC)], 0)?;
        }
        let reports = ids.count;
        let (room, doubtful, renamed) = (0, false, false);
        let mut segment = Self { number, path, file, length, reports, ids, sizes, room, doubtful, renamed };
        segment.cut()?;
        Ok(segment)
    }

    /// Appends whole reports, given in runs. After `Ok` they are on disk. A failed write is undone. A failed sync
    /// cannot be: the system may have dropped the data that it could not write, and the next sync would not report it.
    pub(super) fn append(&mut self, runs: &[&[u8]], report_bytes: usize) -> Result<(), NotAppended> {
        self.reserve(runs);
        let length: usize = runs.iter().map(|run| run.len()).sum();
        let written = if length < runs.len().saturating_mul(self.sizes.worth_a_part) {
            self.write(&[&runs.concat()], report_bytes)
        } else {
            self.write(runs, report_bytes)
        };
        let outcome = match written {
            Ok(end) => self.file.sync().map(|()| end).map_err(NotAppended::Unknown),
            Err(error) if self.cut().is_ok() => Err(NotAppended::Refused(error)),
            Err(error) => Err(NotAppended::Unknown(error)),
        };
        self.doubtful = matches!(outcome, Err(NotAppended::Unknown(_)));
        self.length = outcome?;
        self.reports += (length / report_bytes) as u64;
        self.ids.add(runs, report_bytes);
        Ok(())
    }

    /// Reserves space before it is needed. If there is none, the write will fail.
    fn reserve(&mut self, runs: &[&[u8]]) {
        let needed = self.length + runs.iter().map(|run| run.len() as u64).sum::<u64>() + (1 << 10);
        if needed > self.room {
            let room = needed + needed.clamp(self.sizes.least_room, self.sizes.most_room);
            // A failed reservation is not repeated with every write.
            let _ = self.file.reserve(room);
            self.room = room;
        }
    }

    /// Releases unused space, when nothing more is written.
    pub(super) fn trim(&mut self) {
        if self.room > 0 {
            // Otherwise the next start does it.
            let _ = self.cut();
        }
    }

    /// Writes runs as pages of at most the page's size, unless a report is longer than that. Returns their end.
    fn write(&mut self, runs: &[&[u8]], report_bytes: usize) -> io::Result<u64> {
        let page_bytes = (self.sizes.page / report_bytes).max(1) * report_bytes;
        let mut end = self.length;
        let mut runs = runs.iter().copied();
        let mut rest: &[u8] = &[];
        loop {
            let mut page: Vec<&[u8]> = Vec::new();
            let mut room = page_bytes;
            while room > 0 {
                if rest.is_empty() {
                    let Some(run) = runs.next() else { break };
                    rest = run;
                }
                let (part, after) = rest.split_at(rest.len().min(room));
                page.push(part);
                (rest, room) = (after, room - part.len());
            }
            if page.is_empty() {
                return Ok(end);
            }
            let mut checksum = crc32fast::Hasher::new();
            page.iter().for_each(|part| checksum.update(part));
            let bytes = page_bytes - room;
            let reports = (bytes / report_bytes) as u32;
            let header = PageHeader { reports, bytes: bytes as u32, checksum: checksum.finalize() }.to_bytes();
            let mut parts: Vec<IoSlice<'_>> = [&header[..]].into_iter().chain(page).map(IoSlice::new).collect();
            self.file.write_at(&mut parts, end)?;
            end += (header.len() + bytes) as u64;
        }
    }

    /// Cuts off the bytes beyond the good length.
    fn cut(&mut self) -> io::Result<()> {
        self.file.set_length(self.length)?;
        self.file.sync()?;
        (self.doubtful, self.room) = (false, 0);
        Ok(())
    }

    /// Renames the file, replacing one of that name.
    pub(super) fn rename(&mut self, disk: &dyn Disk, folder: &Path, path: PathBuf) -> io::Result<()> {
        disk.rename(&self.path, &path)?;
        self.path = path;
        disk.sync_folder(folder)
    }

    /// Writes the footer and gives the file its final name. After an error it can be retried, in this process or the
    /// next.
    pub(super) fn seal(&mut self, disk: &dyn Disk, folder: &Path, task: &Task) -> io::Result<Sealed> {
        if !self.renamed {
            self.finish(task)?;
            disk.rename(&self.path, &sealed_path(folder, self.number))?;
            self.renamed = true;
        }
        disk.sync_folder(folder)?;
        Ok(self.sealed(task).0)
    }

    /// Writes the footer.
    pub(super) fn finish(&mut self, task: &Task) -> io::Result<Sealed> {
        // Otherwise a crash would leave pages after the footer.
        if self.doubtful {
            self.cut()?;
        }
        let (sealed, footer) = self.sealed(task);
        self.file.write_at(&mut [IoSlice::new(&footer)], self.length)?;
        self.file.set_length(sealed.bytes)?;
        self.file.sync()?;
        Ok(sealed)
    }

    /// The file with its footer, and the footer.
    fn sealed(&self, task: &Task) -> (Sealed, Vec<u8>) {
        let footer = footer(task, self.number, &self.ids, self.length).to_bytes();
        (Sealed { bytes: self.length + footer.len() as u64, footer: crc32fast::hash(&footer) }, footer)
    }
}

/// The ids of all reports of a file, in their order.
#[derive(Clone, Default)]
pub(super) struct IdsChecksum {
    pub(super) count: u64,
    hasher: crc32fast::Hasher,
}

impl IdsChecksum {
    /// Adds the ids of whole reports, given in runs.
    pub(super) fn add(&mut self, runs: &[&[u8]], report_bytes: usize) {
        let bytes: usize = runs.iter().map(|run| run.len()).sum();
        let mut ids = Vec::with_capacity(bytes / report_bytes * ID.len());
        for report in runs.iter().flat_map(|run| run.chunks_exact(report_bytes)) {
            ids.extend_from_slice(report.get(ID).unwrap_or_default());
        }
        self.hasher.update(&ids);
        self.count += ids.len() as u64 / 16;
    }
}

/// The place of the id in a report.
const ID: Range<usize> = 13..29;

/// The length and the footer of a sealed file.
pub(super) fn sealed_as(disk: &dyn Disk, path: &Path) -> io::Result<Sealed> {
    let (bytes, footer) = read_footer(disk, path)?;
    Ok(Sealed { bytes, footer: crc32fast::hash(&footer) })
}

/// The length of a sealed file, and the bytes of its footer: empty if the file does not end with one.
pub(super) fn read_footer(disk: &dyn Disk, path: &Path) -> io::Result<(u64, Vec<u8>)> {
    let mut file = disk.open(path)?;
    let length = file.length()?;
    let mut size = [0; 4];
    file.read_at(&mut size, length.saturating_sub(FOOTER_END as u64))?;
    let footer_bytes = u64::from(u32::from_le_bytes(size)) + FOOTER_END as u64;
    let footer_bytes = footer_bytes.min((MAX_METADATA + FOOTER_END) as u64).min(length);
    let mut footer = vec![0; footer_bytes as usize];
    let filled = file.read_at(&mut footer, length - footer_bytes)?;
    footer.truncate(filled);
    Ok((length, footer))
}

/// The footer of a segment with reports of these ids, whose pages end at `end`.
pub(super) fn footer(task: &Task, number: u64, ids: &IdsChecksum, end: u64) -> Footer {
    let notes = [
        (FORMAT_NOTE, FORMAT.to_owned()),
        ("ldp-pca.task.digest", task.digest().to_string()),
        ("ldp-pca.segment", number.to_string()),
        (IDS_NOTE, format!("{:08x}", ids.hasher.clone().finalize())),
        ("ldp-pca.task", task.to_json()),
    ];
    Footer {
        reports: ids.count,
        report_bytes: report_bytes(task) as u32,
        page_bytes: end - MAGIC.len() as u64,
        notes: notes.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        writer: format!("{WRITER}{}", env!("CARGO_PKG_VERSION")),
    }
}
