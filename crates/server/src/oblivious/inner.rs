//! The binary HTTP (RFC 9292) inside a sealed request and its answer.

use std::io::Cursor;

use bhttp::{Message, Mode, StatusCode};

use super::pad;
use crate::problem::{Problem, Reason};

/// Reports for a task.
#[derive(Debug)]
pub(in super::super) struct Inner {
    /// As in the path: the routes check it.
    pub(in super::super) task: String,
    /// The media type, if it has one.
    pub(in super::super) content_type: Option<Vec<u8>>,
    pub(in super::super) content: Vec<u8>,
}

impl Inner {
    /// The reports in a request. Nothing else goes through a gateway: neither tokens nor other routes.
    pub(in super::super) fn read(bytes: &[u8]) -> Result<Self, Problem> {
        let no_request = || Reason::SealedRequest.because("it is not a request of binary HTTP (message/bhttp)");
        let other = "only reports come through a gateway: POST /tasks/{id}/reports";
        let message = Message::read_bhttp(&mut Cursor::new(bytes)).map_err(|_| no_request())?;
        let control = message.control();
        let (Some(method), Some(path)) = (control.method(), control.path()) else { return Err(no_request()) };
        if method != b"POST" {
            return Err(Reason::MethodNotAllowed.because(other));
        }
        let task =
            std::str::from_utf8(path).ok().and_then(|path| path.strip_prefix("/tasks/")?.strip_suffix("/reports"));
        let Some(task) = task.filter(|task| task.bytes().all(|byte| byte.is_ascii_alphanumeric())) else {
            return Err(Reason::UnknownPath.because(other));
        };
        let task = task.to_owned();
        let content_type = message.header().get(b"content-type").map(<[u8]>::to_vec);
        Ok(Self { task, content_type, content: message.content().to_vec() })
    }
}

/// Whether bytes are a request that a gateway answers: the binary HTTP of an upload to a task.
#[must_use]
pub fn is_for_a_gateway(bytes: &[u8]) -> bool {
    Inner::read(bytes).is_ok()
}

/// The length that answers are padded to, or to the next power of two: a relay cannot tell reports that count from
/// others.
const SHORTEST_ANSWER: usize = 2048;

/// An answer as binary HTTP, padded.
pub(in super::super) fn answer(
    status: u16,
    fields: &[(&str, Vec<u8>)],
    content: &[u8],
) -> Result<Vec<u8>, bhttp::Error> {
    let mut message = Message::response(StatusCode::try_from(status)?);
    for (name, value) in fields {
        message.put_header(*name, value.clone());
    }
    message.write_content(content);
    let mut bytes = Vec::new();
    message.write_bhttp(Mode::KnownLength, &mut bytes)?;
    pad(&mut bytes, SHORTEST_ANSWER);
    Ok(bytes)
}
