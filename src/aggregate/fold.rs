//! The sum of the reports of one fold.

/// The most reports an aggregate can hold, in all folds together. No sum of that many leaves an `i64`, in one fold or
/// in all.
pub const MAX_RECORDS: u64 = 1 << 40;

/// The sum of the reports of one fold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldSum {
    pub(super) records: u64,
    pub(super) sums: Vec<i64>,
}

impl FoldSum {
    /// The number of reports.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The sums, in the order of the mechanism: of second moments the upper triangle, row by row.
    #[must_use]
    pub fn sums(&self) -> &[i64] {
        &self.sums
    }

    /// Adds another fold of the same shape. [`MAX_RECORDS`] keeps the sums of both far from the ends of an `i64`.
    pub(crate) fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.sums.iter_mut().zip(&other.sums).for_each(|(ours, theirs)| *ours += *theirs);
    }

    /// Whether that many reports can have this sum, if each adds at most `largest` to an entry.
    pub(super) fn is_possible(&self, largest: u32) -> bool {
        let most = self.records.checked_mul(largest.into());
        most.is_some_and(|most| self.sums.iter().all(|sum| sum.unsigned_abs() <= most))
    }
}
