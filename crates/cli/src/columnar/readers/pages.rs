//! Bytes at any place of a file, on a disk or in memory.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};

use super::decoders::LARGEST;
use crate::columnar::Content;
use crate::error::{CliError, InFile as _, Result};

/// The bytes of a file.
pub(super) enum Pages {
    File(File),
    Memory(Bytes),
}

impl Pages {
    /// Those of a file, or all of what is read from its start.
    pub(super) fn new(path: &Path, content: Content) -> Result<Self> {
        let content = match content {
            Content::File(file) => return Ok(Self::File(file)),
            Content::Stream(content) => content,
        };
        let mut bytes = Vec::new();
        content.take(LARGEST + 1).read_to_end(&mut bytes).in_file(path)?;
        if bytes.len() as u64 > LARGEST {
            let problem = "from a pipe or in gzip such a file is kept in memory, up to 1 GiB: give the file itself";
            return Err(CliError::file(path, problem));
        }
        Ok(Self::Memory(bytes.into()))
    }
}

impl Length for Pages {
    fn len(&self) -> u64 {
        match self {
            Self::File(file) => Length::len(file),
            Self::Memory(bytes) => Length::len(bytes),
        }
    }
}

impl ChunkReader for Pages {
    type T = Box<dyn Read>;

    /// The reader of a page's header, or of the last bytes of the file. A page that claims too much is refused
    /// before memory is taken for it.
    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let mut reader: Box<dyn Read> = match self {
            Self::File(file) => Box::new(file.get_read(start)?),
            Self::Memory(bytes) => Box::new(bytes.get_read(start)?),
        };
        let mut head = Vec::new();
        reader.by_ref().take(32).read_to_end(&mut head)?;
        let last = start.checked_add(8) == Some(Length::len(self));
        if !last && !plausible(&head) {
            return Err(ParquetError::General("the header of a page makes no sense".to_owned()));
        }
        Ok(Box::new(Cursor::new(head).chain(reader)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > Length::len(self)) {
            return Err(ParquetError::General("the file is cut".to_owned()));
        }
        match self {
            Self::File(file) => file.get_bytes(start, length),
            Self::Memory(bytes) => bytes.get_bytes(start, length),
        }
    }
}

/// Whether a page's header, as writers begin it, claims what can be: no more than [`LARGEST`] unpacked, and for a
/// dictionary no more values than bytes. Memory for all its values is taken before the first is read.
fn plausible(header: &[u8]) -> bool {
    const DICTIONARY: u64 = 2;
    let mut header = header;
    let (Some(kind), Some(size), Some(_)) = (number(&mut header), number(&mut header), number(&mut header)) else {
        return false;
    };
    // A checksum may come before the dictionary's own header.
    let _ = number(&mut header);
    let dictionary = header.split_off_first().is_some_and(|field| matches!(field, 0x3c | 0x4c));
    size <= LARGEST && (kind != DICTIONARY || dictionary && number(&mut header).is_some_and(|count| count <= size))
}

/// The number in the next field: its type ("0x15": the next field, an i32), then zigzag, in groups of seven bits. It is
/// left where there is none.
fn number(header: &mut &[u8]) -> Option<u64> {
    let (0x15, rest) = header.split_first()? else { return None };
    let last = rest.iter().take(5).position(|byte| *byte < 0x80)?;
    *header = &rest[last + 1..];
    Some(rest[..=last].iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f)) / 2)
}

#[cfg(test)]
mod tests {
    use super::plausible;

    #[test]
    fn headers_of_pages_claim_what_can_be() {
        // A data page of a thousand bytes, and dictionaries of as many bytes and four values.
        let page = [0x15, 0x00, 0x15, 0xd0, 0x0f, 0x15, 0x02, 0x2c];
        let dictionary = [0x15, 0x04, 0x15, 0xd0, 0x0f, 0x15, 0x02, 0x4c, 0x15, 0x08];
        let summed = [0x15, 0x04, 0x15, 0xd0, 0x0f, 0x15, 0x02, 0x15, 0x7f, 0x3c, 0x15, 0x08];
        assert!(plausible(&page) && plausible(&dictionary) && plausible(&summed));
        let gigabytes = [0x15, 0x00, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15, 0x02, 0x2c];
        let values = [0x15, 0x04, 0x15, 0xd0, 0x0f, 0x15, 0x02, 0x4c, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f];
        assert!(!plausible(&gigabytes) && !plausible(&values));
        let endless = [0x15, 0x00, 0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x15, 0x02];
        for nonsense in [&[][..], &[0x15, 0x00], &[0x25, 0x02, 0x15, 0x00], &endless, &dictionary[..8]] {
            assert!(!plausible(nonsense));
        }
    }
}
