//! CRC-32 (IEEE) for making a report. The aggregator, which checks many, uses the faster `crc32fast`, whose tables are
//! as large as a fifth of the client in a browser; the tables here are made when they are first needed.

use std::sync::LazyLock;

/// `TABLES[k][byte]`: the checksum of a byte after k more bytes of zeros.
static TABLES: LazyLock<[[u32; 256]; 4]> = LazyLock::new(|| {
    let mut tables = [[0; 256]; 4];
    for byte in 0..=255u8 {
        let index = usize::from(byte);
        let mut value = u32::from(byte);
        for _ in 0..8 {
            value = value >> 1 ^ 0xedb8_8320 & (value & 1).wrapping_neg();
        }
        tables[0][index] = value;
    }
    for zeros in 1..4 {
        for index in 0..256 {
            let before = tables[zeros - 1][index];
            tables[zeros][index] = before >> 8 ^ tables[0][(before & 0xff) as usize];
        }
    }
    tables
});

pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let tables = &*TABLES;
    let at = |table: usize, value: u32| tables[table][(value & 0xff) as usize];
    let (words, rest) = bytes.as_chunks();
    let state = words.iter().fold(u32::MAX, |state, &word| {
        let state = state ^ u32::from_le_bytes(word);
        at(3, state) ^ at(2, state >> 8) ^ at(1, state >> 16) ^ at(0, state >> 24)
    });
    !rest.iter().fold(state, |state, &byte| state >> 8 ^ at(0, state ^ u32::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_an_independent_implementation() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926, "the check value of the standard");
        let bytes: Vec<u8> = (0..2000u32).map(|index| ((index * index) >> 3) as u8).collect();
        for length in (0..40).chain([1999, 2000]) {
            assert_eq!(crc32(&bytes[..length]), crc32fast::hash(&bytes[..length]), "{length}");
        }
    }
}
