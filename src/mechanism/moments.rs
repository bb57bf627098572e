//! A mechanism's part at recovery: from sums to second moments with known noise.

use nalgebra::DMatrix;

use super::cap::Weights;
use super::pull::Pull;
use super::summable::Summable;

/// The part of a mechanism that estimates second moments from sums. Mechanisms that sum something else have none.
pub trait Moments: Summable {
    /// Rows of the summed matrix, whose upper triangle the sums are: d, or d + 1 with double-cap, which lifts the
    /// record.
    fn state_dimension(&self) -> usize;

    /// The unbiased estimate (d × d) of the second-moment matrix of bounded records from the sums of `records` reports.
    /// (With [`double_cap`](super::double_cap) that means up to 1e-3, in spectral norm, for records of length one.)
    /// Without records it is not finite.
    ///
    /// # Panics
    /// For sums of another length than the triangle.
    fn debias(&self, sums: &[i64], records: u64) -> DMatrix<f64>;

    /// The sums that `records` reports with this mean (d × d) would have, in the unit ball: of `x x^T` with its noise,
    /// or of `z z^T`, as [`perturbation`](Self::perturbation) says. Entries that a lift adds are 0: no estimate reads
    /// them.
    fn sums_of_mean(&self, mean: &DMatrix<f64>, records: u64) -> Vec<i64>;

    /// How a report represents its record.
    fn perturbation(&self) -> Perturbation;

    /// Standard deviation that the mechanism gives to one off-diagonal entry of one debiased report: to every one with
    /// additive noise, and to those across the record (both coordinates 0 in it) with double-cap.
    fn entry_deviation(&self) -> f64 {
        self.deviation_beside(0.0)
    }

    /// Standard deviation that the mechanism gives to an off-diagonal entry ij of one debiased report whose record has
    /// `x_i^2 = energy` (0 to 1) and `x_j = 0`.
    fn deviation_beside(&self, energy: f64) -> f64;

    /// The largest eigenvalue that the debiased estimate of `records` reports would have if there were only noise, in
    /// the limit of many features. Eigenvalues that are not above it cannot be distinguished from noise.
    fn noise_edge(&self, records: u64) -> f64;

    /// How far one hostile report can move an eigenvalue of the debiased estimate from the place that the mean of an
    /// honest report gives it, times the number of reports. [`Pull`] has the statement.
    fn pull(&self) -> Pull;
}

/// How one report represents `x x^T`, in the unit ball. Laws, simulations and audits follow from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Perturbation {
    /// It adds independent entries of mean 0 with these standard deviations: normal ones, or such that their mean over
    /// many reports is nearly normal, which is what laws and simulations take it for. What noise hardly ever makes,
    /// [`check_range`](Summable::check_range) refuses.
    Additive {
        /// On the diagonal.
        diagonal: f64,
        /// Off it.
        off_diagonal: f64,
    },
    /// It replaces x with a candidate z, whose second moment is larger along x than across it.
    Directions {
        /// The factor of normal candidates with the second moment `I + gain x x^T` that have nearly the same noise.
        gain: f64,
        /// The second moments of quadratic forms, as they are.
        forms: Forms,
        /// The choice among the candidates, by the rank of their scores.
        weights: Weights,
    },
}

/// For a symmetric matrix Q of trace 0 and the debiased matrix S of one report of a unit vector u, both of so many
/// coordinates: `E <S, Q>^2 = norm |Q|^2 + energy |Q u|^2 + square (u . Q u)^2`.
///
/// Candidates are `z = t u + w`, of length sqrt(m), with w uniform on the sphere across u. Then `<z z^T, Q> = t^2 u . Q
/// u + 2 t u . Q w + w . Q w`. The fourth moments of w follow from those of a sphere in m - 1 dimensions, where a form
/// of trace T and norm N has the mean square `|w|^4 (T^2 + 2 N^2) / (m^2 - 1)`. Across u, Q has the trace `-u . Q u`
/// and the squared norm `|Q|^2 - 2 |Q u|^2 + (u . Q u)^2`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forms {
    /// m.
    pub coordinates: f64,
    /// The coefficient of `|Q|^2` in `E <S, Q>^2`.
    pub norm: f64,
    /// The coefficient of `|Q u|^2` in `E <S, Q>^2`.
    pub energy: f64,
    /// The coefficient of `(u . Q u)^2` in `E <S, Q>^2`.
    pub square: f64,
    /// `1 / gain - 1/m`, with which the largest eigenvalue of one report is that of a normal candidate of its length.
    pub length: f64,
    /// What rounding z to integers adds, times `|Q|^2`, for Q of any trace and few coordinates: where there are
    /// hundreds, the lengths of candidates scatter more, which only forms of nearly the trace of m notice.
    pub rounding: f64,
}

impl Forms {
    /// Those of an estimate that is multiplied by the factor, for records whose squares are.
    pub(crate) fn magnified(self, factor: f64) -> Self {
        let squared = factor * factor;
        Self {
            norm: squared * self.norm,
            energy: factor * self.energy,
            length: factor * self.length,
            rounding: squared * self.rounding,
            ..self
        }
    }
}

/// The number of entries of the upper triangle, diagonal included, of a `rows` × `rows` matrix.
#[must_use]
pub const fn triangle(rows: usize) -> usize {
    rows * (rows + 1) / 2
}

/// The estimate (d × d) from the upper triangle of a matrix of `rows` rows, entry by entry. `entry` takes a sum, and
/// whether it is on the diagonal.
pub(super) fn debiased(sums: &[i64], rows: usize, dimension: usize, entry: impl Fn(i64, bool) -> f64) -> DMatrix<f64> {
    let mut matrix = DMatrix::zeros(dimension, dimension);
    for row in 0..dimension {
        let start = triangle(rows) - triangle(rows - row);
        for column in row..dimension {
            let value = entry(sums[start + column - row], row == column);
            matrix[(row, column)] = value;
            matrix[(column, row)] = value;
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    use super::*;
    use crate::identity::ReportId;
    use crate::mechanism::{LocalRandomizer, Mechanism, PayloadError, RandomizeError};
    use crate::record::{BoundedRecord, Bounding};
    use crate::sampling::bits::tests::ScriptedSource;
    use crate::tests::{clip, double_cap, gaussian};

    /// Of three features: with one byte an entry and with two.
    fn mechanisms() -> Vec<(Mechanism, Bounding)> {
        let (clip, double_cap) = (clip(2.0), double_cap(2.0, 16, 2));
        [(double_cap, Bounding::UnitNorm), (double_cap, clip), (gaussian(1.0), clip), (gaussian(20.0), clip)]
            .map(|(spec, bounding)| (spec.build(3, bounding).unwrap(), bounding))
            .to_vec()
    }

    fn randomized(mechanism: &Mechanism, record: &BoundedRecord) -> Result<Vec<u8>, RandomizeError> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        mechanism.randomize_with_rng(record, &[0; 16], ReportId::new([0; 16]), &mut rng)
    }

    fn panics<T>(call: impl FnOnce() -> T) -> bool {
        catch_unwind(AssertUnwindSafe(call)).is_err()
    }

    #[test]
    fn a_failing_source_gives_an_error_and_no_payload() {
        for (mechanism, bounding) in mechanisms() {
            let record = BoundedRecord::new(vec![0.3; 3], bounding).unwrap();
            let mut source = ScriptedSource::failing(0);
            assert!(mechanism.randomize_with_rng(&record, &[0; 16], ReportId::new([0; 16]), &mut source).is_err());
        }
    }

    /// Gaussian noise looks only at the coordinates: everything in the unit ball has the guarantee. (Double-cap's tests
    /// show the same for its law.)
    #[test]
    fn gaussian_noise_is_the_same_however_a_record_was_bounded() {
        for (mechanism, bounding) in mechanisms().into_iter().skip(2) {
            let record = BoundedRecord::new(vec![0.3, -1.0, 0.0], bounding).unwrap();
            let other = BoundedRecord::from_parts(record.coordinates().to_vec(), Bounding::UnitNorm);
            assert_eq!(randomized(&mechanism, &record), randomized(&mechanism, &other));
        }
    }

    #[test]
    fn payloads_of_another_length_are_refused_and_never_summed() {
        for (mechanism, bounding) in mechanisms() {
            let record = BoundedRecord::new(vec![0.3; 3], bounding).unwrap();
            let payload = randomized(&mechanism, &record).unwrap();
            assert_eq!(mechanism.check(&payload), Ok(()));
            let sums = vec![0; triangle(mechanism.state_dimension())];
            let expected = payload.len();
            for found in [0, 1, expected - 1, expected + 1, 2 * expected] {
                let other = vec![0; found];
                assert_eq!(mechanism.check(&other), Err(PayloadError::Length { expected, found }));
                let both = [(ReportId::new([0; 16]), &payload[..]), (ReportId::new([1; 16]), &other[..])];
                assert!(panics(|| mechanism.accumulate(&[0; 16], &both, &mut sums.clone())), "{found}");
            }
            for length in [0, sums.len() - 1, sums.len() + 1, 2 * sums.len()] {
                let mut other = vec![0; length];
                assert!(panics(|| mechanism.debias(&other, 1)), "{length}");
                assert!(panics(|| mechanism.accumulate(&[0; 16], &[], &mut other)), "{length}");
            }
            assert!(!panics(|| mechanism.debias(&sums, 0)));
        }
    }

    #[test]
    fn a_candidate_that_does_not_exist_is_never_summed() {
        for (mechanism, _) in mechanisms().into_iter().take(2) {
            let mut sums = vec![0; triangle(mechanism.state_dimension())];
            let payload = 16u16.to_le_bytes();
            assert!(panics(|| mechanism.accumulate(&[0; 16], &[(ReportId::new([0; 16]), &payload)], &mut sums)));
        }
    }
}
