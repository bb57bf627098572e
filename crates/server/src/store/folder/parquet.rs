//! The parts of a Parquet file around the reports: page headers and the footer.
//!
//! ```text
//! "PAR1"
//! per page:  PageHeader (Thrift): data page v1, PLAIN, not compressed, with the CRC-32 of its content
//!            the reports, one after the other
//! FileMetaData (Thrift), its length in 4 bytes (little-endian), "PAR1"
//! ```
//!
//! One row group with one column, `report`: required fixed-length bytes, as long as the task's reports. Any Parquet
//! reader can read it (docs/store.md).
//!
//! The crate `parquet` writes a file from its start to its footer. A segment stays open instead: reports are appended
//! to it, and after a crash its whole pages count. Tests read the segments with that crate.

use super::thrift::{FieldType, Reader, Writer};

/// The first and the last bytes of a file.
pub(super) const MAGIC: &[u8; 4] = b"PAR1";

/// The most bytes of a page header.
pub(super) const MAX_PAGE_HEADER: usize = 48;

/// The bytes of a footer besides its metadata: their length, and the magic.
pub(super) const FOOTER_END: usize = 8;

/// The most bytes of a file's metadata: the largest task document, and room for the rest.
pub(super) const MAX_METADATA: usize = (16 << 20) + (64 << 10);

// Numbers of parquet.thrift.
const DATA_PAGE: i32 = 0;
const FIXED_LEN_BYTE_ARRAY: i32 = 7;
const REQUIRED: i32 = 0;
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const UNCOMPRESSED: i32 = 0;

const COLUMN: &str = "report";

/// The header of a page of whole reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageHeader {
    /// Reports in the page.
    pub(super) reports: u32,
    /// Their bytes together.
    pub(super) bytes: u32,
    /// CRC-32 (IEEE) of these.
    pub(super) checksum: u32,
}

impl PageHeader {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.i32(1, DATA_PAGE);
        writer.i32(2, self.bytes.cast_signed());
        writer.i32(3, self.bytes.cast_signed());
        writer.i32(4, self.checksum.cast_signed());
        writer.begin(5);
        writer.i32(1, self.reports.cast_signed());
        writer.i32(2, PLAIN);
        writer.i32(3, RLE);
        writer.i32(4, RLE);
        writer.end();
        writer.finish()
    }

    /// Reads the header of a page of reports of `report_bytes` each, and how long it is; `None` for anything that is
    /// not written so.
    pub(super) fn read(bytes: &[u8], report_bytes: usize) -> Option<(Self, usize)> {
        let (mut stored, mut checksum, mut reports) = (None, None, None);
        let mut reader = Reader::new(bytes);
        reader.fields(|reader, field, _| {
            match field {
                3 => stored = Some(reader.integer()?),
                4 => checksum = Some(reader.integer()?),
                5 => reports = integer_in(reader, 1)?,
                _ => return Some(false),
            }
            Some(true)
        })?;
        let header = Self {
            reports: u32::try_from(reports?).ok()?,
            bytes: i32::try_from(stored?).ok()?.try_into().ok()?,
            checksum: i32::try_from(checksum?).ok()?.cast_unsigned(),
        };
        let length = reader.position();
        // Another encoding of the same, or one with other fields, is not ours.
        let whole = u64::from(header.reports) * report_bytes as u64 == u64::from(header.bytes) && header.reports > 0;
        (whole && bytes.get(..length) == Some(&header.to_bytes()[..])).then_some((header, length))
    }
}

/// A footer's description of the file before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    /// Reports in the file.
    pub(super) reports: u64,
    /// The length of each.
    pub(super) report_bytes: u32,
    /// Bytes of all pages with their headers.
    pub(super) page_bytes: u64,
    /// Names and values about the file.
    pub(super) notes: Vec<(String, String)>,
    /// The release that wrote it.
    pub(super) writer: String,
}

/// The start of the name of the release that wrote a file.
pub(super) const WRITER: &str = "ldp-pca version ";

/// The notes of the format, and of the ids: CRC-32 of all of them in their order.
pub(super) const FORMAT_NOTE: &str = "ldp-pca.format";
pub(super) const IDS_NOTE: &str = "ldp-pca.ids.crc32";

/// The most notes that a footer has.
const MAX_NOTES: usize = 14;

impl Footer {
    /// The footer, up to the end of the file.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.i32(1, 1);
        writer.list(2, FieldType::Struct, 2);
        writer.begin_element();
        writer.text(4, "reports");
        writer.i32(5, 1);
        writer.end();
        writer.begin_element();
        writer.i32(1, FIXED_LEN_BYTE_ARRAY);
        writer.i32(2, self.report_bytes.cast_signed());
        writer.i32(3, REQUIRED);
        writer.text(4, COLUMN);
        writer.end();
        writer.i64(3, self.reports);
        writer.list(4, FieldType::Struct, 1);
        writer.begin_element();
        writer.list(1, FieldType::Struct, 1);
        writer.begin_element();
        writer.i64(2, 0);
        writer.begin(3);
        writer.i32(1, FIXED_LEN_BYTE_ARRAY);
        writer.list(2, FieldType::I32, 1);
        writer.integer(PLAIN.into());
        writer.list(3, FieldType::Binary, 1);
        writer.element(COLUMN);
        writer.i32(4, UNCOMPRESSED);
        writer.i64(5, self.reports);
        writer.i64(6, self.page_bytes);
        writer.i64(7, self.page_bytes);
        writer.i64(9, MAGIC.len() as u64);
        writer.end();
        writer.end();
        writer.i64(2, self.page_bytes);
        writer.i64(3, self.reports);
        writer.end();
        writer.list(5, FieldType::Struct, self.notes.len() as u8);
        for (key, value) in &self.notes {
            writer.begin_element();
            writer.text(1, key);
            writer.text(2, value);
            writer.end();
        }
        writer.text(6, &self.writer);
        let mut bytes = writer.finish();
        let length = bytes.len() as u32;
        bytes.extend(length.to_le_bytes());
        bytes.extend(MAGIC);
        bytes
    }

    /// Reads the metadata: a footer without its last [`FOOTER_END`] bytes; `None` for anything that is not written so.
    pub(super) fn read(metadata: &[u8]) -> Option<Self> {
        let (mut reports, mut report_bytes, mut page_bytes, mut writer) = (None, None, None, None);
        let mut notes = Vec::new();
        let mut reader = Reader::new(metadata);
        reader.fields(|reader, field, _| {
            match field {
                2 => {
                    for _ in 0..structs(reader)? {
                        report_bytes = integer_in(reader, 2)?;
                    }
                }
                3 => reports = u64::try_from(reader.integer()?).ok(),
                4 => {
                    for _ in 0..structs(reader)? {
                        page_bytes = integer_in(reader, 2)?;
                    }
                }
                5 => {
                    for _ in 0..structs(reader)? {
                        let (mut key, mut value) = ("", "");
                        reader.fields(|reader, field, _| {
                            match field {
                                1 => key = reader.text()?,
                                2 => value = reader.text()?,
                                _ => return Some(false),
                            }
                            Some(true)
                        })?;
                        notes.push((key.to_owned(), value.to_owned()));
                    }
                }
                6 => writer = Some(reader.text()?.to_owned()),
                _ => return Some(false),
            }
            Some(true)
        })?;
        let report_bytes = u32::try_from(report_bytes?).ok()?;
        let page_bytes = u64::try_from(page_bytes?).ok()?;
        let footer = Self { reports: reports?, report_bytes, page_bytes, notes, writer: writer? };
        let ours = footer.notes.len() <= MAX_NOTES
            && footer.to_bytes().strip_suffix(MAGIC)?.get(..metadata.len()) == Some(metadata);
        let ours = ours && footer.writer.starts_with(WRITER);
        (ours && reader.position() == metadata.len()).then_some(footer)
    }

    /// Whether it says the same as `other`, whichever release wrote it.
    pub(super) fn tells_the_same(&self, mut other: Self) -> bool {
        other.writer.clone_from(&self.writer);
        *self == other
    }

    /// The value of a note.
    pub(super) fn note(&self, key: &str) -> Option<&str> {
        self.notes.iter().find(|(found, _)| found == key).map(|(_, value)| &**value)
    }
}

/// A struct's integer field of this number, if it has one; other fields are skipped.
fn integer_in(reader: &mut Reader<'_>, number: i16) -> Option<Option<i64>> {
    let mut found = None;
    reader.fields(|reader, field, _| {
        if field == number {
            found = Some(reader.integer()?);
        }
        Some(field == number)
    })?;
    Some(found)
}

/// The number of structs in a list of them.
fn structs(reader: &mut Reader<'_>) -> Option<u64> {
    let (count, kind) = reader.list()?;
    (kind == FieldType::Struct as u8).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_headers_survive_their_bytes_and_nothing_else_is_one() {
        for (reports, each) in [(1, 35), (239_674, 35), (104, 80_233), (1, 9_000_000)] {
            for checksum in [0, 1, 0x8000_0000, u32::MAX] {
                let header = PageHeader { reports, bytes: reports * each, checksum };
                let bytes = header.to_bytes();
                assert!(bytes.len() <= MAX_PAGE_HEADER);
                assert_eq!(PageHeader::read(&bytes, each as usize), Some((header, bytes.len())));
                assert_eq!(PageHeader::read(&bytes, each as usize + 1), None);
                for length in 0..bytes.len() {
                    assert_eq!(PageHeader::read(&bytes[..length], each as usize), None);
                }
                for bit in 0..8 * bytes.len() {
                    let mut altered = bytes.clone();
                    altered[bit / 8] ^= 1 << (bit % 8);
                    assert_ne!(PageHeader::read(&altered, each as usize), Some((header, bytes.len())));
                }
            }
        }
    }

    #[test]
    fn a_page_without_reports_is_none() {
        for each in [0, 1, 35] {
            let header = PageHeader { reports: 0, bytes: 0, checksum: 0 };
            assert_eq!(PageHeader::read(&header.to_bytes(), each), None);
        }
    }

    #[test]
    fn a_footer_of_another_release_has_the_same_facts() {
        let footer = |notes: &[(&str, &str)], release: u32| Footer {
            reports: 3,
            report_bytes: 35,
            page_bytes: 120,
            notes: notes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            writer: format!("{WRITER}{release}"),
        };
        let format = (FORMAT_NOTE, super::super::format::FORMAT);
        let (ids, segment) = ((IDS_NOTE, "01234567"), ("ldp-pca.segment", "3"));
        let now = || footer(&[format, segment, ids], 2);
        assert!(footer(&[format, segment, ids], 1).tells_the_same(now()));
        for other in [&[format, segment][..], &[format, ("ldp-pca.segment", "4"), ids], &[segment, ids]] {
            assert!(!footer(other, 1).tells_the_same(now()), "{other:?}");
        }
        assert_eq!(now().note(IDS_NOTE), Some("01234567"));
        assert_eq!(now().note("other"), None);
    }

    #[test]
    fn footers_survive_their_bytes() {
        let notes = vec![("task".to_owned(), "{\"ü\":1}".to_owned()), ("segment".to_owned(), "3".to_owned())];
        let footer =
            Footer { reports: 1 << 33, report_bytes: 35, page_bytes: 1 << 40, notes, writer: format!("{WRITER}7") };
        let bytes = footer.to_bytes();
        let metadata = &bytes[..bytes.len() - FOOTER_END];
        assert_eq!(bytes[metadata.len()..metadata.len() + 4], (metadata.len() as u32).to_le_bytes());
        assert_eq!(Footer::read(metadata), Some(footer));
        for length in 0..metadata.len() {
            assert_eq!(Footer::read(&metadata[..length]), None, "{length}");
        }
        let read = Footer::read(metadata);
        for bit in 0..8 * metadata.len() {
            let mut altered = metadata.to_vec();
            altered[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Footer::read(&altered), read, "bit {bit}");
        }
    }
}
