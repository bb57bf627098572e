//! The identifiers of a collection and of a report in it, which every stage from randomizing on uses.

use core::fmt::{self, Write};
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// SHA-256 of a task's canonical JSON.
///
/// ```
/// # use ldp_pca::{Bounding, Epsilon, Folds, MechanismSpec, Schema, Task, TaskDigest};
/// # let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0)?);
/// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// let name = task.digest().to_string();
/// assert_eq!(name.len(), 64);
/// assert_eq!(name.parse::<TaskDigest>()?, task.digest());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskDigest([u8; 32]);

impl TaskDigest {
    /// The first 8 bytes, which every report carries.
    pub(crate) fn prefix(&self) -> [u8; 8] {
        core::array::from_fn(|place| self.0[place])
    }

    /// The first 16 bytes, which bind the public randomness of a report to the task.
    pub(crate) fn key(&self) -> [u8; 16] {
        core::array::from_fn(|place| self.0[place])
    }
}

/// 16 random bytes that name a report, seed its public randomness, and make a second delivery recognizable.
///
/// ```
/// use ldp_pca::ReportId;
/// let id = ReportId::new([0xab; 16]);
/// assert_eq!(id.to_string(), "ab".repeat(16));
/// assert_eq!(id.to_string().parse(), Ok(id));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReportId([u8; 16]);

/// A text that is not the name of a task or a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not a [`TaskDigest`].
    #[error("a task digest is 64 lower-case hexadecimal digits")]
    TaskDigest,
    /// Not a [`ReportId`].
    #[error("a report id is 32 hexadecimal digits")]
    ReportId,
}

/// The forms that both names have: bytes, hexadecimal digits, and those digits as a text wherever serde writes them.
macro_rules! name_forms {
    ($name:ident, $length:literal, $upper:literal) => {
        impl $name {
            /// The name that these bytes are.
            #[must_use]
            pub fn new(bytes: [u8; $length]) -> Self {
                Self(bytes)
            }

            /// Its bytes.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8; $length] {
                &self.0
            }
        }

        impl AsRef<[u8]> for $name {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                let mut bytes = [0; $length];
                read_hex(text, &mut bytes, $upper).map(|()| Self(bytes)).ok_or(NameError::$name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    };
}

// Unlike an id, a digest names files and rows, so it has one spelling.
name_forms!(TaskDigest, 32, false);
name_forms!(ReportId, 16, true);

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing into a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The bytes that twice as many hexadecimal digits spell, which may be capitals only if `upper`.
pub(crate) fn read_hex(text: &str, bytes: &mut [u8], upper: bool) -> Option<()> {
    let (digits, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let digit = |digit: u8| char::from(digit).to_digit(16).filter(|_| upper || !digit.is_ascii_uppercase());
    if digits.len() != bytes.len() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(digits) {
        *byte = (digit(*high)? * 16 + digit(*low)?) as u8;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &str = "00017f80ff0a9bc3d4e5f60718293a4b";

    #[test]
    fn a_digest_is_its_sixty_four_digits_in_every_form() {
        let bytes: [u8; 32] = core::array::from_fn(|index| 7 * index as u8);
        let digest = TaskDigest::new(bytes);
        assert_eq!(format!("{digest:?}"), format!("TaskDigest({digest})"));
        assert_eq!((digest.as_bytes(), digest.as_ref()), (&bytes, &bytes[..]));
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!("7".parse::<TaskDigest>(), Err(NameError::TaskDigest));
        let json = format!("\"{digest}\"");
        assert_eq!(serde_json::to_string(&digest).unwrap(), json);
        assert_eq!(serde_json::from_str::<TaskDigest>(&json).unwrap(), digest);
        assert!(serde_json::from_str::<TaskDigest>(&json.to_uppercase()).is_err());
        assert_eq!((&digest.prefix()[..], &digest.key()[..]), (&bytes[..8], &bytes[..16]));
    }

    #[test]
    fn an_id_is_its_thirty_two_digits_in_every_form() {
        let bytes = [0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x9b, 0xc3, 0xd4, 0xe5, 0xf6, 7, 0x18, 0x29, 0x3a, 0x4b];
        let id = ReportId::new(bytes);
        assert_eq!(DIGITS.to_uppercase().parse(), Ok(id));
        assert_eq!((id.to_string(), id.as_bytes(), id.as_ref()), (DIGITS.to_owned(), &bytes, &bytes[..]));
        assert_eq!(DIGITS.parse(), Ok(id));
        assert_eq!(format!("{id:?}"), format!("ReportId({DIGITS})"));
        let json = format!("\"{DIGITS}\"");
        assert_eq!(serde_json::to_string(&id).unwrap(), json);
        assert_eq!(serde_json::from_str::<ReportId>(&json).unwrap(), id);
    }

    /// A digest has one spelling; an id may have capitals.
    #[test]
    fn what_has_other_digits_or_not_as_many_is_no_name() {
        fn refuses<Name: FromStr<Err = NameError> + PartialEq + fmt::Debug>(
            digits: &str,
            others: &[&str],
            error: NameError,
        ) {
            for (place, bad) in (0..digits.len()).flat_map(|place| others.iter().map(move |bad| (place, bad))) {
                let mut text = digits.to_owned();
                text.replace_range(place..=place, bad);
                assert_eq!(text.parse::<Name>(), Err(error), "{text}");
            }
            for text in [&digits[1..], &digits[2..], "", "0", &format!("{digits}0"), &format!("{digits}00")] {
                assert_eq!(text.parse::<Name>(), Err(error), "{text}");
            }
        }
        refuses::<ReportId>(DIGITS, &["g", "/", ":", "@", "`", " ", "+"], NameError::ReportId);
        let digest = DIGITS.repeat(2);
        assert_eq!(digest.parse::<TaskDigest>().unwrap().to_string(), digest);
        refuses::<TaskDigest>(&digest, &["g", "/", ":", "@", "`", "A", "F"], NameError::TaskDigest);
        assert!(serde_json::from_str::<ReportId>("\"0\"").is_err());
    }
}
