//! Large writes that bypass the system's page cache (`O_DIRECT`): half the processor time, and a sync has nothing left
//! to write.
//!
//! They consist of whole blocks. So the block in which a write starts is written again with its content, and the block
//! in which it ends is padded with zeros, which the next write replaces.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// The devices' alignment: addresses, lengths and memory in multiples of it.
const BLOCK: usize = 4096;

/// Shorter writes are left to the system.
const WORTH_IT: usize = 256 << 10;

/// The state of large writes to one file.
#[derive(Default)]
pub(super) struct Direct {
    /// Whether the file system has refused.
    refused: bool,
    buffer: Vec<u8>,
    /// The end of the last write, and the content of its last block up to there.
    end: u64,
    tail: Vec<u8>,
}

impl Direct {
    /// Writes all parts, one after the other, from `offset`, with zeros up to the end of the last block. `false` when
    /// the system has to do it.
    pub(super) fn write_at(&mut self, file: &File, parts: &[IoSlice<'_>], offset: u64) -> io::Result<bool> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if self.refused || length < WORTH_IT {
            // The system's own write may change the place where the last write ended.
            self.end = 0;
            self.tail.clear();
            return Ok(false);
        }
        let head = (offset % BLOCK as u64) as usize;
        let used = head + length;
        let whole = used.next_multiple_of(BLOCK);
        if self.buffer.len() < whole + BLOCK {
            self.buffer = vec![0; whole + BLOCK];
        }
        let shift = self.buffer.as_ptr().align_offset(BLOCK);
        let blocks = &mut self.buffer[shift..shift + whole];
        if self.end == offset && self.tail.len() == head {
            blocks[..head].copy_from_slice(&self.tail);
        } else {
            file.read_exact_at(&mut blocks[..head], offset - head as u64)?;
        }
        let mut position = head;
        for part in parts {
            blocks[position..position + part.len()].copy_from_slice(part);
            position += part.len();
        }
        blocks[used..].fill(0);
        let flags = fcntl_getfl(file)?;
        if fcntl_setfl(file, flags | OFlags::DIRECT).is_err() {
            self.refused = true;
            return Ok(false);
        }
        let written = file.write_all_at(blocks, offset - head as u64);
        fcntl_setfl(file, flags)?;
        match written {
            Ok(()) => {}
            // Blocks of another size, or a file system that only says now that it cannot.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.refused = true;
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        self.end = offset + length as u64;
        self.tail.clear();
        self.tail.extend_from_slice(&blocks[used / BLOCK * BLOCK..used]);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::tempfile;

    use super::*;

    #[test]
    fn large_writes_of_any_length_stand_one_after_the_other() {
        let file = tempfile().unwrap();
        let mut direct = Direct::default();
        let content: Vec<u8> = (0..3_000_000u32).map(|index| (index % 251) as u8).collect();
        let mut offset = 0;
        for length in [WORTH_IT, WORTH_IT + 1, 17, WORTH_IT + 4095, 400_000, 4096, 1, 500_000] {
            let (first, second) = content[offset..offset + length].split_at(length / 3);
            if !direct.write_at(&file, &[IoSlice::new(first), IoSlice::new(second)], offset as u64).unwrap() {
                file.write_all_at(&content[offset..offset + length], offset as u64).unwrap();
            }
            offset += length;
        }
        let mut found = vec![0; offset];
        file.read_exact_at(&mut found, 0).unwrap();
        assert!(found == content[..offset]);
        let rest = file.metadata().unwrap().len() - offset as u64;
        assert!(rest < BLOCK as u64);
    }

    /// Writes this many of one byte, bypassing the system or not.
    fn write(direct: &mut Direct, file: &File, byte: u8, length: usize, offset: usize) {
        let content = vec![byte; length];
        let before = direct.end > 0;
        if !direct.write_at(file, &[IoSlice::new(&content)], offset as u64).unwrap() {
            assert!(!before || length < WORTH_IT, "what was written so before is written so again");
            file.write_all_at(&content, offset as u64).unwrap();
        }
    }

    /// The bytes of a file up to `length`, as runs of equal bytes.
    fn runs(file: &File, length: usize) -> Vec<(u8, usize)> {
        let mut content = vec![0; length];
        file.read_exact_at(&mut content, 0).unwrap();
        content.chunk_by(|left, right| left == right).map(|run| (run[0], run.len())).collect()
    }

    #[test]
    fn what_is_before_a_write_stays_wherever_the_last_one_ended() {
        let (file, mut direct) = (tempfile().unwrap(), Direct::default());
        write(&mut direct, &file, 1, WORTH_IT + 100, 0);
        // In other blocks, which end as the last one did.
        file.write_all_at(&[2; 3 * WORTH_IT], (WORTH_IT + 100) as u64).unwrap();
        write(&mut direct, &file, 3, WORTH_IT, 2 * WORTH_IT + 100);
        let expected = [(1, WORTH_IT + 100), (2, WORTH_IT), (3, WORTH_IT)];
        assert_eq!(runs(&file, 3 * WORTH_IT + 100), expected);
        // Two blocks more than the memory was for.
        write(&mut direct, &file, 4, WORTH_IT + 2 * BLOCK, 3 * WORTH_IT + 100);
        let expected = [&expected[..], &[(4, WORTH_IT + 2 * BLOCK)]].concat();
        assert_eq!(runs(&file, 4 * WORTH_IT + 2 * BLOCK + 100), expected);
    }

    #[test]
    fn what_the_system_wrote_in_the_last_block_stays() {
        let (file, mut direct) = (tempfile().unwrap(), Direct::default());
        write(&mut direct, &file, 1, WORTH_IT + 100, 0);
        write(&mut direct, &file, 2, 60, WORTH_IT + 40);
        write(&mut direct, &file, 3, WORTH_IT, WORTH_IT + 100);
        assert_eq!(runs(&file, 2 * WORTH_IT + 100), [(1, WORTH_IT + 40), (2, 60), (3, WORTH_IT)]);
    }

    #[test]
    fn writes_that_cannot_be_direct_are_left_to_the_system_and_other_errors_are_reported() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let large = vec![1; WORTH_IT];
        let write = |direct: &mut Direct, file: &File, length: usize, offset: u64| {
            direct.write_at(file, &[IoSlice::new(&large[..length])], offset)
        };
        let mut direct = Direct::default();
        assert!(!write(&mut direct, file.as_file(), WORTH_IT - 1, 0).unwrap());
        if !write(&mut direct, file.as_file(), WORTH_IT, 0).unwrap() {
            eprintln!("skipped: this file system writes nothing past the system's memory");
            return;
        }
        let read_only = File::open(file.path()).unwrap();
        assert!(write(&mut direct, &read_only, WORTH_IT, 0).is_err());
        assert!(write(&mut direct, file.as_file(), WORTH_IT, 0).unwrap());
        // No file has such a place: the system says that the argument is wrong, as it does of other blocks.
        assert!(!write(&mut direct, file.as_file(), WORTH_IT, 1 << 63).unwrap());
        assert!(!write(&mut direct, file.as_file(), WORTH_IT, 0).unwrap());
    }
}
