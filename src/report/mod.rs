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
    /// For [`Task::randomize`](crate::task::Task::randomize), whose payload is right by construction, and for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn from_parts(task: TaskDigest, id: ReportId, payload: Vec<u8>) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &str = "00017f80ff0a9bc3d4e5f60718293a4b";

    #[test]
    fn an_id_is_its_thirty_two_digits_in_every_form() {
        let bytes = [0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x9b, 0xc3, 0xd4, 0xe5, 0xf6, 7, 0x18, 0x29, 0x3a, 0x4b];
        let id = ReportId::new(bytes);
        assert_eq!(ReportId::from_hex(DIGITS), Some(id));
        assert_eq!(ReportId::from_hex(&DIGITS.to_uppercase()), Some(id));
        assert_eq!((id.to_string(), id.as_bytes()), (DIGITS.to_owned(), &bytes));
        assert_eq!(format!("{id:?}"), format!("ReportId({DIGITS})"));
        let json = format!("\"{DIGITS}\"");
        assert_eq!(serde_json::to_string(&id).unwrap(), json);
        assert_eq!(serde_json::from_str::<ReportId>(&json).unwrap(), id);
    }

    #[test]
    fn what_has_other_digits_or_not_as_many_is_no_id() {
        for place in 0..32 {
            for bad in ["g", "/", ":", "@", "`", " ", "+"] {
                let mut text = DIGITS.to_owned();
                text.replace_range(place..=place, bad);
                assert_eq!(ReportId::from_hex(&text), None, "{text}");
            }
        }
        for text in [&DIGITS[1..], &DIGITS[2..], "", "0", &format!("{DIGITS}0"), &format!("{DIGITS}00")] {
            assert_eq!(ReportId::from_hex(text), None, "{text}");
            assert!(serde_json::from_str::<ReportId>(&format!("\"{text}\"")).is_err());
        }
    }

    #[test]
    fn a_report_is_shown_without_its_payload() {
        let (digest, id) = (TaskDigest::new(core::array::from_fn(|index| index as u8)), ReportId::new([0xab; 16]));
        let report = Report::from_parts(digest, id, vec![77; 3]);
        assert_eq!(format!("{report:?}"), format!("Report {{ id: {}, payload: 3 bytes }}", "ab".repeat(16)));
        assert_eq!((report.task_prefix(), report.id()), ([0, 1, 2, 3, 4, 5, 6, 7], id));
        assert_eq!(report.payload(), [77; 3]);
    }
}
