//! The bytes of an aggregate's state (docs/reference/wire-format.md): the same for the same reports, however they were
//! summed.
//!
//! ```text
//! offset  bytes  what
//!      0      4  "LDPA"
//!      4      1  version, 1
//!      5     32  task digest
//!     37         per fold: number of reports (u64), then the mechanism's sums (i64 each)
//!          20 t  the first t tags of the reports' ids, ascending
//!    end      4  CRC-32 (IEEE) of all bytes before it
//! ```
//!
//! All integers are little-endian. t is the number of reports, at most 1,024.

use core::convert::Infallible;

use super::sketch::Sketch;
use super::{Aggregate, AggregateError, FoldSum, MAX_RECORDS, MOST_TAGS, TAG_BYTES, VERSION};
use crate::mechanism::Summable;
use crate::task::{Task, TaskDigest};

const MAGIC: [u8; 4] = *b"LDPA";
const HEADER: usize = 4 + 1 + 32;
const CHECKSUM: usize = 4;

/// Bytes that are passed on together, except single ones.
const BYTES_AT_ONCE: usize = 1 << 14;

impl Aggregate {
    /// The bytes of the state.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let entries: usize = self.folds.iter().map(|fold| 1 + fold.sums.len()).sum();
        let length = HEADER + 8 * entries + TAG_BYTES * self.ids.tags().len() + CHECKSUM;
        let mut bytes = Vec::with_capacity(length);
        let Ok(()) = self.visit_bytes(|part| {
            bytes.extend_from_slice(part);
            Ok::<(), Infallible>(())
        });
        bytes
    }

    /// Passes the bytes of the state to `visit` in parts of a few kilobytes, for callers without room for all of them
    /// beside the state.
    ///
    /// # Errors
    /// The first error of `visit`; nothing is passed after it.
    #[doc(hidden)]
    pub fn visit_bytes<E>(&self, mut visit: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut checksum = crc32fast::Hasher::new();
        let mut visit_content = |part: &[u8]| {
            checksum.update(part);
            visit(part)
        };
        visit_content(&MAGIC)?;
        visit_content(&[VERSION])?;
        visit_content(self.task.as_bytes())?;
        let mut bytes = Vec::with_capacity(BYTES_AT_ONCE);
        for fold in &self.folds {
            visit_content(&fold.records.to_le_bytes())?;
            for sums in fold.sums.chunks(BYTES_AT_ONCE / 8) {
                bytes.clear();
                bytes.extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
                visit_content(&bytes)?;
            }
        }
        for tags in self.ids.tags().chunks(BYTES_AT_ONCE / TAG_BYTES) {
            visit_content(tags.as_flattened())?;
        }
        visit(&checksum.finalize().to_le_bytes())
    }

    /// Reads the state of an aggregate of `task`.
    ///
    /// # Errors
    /// [`AggregateError`] for anything else. The length is checked before anything is allocated.
    pub fn from_bytes(bytes: &[u8], task: &Task) -> Result<Self, AggregateError> {
        let entries = 1 + task.mechanism().sums_len();
        let shortest = HEADER + 8 * entries * task.folds().count() + CHECKSUM;
        let other_length = |expected| Err(AggregateError::Length { expected, found: bytes.len() });
        if bytes.len() < HEADER {
            return other_length(shortest);
        }
        if bytes[..4] != MAGIC {
            return Err(AggregateError::Magic);
        }
        if bytes[4] != VERSION {
            return Err(AggregateError::Version(bytes[4]));
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(&bytes[5..HEADER]);
        if digest != *task.digest().as_bytes() {
            return Err(AggregateError::OtherTask { expected: task.digest(), found: TaskDigest::new(digest) });
        }
        let is_length = |tags: usize| tags.is_multiple_of(TAG_BYTES) && tags / TAG_BYTES <= MOST_TAGS;
        if !bytes.len().checked_sub(shortest).is_some_and(is_length) {
            return other_length(shortest);
        }
        let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
        if crc32fast::hash(content).to_le_bytes() != checksum {
            return Err(AggregateError::Checksum);
        }
        let (sums, tags) = content[HEADER..].split_at(8 * entries * task.folds().count());
        let mut words = sums.as_chunks().0.iter().copied();
        let folds = (0..task.folds().count())
            .map(|_| FoldSum {
                records: words.next().map_or(0, u64::from_le_bytes),
                sums: words.by_ref().take(entries - 1).map(i64::from_le_bytes).collect(),
            })
            .collect::<Vec<FoldSum>>();
        let largest = task.mechanism().largest_entry();
        let records = folds.iter().try_fold(0u64, |records, fold| records.checked_add(fold.records));
        let records =
            records.filter(|records| *records <= MAX_RECORDS && folds.iter().all(|fold| fold.is_possible(largest)));
        let ids = records.and_then(|records| Sketch::new(records, tags.as_chunks().0));
        Ok(Self { task: task.digest(), folds, ids: ids.ok_or(AggregateError::NotASum)? })
    }
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroUsize;

    use super::super::tests::{reports, tasks};
    use super::*;
    use crate::record::Bounding;
    use crate::tests::{double_cap, sum, task};

    fn sealed(mut content: Vec<u8>) -> Vec<u8> {
        content.extend(crc32fast::hash(&content).to_le_bytes());
        content
    }

    #[test]
    fn the_parts_of_the_bytes_stop_at_an_error() {
        let aggregate = Aggregate::empty(&tasks()[0]);
        let mut parts = 0;
        let outcome = aggregate.visit_bytes(|_| {
            parts += 1;
            if parts == 3 { Err("full") } else { Ok(()) }
        });
        assert_eq!((outcome, parts), (Err("full"), 3));
    }

    #[test]
    fn what_is_not_a_state_of_the_task_is_refused_by_name() {
        let tasks = tasks();
        let [expected, found] = [tasks[0].digest(), tasks[1].digest()];
        let mut aggregate = Aggregate::empty(&tasks[0]);
        let turned = AggregateError::OtherTask { expected: found, found: expected };
        assert_eq!(aggregate.accumulate(&tasks[1], &[]), Err(turned.clone()));
        assert_eq!(aggregate.merge(&Aggregate::empty(&tasks[1])), Err(AggregateError::OtherTask { expected, found }));
        // The one report of another task is named, and the good ones beside it are not added.
        let (mut mixed, foreign) = (reports(&tasks[0], 3), reports(&tasks[1], 4).pop().unwrap());
        mixed.insert(2, foreign.clone());
        for threads in [1, 2] {
            let outcome = aggregate.accumulate_with_threads(&tasks[0], &mixed, NonZeroUsize::new(threads).unwrap());
            assert_eq!(outcome, Err(AggregateError::OtherReport(foreign.id())));
        }
        assert_eq!(aggregate, Aggregate::empty(&tasks[0]));

        let bytes = aggregate.to_bytes();
        assert_eq!(Aggregate::from_bytes(&bytes, &tasks[1]), Err(turned));
        let read = |bytes: &[u8]| Aggregate::from_bytes(bytes, &tasks[0]).unwrap_err();
        for length in 0..bytes.len() {
            let error = AggregateError::Length { expected: bytes.len(), found: length };
            assert_eq!(read(&bytes[..length]), error, "{length}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(read(&longer), AggregateError::Length { expected: bytes.len(), found: bytes.len() + 1 });
        for byte in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[byte] ^= 0x10;
            let error = match byte {
                0..4 => AggregateError::Magic,
                4 => AggregateError::Version(0x11),
                5..37 => {
                    let mut digest = *expected.as_bytes();
                    digest[byte - 5] ^= 0x10;
                    AggregateError::OtherTask { expected, found: TaskDigest::new(digest) }
                }
                _ => AggregateError::Checksum,
            };
            assert_eq!(read(&altered), error, "{byte}");
        }
        // A header and nothing else, of something else.
        assert_eq!(read(&[b'x'; HEADER]), AggregateError::Magic);
        assert_eq!(read(&[b'x'; HEADER - 1]), AggregateError::Length { expected: bytes.len(), found: HEADER - 1 });
    }

    #[test]
    fn the_bytes_are_laid_out_as_documented_and_come_in_parts_of_a_few_kilobytes() {
        // 2556 sums, and 1024 tags, more than are passed together.
        let task = task(70, Bounding::UnitNorm, double_cap(2.0, 16, 2), 3);
        let mut aggregate = Aggregate::empty(&task);
        let mut expected = [&b"LDPA\x01"[..], task.digest().as_bytes()].concat();
        for (fold, index) in aggregate.folds.iter_mut().zip(0i64..) {
            fold.records = 1000 + index.unsigned_abs();
            expected.extend(fold.records.to_le_bytes());
            assert_eq!(fold.sums.len(), 2556);
            for (sum, place) in fold.sums.iter_mut().zip(0..) {
                *sum = place - 1000 * index;
                expected.extend(sum.to_le_bytes());
            }
        }
        let tags: Vec<[u8; 20]> = (1..=MOST_TAGS as u32)
            .map(|place| {
                let mut tag = [9; 20];
                tag[..4].copy_from_slice(&place.to_be_bytes());
                tag
            })
            .collect();
        expected.extend(tags.as_flattened());
        aggregate.ids = Sketch::new(3003, &tags).unwrap();
        let expected = sealed(expected);
        assert_eq!(aggregate.to_bytes(), expected);
        let (mut visited, mut longest) = (Vec::new(), 0);
        let Ok(()) = aggregate.visit_bytes(|part| {
            visited.extend_from_slice(part);
            longest = longest.max(part.len());
            Ok::<(), Infallible>(())
        });
        assert_eq!((visited, longest), (expected, BYTES_AT_ONCE));
        assert_eq!(Aggregate::from_bytes(&aggregate.to_bytes(), &task), Ok(aggregate));
    }

    /// A checksum is not a signature: the writer of a file also writes its checksum.
    #[test]
    fn sums_that_no_reports_can_have_are_refused() {
        for task in tasks() {
            let largest = i64::from(task.mechanism().largest_entry());
            let read = |records: [u64; 2], sum| {
                let mut forged = Aggregate::empty(&task);
                let folds = forged.folds.len();
                forged.folds[folds - 1].records = records[1];
                forged.folds[0].records = records[0];
                forged.folds[0].sums[1] = sum;
                let all = forged.folds.iter().fold(0u64, |all, fold| all.saturating_add(fold.records));
                forged.ids = Sketch::of_any(all);
                Aggregate::from_bytes(&forged.to_bytes(), &task).map(|aggregate| aggregate.records())
            };
            for (records, sum) in [(0, 1), (0, i64::MIN), (3, 3 * largest + 1), (3, -3 * largest - 1), (5, i64::MAX)] {
                assert_eq!(read([records, records], sum), Err(AggregateError::NotASum), "{records} {sum}");
            }
            for records in [[MAX_RECORDS + 1; 2], [u64::MAX; 2]] {
                assert_eq!(read(records, 0), Err(AggregateError::NotASum), "{records:?}");
            }
            assert!(read([3, 3], 3 * largest).is_ok());
            assert!(read([3, 3], -3 * largest).is_ok());
        }
    }

    /// Cut, and altered with the right checksum.
    #[test]
    fn tags_that_reports_cannot_have_are_refused() {
        let task = &tasks()[1];
        let aggregate = sum(task, &reports(task, 40));
        let bytes = aggregate.to_bytes();
        let content = &bytes[..bytes.len() - CHECKSUM];
        let first = content.len() - 40 * TAG_BYTES;
        let read = |content: Vec<u8>| Aggregate::from_bytes(&sealed(content), task);
        assert_eq!(read(content.to_vec()), Ok(aggregate));
        let mut swapped = content.to_vec();
        swapped[first..].as_chunks_mut::<TAG_BYTES>().0.swap(3, 4);
        let mut twice = content.to_vec();
        twice.copy_within(first..first + TAG_BYTES, first + TAG_BYTES);
        let cut = content[..content.len() - TAG_BYTES].to_vec();
        let longer = [content, &[255; TAG_BYTES]].concat();
        for forged in [swapped, twice, cut, longer] {
            assert_eq!(read(forged), Err(AggregateError::NotASum));
        }
        for length in bytes.len() - 3 * TAG_BYTES..bytes.len() {
            let error = Aggregate::from_bytes(&bytes[..length], task).unwrap_err();
            let whole_tags = (bytes.len() - length).is_multiple_of(TAG_BYTES);
            assert_eq!(error == AggregateError::Checksum, whole_tags, "{length} {error}");
            assert_eq!(matches!(error, AggregateError::Length { .. }), !whole_tags);
        }
    }
}
