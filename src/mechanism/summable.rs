//! A mechanism's part at the aggregator: from payloads to integer sums.

use core::num::NonZeroUsize;

use super::error::PayloadError;
use super::sealed::Sealed;
use crate::identity::ReportId;

/// The part of a mechanism that sums payloads. It never sees a record. Sealed, as [`LocalRandomizer`] is. It does not
/// know what the sums mean: [`Moments`](super::Moments) does, of those that estimate second moments.
///
/// [`LocalRandomizer`]: super::LocalRandomizer
pub trait Summable: Sealed {
    /// Checks that this mechanism can produce `payload`.
    ///
    /// # Errors
    /// [`PayloadError`] otherwise.
    fn check(&self, payload: &[u8]) -> Result<(), PayloadError>;

    /// The number of sums.
    fn sums_len(&self) -> usize;

    /// The largest magnitude that one payload can add to one of the sums.
    fn largest_entry(&self) -> u32;

    /// Adds payloads to `sums`. Those of a symmetric matrix are its upper triangle, row by row, with the diagonal.
    ///
    /// # Panics
    /// For a payload that [`check`](Self::check) refuses, and `sums` of another length than
    /// [`sums_len`](Self::sums_len): the result would not be a sum.
    fn accumulate(&self, task_key: &[u8; 16], payloads: &[(ReportId, &[u8])], sums: &mut [i64]) {
        self.accumulate_with_threads(task_key, payloads, sums, NonZeroUsize::MIN);
    }

    /// [`accumulate`](Self::accumulate) on up to `threads` threads, each on its own parts of `sums`: the integers are
    /// the same and the state is held once. WebAssembly always uses one thread.
    ///
    /// # Panics
    /// As [`accumulate`](Self::accumulate).
    fn accumulate_with_threads(
        &self,
        task_key: &[u8; 16],
        payloads: &[(ReportId, &[u8])],
        sums: &mut [i64],
        threads: NonZeroUsize,
    );

    /// Checks that honest noise makes `payload` more often than once in 2^40. Where reports are bounded by their form,
    /// it does.
    ///
    /// # Errors
    /// [`PayloadError::Range`] otherwise.
    fn check_range(&self, _payload: &[u8]) -> Result<(), PayloadError> {
        Ok(())
    }

    /// Panics where [`accumulate`](Self::accumulate) says so.
    fn assert_summable(&self, payloads: &[(ReportId, &[u8])], sums: &[i64]) {
        self.assert_sums(sums);
        assert!(payloads.iter().all(|(_, payload)| self.check(payload).is_ok()), "a payload is not of this mechanism");
    }

    /// Panics where these are not sums of this mechanism's payloads.
    fn assert_sums(&self, sums: &[i64]) {
        assert_eq!(sums.len(), self.sums_len(), "the sums are not of this mechanism");
    }
}
