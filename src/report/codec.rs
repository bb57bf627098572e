//! The wire format of a report (docs/reference/wire-format.md). All reports of a task have the same length, so a file
//! or a request body is a plain sequence of them.
//!
//! ```text
//! offset  bytes  what
//!      0      4  "LDPR"
//!      4      1  version, 1
//!      5      8  first 8 bytes of the task's digest
//!     13     16  report id
//!     29      p  payload, as long as the task's mechanism says
//! 29 + p      4  CRC-32 (IEEE) of all bytes before it, little-endian
//! ```

use core::num::NonZeroUsize;

use super::{Report, ReportId, checksum::crc32};
use crate::identity::hex;
use crate::mechanism::{LocalRandomizer, PayloadError, Summable};
use crate::parallel;
use crate::task::{Task, TaskDigest};

const MAGIC: [u8; 4] = *b"LDPR";
const VERSION: u8 = 1;
const HEADER: usize = 29;
const CHECKSUM: usize = 4;

/// Bytes of reports whose decoding takes much longer than starting a thread.
const WORTH_A_THREAD: usize = 1 << 17;

/// The length of every report of `task` in bytes.
#[must_use]
pub fn report_bytes(task: &Task) -> usize {
    framed_bytes(task.mechanism().payload_bytes())
}

/// The length of a report with a payload of `payload_bytes`.
#[must_use]
pub const fn framed_bytes(payload_bytes: usize) -> usize {
    HEADER + payload_bytes + CHECKSUM
}

impl Report {
    /// The report's bytes on the wire.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + self.payload.len() + CHECKSUM);
        bytes.extend(MAGIC);
        bytes.push(VERSION);
        bytes.extend(self.task_prefix);
        bytes.extend(self.id.as_bytes());
        bytes.extend(&self.payload);
        bytes.extend(crc32(&bytes).to_le_bytes());
        bytes
    }

    /// Reads a report of `task`: exactly its bytes, no more and no less.
    ///
    /// # Errors
    /// [`ReportError`] for anything that a randomizer of this task cannot have sent.
    pub fn from_bytes(bytes: &[u8], task: &Task) -> Result<Self, ReportError> {
        if bytes.len() < HEADER + CHECKSUM {
            return Err(ReportError::Length { expected: report_bytes(task), found: bytes.len() });
        }
        if bytes[..4] != MAGIC {
            return Err(ReportError::Magic);
        }
        if bytes[4] != VERSION {
            return Err(ReportError::Version(bytes[4]));
        }
        let task_prefix: [u8; 8] = core::array::from_fn(|place| bytes[5 + place]);
        if task_prefix != task.digest().prefix() {
            return Err(ReportError::OtherTask { expected: hex(&task.digest().prefix()), found: hex(&task_prefix) });
        }
        if bytes.len() != report_bytes(task) {
            return Err(ReportError::Length { expected: report_bytes(task), found: bytes.len() });
        }
        let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if crc32fast::hash(content).to_le_bytes() != checksum {
            return Err(ReportError::Checksum);
        }
        let id = core::array::from_fn(|place| content[13 + place]);
        let payload = content[HEADER..].to_vec();
        task.mechanism().check(&payload)?;
        Ok(Self { task_prefix, id: ReportId::new(id), payload })
    }

    /// Reads many reports on up to `threads` threads: one outcome per row, in order, in parts. Fewer than
    /// `worth_a_thread` bytes get no thread of their own.
    fn many_in_parts(
        rows: &[&[u8]],
        task: &Task,
        threads: NonZeroUsize,
        worth_a_thread: usize,
    ) -> Vec<Vec<Result<Self, ReportError>>> {
        let most = rows.len().div_ceil(threads.get());
        let per_part = most.max(worth_a_thread.div_ceil(report_bytes(task)));
        let mut parts = vec![vec![]; rows.len().div_ceil(per_part)];
        parallel::for_each(rows.chunks(per_part).zip(&mut parts), threads, |(rows, part)| {
            *part = rows.iter().map(|row| Self::from_bytes(row, task)).collect();
        });
        parts
    }
}

/// What our own crates need and others do not.
#[doc(hidden)]
impl Report {
    /// For [`Task::randomize`](crate::task::Task::randomize), whose payload is right by construction, and for tests.
    #[must_use]
    pub fn from_parts(task: TaskDigest, id: ReportId, payload: Vec<u8>) -> Self {
        Self { task_prefix: task.prefix(), id, payload }
    }

    /// [`from_bytes`](Self::from_bytes) for many reports on up to `threads` threads: one outcome per row, in order, in
    /// parts.
    #[must_use]
    pub fn many_from_bytes(rows: &[&[u8]], task: &Task, threads: NonZeroUsize) -> Vec<Vec<Result<Self, ReportError>>> {
        Self::many_in_parts(rows, task, threads, WORTH_A_THREAD)
    }
}

/// Reasons why bytes are not a report of the task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The first bytes are not those of a report.
    #[error("not a report: the first four bytes are not \"LDPR\"")]
    Magic,
    /// Another version of the format.
    #[error("the report has version {0}, and this software reads version {VERSION}: use a release that knows it")]
    Version(u8),
    /// A report that answers another task.
    #[error("the report answers task {found}…, not {expected}…: send it to the aggregator of its own task")]
    OtherTask {
        /// The digest prefix of the task at hand.
        expected: String,
        /// The digest prefix in the report.
        found: String,
    },
    /// Too short or too long.
    #[error("the report has {found} bytes where reports of this task have {expected}: it was cut or is not one report")]
    Length {
        /// The length of the task's reports.
        expected: usize,
        /// The length of this one.
        found: usize,
    },
    /// Altered in transit.
    #[error("the report's checksum does not match: it was altered on its way; send the original bytes again")]
    Checksum,
    /// A payload that the mechanism cannot produce.
    #[error(transparent)]
    Payload(#[from] PayloadError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Bounding;
    use crate::tests;
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    fn double_cap() -> Task {
        tests::task(5, Bounding::UnitNorm, tests::double_cap(2.0, 64, 8), 1)
    }

    fn gaussian() -> Task {
        tests::task(5, Bounding::UnitNorm, tests::gaussian(2.0), 1)
    }

    fn report(task: &Task) -> Report {
        let record = task.bound(vec![1.0, 2.0, 0.0, -1.0, 0.5]).unwrap();
        task.randomize_with_rng(&record, None, &mut ChaCha8Rng::seed_from_u64(1)).unwrap()
    }

    #[test]
    fn the_bytes_are_laid_out_as_documented() {
        for (task, length) in [(double_cap(), 35), (gaussian(), 48)] {
            let report = report(&task);
            let bytes = report.to_bytes();
            assert_eq!((bytes.len(), report_bytes(&task)), (length, length));
            assert_eq!(&bytes[..5], b"LDPR\x01");
            assert_eq!(bytes[5..13], task.digest().as_bytes()[..8]);
            assert_eq!(bytes[13..29], *report.id().as_bytes());
            let end = bytes.len() - 4;
            assert_eq!(bytes[29..end], *report.payload());
            assert_eq!(bytes[end..], crc32fast::hash(&bytes[..end]).to_le_bytes());
            assert_eq!(framed_bytes(report.payload().len()), bytes.len());
        }
    }

    #[test]
    fn every_single_altered_bit_is_noticed_for_what_it_is() {
        for task in [double_cap(), gaussian()] {
            let bytes = report(&task).to_bytes();
            for bit in 0..bytes.len() * 8 {
                let mut altered = bytes.clone();
                altered[bit / 8] ^= 1 << (bit % 8);
                let expected = match bit / 8 {
                    0..4 => ReportError::Magic,
                    4 => ReportError::Version(1 ^ 1 << (bit % 8)),
                    5..13 => {
                        let (expected, found) = (task.digest().to_string(), altered[5..13].iter());
                        let found = found.map(|byte| format!("{byte:02x}")).collect();
                        ReportError::OtherTask { expected: expected[..16].to_owned(), found }
                    }
                    _ => ReportError::Checksum,
                };
                assert_eq!(Report::from_bytes(&altered, &task), Err(expected), "bit {bit}");
            }
        }
    }

    #[test]
    fn what_is_not_a_report_of_the_task_is_refused_by_name() {
        let (task, other) = (double_cap(), gaussian());
        let bytes = report(&task).to_bytes();
        assert!(matches!(Report::from_bytes(&bytes, &other), Err(ReportError::OtherTask { .. })));
        for length in 0..bytes.len() {
            let error = ReportError::Length { expected: 35, found: length };
            assert_eq!(Report::from_bytes(&bytes[..length], &task), Err(error), "{length}");
        }
        // As much as a report without payload has, and one byte less.
        assert_eq!(Report::from_bytes(&[b'x'; 33], &task), Err(ReportError::Magic));
        let shorter = Report::from_bytes(&[b'x'; 32], &task);
        assert_eq!(shorter, Err(ReportError::Length { expected: 35, found: 32 }));
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(Report::from_bytes(&longer, &task), Err(ReportError::Length { expected: 35, found: 36 }));
        // Only a payload can be wrong under a right checksum: the last of 64 candidates is valid, the next is not.
        let with_index = |index: u16| {
            let content = [&bytes[..29], &index.to_le_bytes()].concat();
            Report::from_bytes(&[&content[..], &crc32fast::hash(&content).to_le_bytes()].concat(), &task)
        };
        assert_eq!(with_index(63).unwrap().payload(), [63, 0]);
        assert!(matches!(with_index(64), Err(ReportError::Payload(_))));
    }

    #[test]
    fn many_rows_give_what_each_gives_in_their_order() {
        let task = double_cap();
        let record = task.bound(vec![0.1, 0.2, 0.3, 0.4, 0.5]).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut rows: Vec<Vec<u8>> =
            (0..100).map(|_| task.randomize_with_rng(&record, None, &mut rng).unwrap().to_bytes()).collect();
        rows[43][20] ^= 1;
        rows[99].pop();
        let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        let one_by_one: Vec<_> = rows.iter().map(|row| Report::from_bytes(row, &task)).collect();
        // Ten reports are worth a thread, or eleven where a byte more is.
        for (threads, worth, parts) in [(1, 350, 1), (2, 350, 2), (5, 350, 5), (20, 350, 10), (20, 351, 10), (3, 1, 3)]
        {
            let sizes = NonZeroUsize::new(threads).unwrap();
            let outcome = Report::many_in_parts(&rows, &task, sizes, worth);
            assert_eq!((outcome.len(), outcome.concat()), (parts, one_by_one.clone()), "{threads} threads, {worth}");
            assert_eq!(Report::many_from_bytes(&rows, &task, sizes).concat(), one_by_one);
        }
        let first = |worth| Report::many_in_parts(&rows, &task, NonZeroUsize::new(64).unwrap(), worth)[0].len();
        assert_eq!([first(350), first(351)], [10, 11]);
        let first = |threads| Report::many_in_parts(&rows, &task, NonZeroUsize::new(threads).unwrap(), 1)[0].len();
        assert_eq!([first(4), first(3), first(99)], [25, 34, 2]);
        assert!(Report::many_from_bytes(&[], &task, NonZeroUsize::MIN).is_empty());
    }
}
