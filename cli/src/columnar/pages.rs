//! Bytes at any place of a file, on a disk or in memory.

use std::fs::File;
use std::io::{Cursor, Read};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};

use super::decoders::LARGEST;

/// The bytes of a file.
pub(super) enum Pages {
    File(File),
    Memory(Bytes),
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

    /// The reader of a page's header, or of the last bytes of the file. A page that claims more than [`LARGEST`] is
    /// refused before memory is taken for it.
    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let mut reader: Box<dyn Read> = match self {
            Self::File(file) => Box::new(file.get_read(start)?),
            Self::Memory(bytes) => Box::new(bytes.get_read(start)?),
        };
        let mut head = Vec::new();
        reader.by_ref().take(16).read_to_end(&mut head)?;
        let last = start.checked_add(8) == Some(Length::len(self));
        if !last && claimed(&head).is_none_or(|bytes| bytes > LARGEST) {
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

/// The size that a page's header claims for its unpacked content: its second field. Both fields are numbers
/// ("0x15": the next field, an i32), zigzag and in groups of seven bits.
fn claimed(header: &[u8]) -> Option<u64> {
    let mut bytes = header.iter();
    let mut field = || {
        bytes.next().filter(|kind| **kind == 0x15)?;
        let mut number = 0;
        for place in 0..5 {
            let byte = *bytes.next()?;
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    };
    field()?;
    Some(field()? / 2)
}

#[cfg(test)]
mod tests {
    use super::claimed;

    #[test]
    fn the_claim_of_a_header_is_its_second_number() {
        assert_eq!(claimed(&[0x15, 0x00, 0x15, 0x02, 0x15]), Some(1));
        assert_eq!(claimed(&[0x15, 0x04, 0x15, 0xd0, 0x0f, 0x15]), Some(1000));
        assert_eq!(claimed(&[0x15, 0x04, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f]), Some((1 << 31) - 1));
        for nonsense in
            [&[][..], &[0x15, 0x00], &[0x25, 0x02, 0x15], &[0x15, 0x00, 0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 1]]
        {
            assert_eq!(claimed(nonsense), None);
        }
    }
}
