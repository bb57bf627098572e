//! What leaves the device: a report that is private on its own, and its bytes on the wire.

mod checksum;
mod codec;

use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::task::TaskDigest;

pub use codec::{ReportError, framed_bytes, report_bytes};

/// One randomized record. Everything in it is public.
#[derive(Clone, PartialEq, Eq)]
pub struct Report {
    task_prefix: [u8; 8],
    id: ReportId,
    payload: Vec<u8>,
}

impl Report {
    /// For [`Task::randomize`](crate::task::Task::randomize), whose payload is right by construction.
    pub(crate) fn from_parts(task: TaskDigest, id: ReportId, payload: Vec<u8>) -> Self {
        Self { task_prefix: task.prefix(), id, payload }
    }

    /// The first 8 bytes of the digest of the task that the report answers.
    #[must_use]
    pub fn task_prefix(&self) -> [u8; 8] {
        self.task_prefix
    }

    /// The report's id, unique in its task.
    #[must_use]
    pub fn id(&self) -> ReportId {
        self.id
    }

    /// The mechanism's payload.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Report {{ id: {}, payload: {} bytes }}", self.id, self.payload.len())
    }
}

/// 16 random bytes that name a report, seed its public randomness, and make a second delivery recognizable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReportId([u8; 16]);

impl ReportId {
    /// An id from its bytes.
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The id that 32 hexadecimal digits spell; `None` for anything else.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let (digits, []) = text.as_bytes().as_chunks::<2>() else { return None };
        let digit = |character: u8| (character as char).to_digit(16);
        let mut bytes = [0; 16];
        if digits.len() != bytes.len() {
            return None;
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(digits) {
            *byte = (digit(*high)? * 16 + digit(*low)?) as u8;
        }
        Some(Self(bytes))
    }

    /// The 16 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for ReportId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ReportId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReportId({self})")
    }
}

impl Serialize for ReportId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ReportId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(&text).ok_or_else(|| D::Error::custom("a report id is 32 hexadecimal digits"))
    }
}
