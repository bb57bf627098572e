//! A check for a length that the request parser dropped because there is also a transfer encoding.

/// The line of a head that announces a length, from the end of the line before it.
const LENGTH: &[u8] = b"\ncontent-length:";

/// Looks for a length in the head of a request as it arrives. Nothing is known about a head that arrives in one piece
/// with the end of the previous request: it may have one.
#[derive(Default)]
pub(super) struct HeadScan {
    /// The part of [`LENGTH`] that was just seen.
    matched: usize,
    /// Whether a line just ended, maybe with half of the next end.
    line_ended: bool,
    ended: bool,
    /// Whether there was a length.
    pub(super) found: bool,
}

impl HeadScan {
    /// Reads on.
    pub(super) fn read(&mut self, mut bytes: &[u8]) {
        while !self.ended {
            if self.matched == 0 {
                let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return };
                bytes = &bytes[end + 1..];
                (self.matched, self.line_ended) = (1, true);
            }
            let Some((&byte, rest)) = bytes.split_first() else { return };
            bytes = rest;
            match byte {
                // An empty line.
                b'\n' if self.line_ended => self.ended = true,
                b'\n' => (self.matched, self.line_ended) = (1, true),
                b'\r' if self.line_ended => {}
                _ if byte.to_ascii_lowercase() == LENGTH[self.matched] => {
                    self.line_ended = false;
                    self.matched += 1;
                    if self.matched == LENGTH.len() {
                        (self.matched, self.found) = (0, true);
                    }
                }
                _ => (self.matched, self.line_ended) = (0, false),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_found_however_it_is_cut_and_only_in_the_head() {
        let found = |text: &str, cut: usize| {
            let mut scan = HeadScan::default();
            text.as_bytes().chunks(cut).for_each(|part| scan.read(part));
            scan.found
        };
        for (text, expected) in [
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", true),
            ("POST / HTTP/1.1\nCONTENT-LENGTH:5\n\n", true),
            ("POST / HTTP/1.1\r\nA: \r\nContent-Conten\r\nX: b\r\ncontent-length: 5\r\n\r\n", true),
            ("GET /?content-length: HTTP/1.1\r\nX-Content-Length: 5\r\nContent-Lengths: 1\r\n\r\n", false),
            ("POST / HTTP/1.1\r\nHost: a\r\n\r\n\r\ncontent-length: 5\r\n", false),
            ("POST / HTTP/1.1\nHost: a\n\ncontent-length: 5\n", false),
            ("", false),
        ] {
            for cut in 1..=text.len().max(1) {
                assert_eq!(found(text, cut), expected, "{text:?} in pieces of {cut}");
            }
        }
    }
}
