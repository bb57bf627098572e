//! The part of HTTP that answers need.

use std::error::Error;

/// The status of a whole answer, and the number of reports that it acknowledges.
pub fn parse(answer: &[u8]) -> Result<Option<(u16, u64)>, Box<dyn Error>> {
    let Some(end) = find(answer, b"\r\n\r\n") else { return Ok(None) };
    let head = &answer[..end];
    let digits =
        |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).fold(0, |n, b| n * 10 + u64::from(b - b'0'));
    let length = find(head, b"\r\ncontent-length: ").ok_or("an answer has no content-length")?;
    let length = usize::try_from(digits(&head[length + 18..]))?;
    let body = &answer[end + 4..];
    if body.len() < length {
        return Ok(None);
    }
    let status = u16::try_from(digits(head.get(9..).unwrap_or_default()))?;
    let accepted = find(body, b"\"accepted\":").map_or(0, |place| digits(&body[place + 11..]));
    Ok(Some((status, accepted)))
}

fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len()).position(|window| window == pattern)
}
