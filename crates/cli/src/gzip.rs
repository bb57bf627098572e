//! Content in gzip, of one member or several.

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::bufread::GzDecoder;

/// The content of all members, one after the other. Zeros may fill the space after a member, and nothing else.
pub(super) struct Unpacked<R> {
    /// Always there, but while the next one takes its reader.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Unpacked<R> {
    pub(super) fn new(packed: R) -> Self {
        Self { member: Some(GzDecoder::new(packed)) }
    }

    /// Whether there is a next member, which is read from now on.
    fn goes_on(&mut self) -> io::Result<bool> {
        let Some(member) = &mut self.member else { return Ok(false) };
        let packed = member.get_mut();
        loop {
            let rest = packed.fill_buf()?;
            if rest.is_empty() {
                return Ok(false);
            }
            let zeros = rest.iter().take_while(|byte| **byte == 0).count();
            let next = rest.get(zeros).copied();
            packed.consume(zeros);
            match next {
                None => {}
                Some(0x1f) => break,
                Some(_) => {
                    let problem = "other bytes follow the end of the gzip data: remove them, or pack the file again";
                    return Err(io::Error::new(ErrorKind::InvalidData, problem));
                }
            }
        }
        self.member = self.member.take().map(|member| GzDecoder::new(member.into_inner()));
        Ok(true)
    }
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(member) = &mut self.member else { return Ok(0) };
            let count = member.read(buffer).map_err(told)?;
            if count > 0 || buffer.is_empty() || !self.goes_on()? {
                return Ok(count);
            }
        }
    }
}

/// The decoder's error, in words that say what to do.
fn told(error: io::Error) -> io::Error {
    let problem = match error.kind() {
        ErrorKind::UnexpectedEof => "the gzip data ends in the middle: it was cut; copy or download the file again",
        ErrorKind::InvalidInput | ErrorKind::InvalidData => "the gzip data is damaged: copy or download the file again",
        _ => return error,
    };
    io::Error::new(error.kind(), problem)
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write as _};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(vec![], Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    /// What is read in pieces of this many bytes, or the problem.
    fn unpacked(packed: &[u8], piece: usize) -> Result<Vec<u8>, String> {
        let mut content = vec![];
        let mut reader = Unpacked::new(BufReader::with_capacity(piece, packed));
        reader.read_to_end(&mut content).map(|_| content).map_err(|error| error.to_string())
    }

    #[test]
    fn members_follow_each_other_and_zeros_fill_the_space_between_and_after_them() {
        let members = [packed(b"one\n"), packed(b""), packed(b"two\n")];
        for zeros in [0, 1, 7, 4096, 100_000] {
            let file: Vec<u8> = members.iter().flat_map(|member| [&member[..], &vec![0; zeros]].concat()).collect();
            for piece in [1, 3, 1 << 16] {
                assert_eq!(unpacked(&file, piece).unwrap(), b"one\ntwo\n", "{zeros} {piece}");
            }
        }
    }

    #[test]
    fn a_file_that_is_cut_anywhere_or_goes_on_in_another_way_is_refused() {
        let first = packed(b"one\n").len();
        let file = [packed(b"one\n"), packed(b"two\n")].concat();
        for piece in [1, 1 << 16] {
            for end in (1..file.len()).filter(|&end| end != first) {
                let problem = unpacked(&file[..end], piece).unwrap_err();
                assert!(problem.contains("it was cut; copy or download"), "{end}: {problem}");
            }
            for (rest, words) in [
                (&b"junk"[..], "other bytes follow the end"),
                (b"\n", "other bytes follow the end"),
                (b"\0\0\0x", "other bytes follow the end"),
                (b"\x1f\x8cjunk that is long enough", "is damaged: copy"),
            ] {
                let problem = unpacked(&[&file[..], rest].concat(), piece).unwrap_err();
                assert!(problem.contains(words), "{rest:?}: {problem}");
            }
        }
        let mut damaged = file;
        damaged[first - 8] ^= 1;
        assert!(unpacked(&damaged, 64).unwrap_err().contains("is damaged: copy"), "the checksum is another");
    }
}
