//! Centring: one public constant beside every record, so that the same report carries the mean too.
//!
//! Without it a collection estimates `E[x x^T]`, and the mean, where it is not zero, becomes the first component. A
//! task may say `"centring": {"weight": w}`. Then what is randomized is not the bounded record x (d coordinates, in the
//! unit ball) but
//!
//! ```text
//! y = (sqrt(1 - w) x, sqrt(w))                      d + 1 coordinates,   |y|^2 = (1 - w) |x|^2 + w <= 1
//!
//!              ( (1 - w) S               sqrt(w (1 - w)) mu )
//! E[y y^T]  =  (                                            )            S = E[x x^T],   mu = E[x]
//!              ( sqrt(w (1 - w)) mu^T    w                  )
//! ```
//!
//! and the covariance is `S - mu mu^T`. Under unit norm the record is normalised first: S and mu are then those of the
//! directions, which is allowed. A record whose values are all 0 or missing has x = 0: both averages count it with 0.
//!
//! # Privacy
//! *Statement.* A report of a centred task has the guarantee of the same mechanism without centring: the same epsilon,
//! delta, unit, and any two records as neighbours.
//!
//! *Argument.* y is a function of the record and of the public w, and lies in the unit ball of d + 1 dimensions. The
//! mechanism is built for d + 1 coordinates, and its theorem is about any two vectors of that ball, so about any two of
//! this form. That the last coordinate is known to everybody takes nothing away: the theorem assumes no secret but the
//! generator's. (Double-cap lifts y as it lifts x, to `(y, sqrt(1 - |y|^2))`.) *Assumptions* are the mechanism's own,
//! and that w was fixed without looking at the protected records.
//!
//! *No gain is taken.* For `w <= 1/2` none is there: records with `x . x' = -w / (1 - w)` on the sphere give orthogonal
//! y, so the sensitivity of `y y^T` stays sqrt(2). For `w > 1/2` it is less (`sqrt(8 w (1 - w))` between records of
//! length 1); the noise is still that of sqrt(2).
//!
//! # What it costs
//! Let tau be the deviation of an off-diagonal entry without centring. Dividing by the weights makes it
//!
//! ```text
//! tau / (1 - w)            in an entry of S
//! tau / sqrt(w (1 - w))    in an entry of mu  (double-cap: times sqrt(1 + gain w), as y has the energy w there)
//! ```
//!
//! To first order the noise of `S - mu mu^T` is `Q^T N Q`, N that of `E[y y^T]` and `Q = (I / sqrt(1 - w); -mu^T /
//! sqrt(w))`. (The corner of N, which the estimate knows, counts in the one direction of mu only, and without the
//! factor sqrt(d) of what follows.) The columns of Q are orthogonal to y where x = mu: what double-cap adds along the
//! record cancels. Entry ij has the variance `tau^2 (1 / (1 - w)^2 + (mu_i^2 + mu_j^2) / (w (1 - w)))`. The largest
//! eigenvalue is that of a Wigner matrix with the one direction of mu magnified by `r = sqrt(1 + |mu|^2 (1 - w) / w)`.
//! With G the Stieltjes transform of the semicircle it leaves the bulk where `l = r^2 tau^2 d G(l)` has a solution
//! `l = (1 - w) lambda`, that is for `r^2 > 2`:
//!
//! ```text
//! edge = tau sqrt(d) / (1 - w) × 2                      for r^2 <= 2
//!        tau sqrt(d) / (1 - w) × r^2 / sqrt(r^2 - 1)    for r^2 > 2
//! ```
//!
//! *The default* w = 1/4 makes the edge least for the longest mean there can be, `|mu| = 1`: there the edge is
//! `tau sqrt(d) w^(-1/2) (1 - w)^(-3/2)`. The edge grows with |mu|, so no weight has a smaller worst case. It is 1.54
//! times the edge of an uncentred task there, and 1.33 times for `|mu|^2 <= 1/3`; an entry of S has 1.33 times the
//! deviation, so 1.78 times the reports bring back the old one. A task that expects a shorter mean, because its offsets
//! are good, may take less: the best w for a mean of length m solves `2 (1 - m^2) w^2 + (1 + 3 m^2) w = m^2`. The noise
//! of the mean itself is least at w = 1/2.

use nalgebra::DMatrix;
use serde::Serialize;

use crate::decimal::{Decimal, Json};
use crate::json::{Read, Reader, read_object};
use crate::record::BoundedRecord;

/// The weights a task may have. Outside, the smaller of the two parts of a record would drown in the rounding of
/// records to integers, and its estimate in noise.
const WEIGHTS: core::ops::RangeInclusive<f64> = 0.01..=0.99;

/// The public constant's share of a record's energy: the weight w.
///
/// ```
/// use ldp_pca::centring::Centring;
/// assert_eq!(Centring::default().weight(), 0.25);
/// assert_eq!(Centring::new(0.5)?.covariance_factor(), 2.0);
/// assert!(Centring::new(0.0).is_err());
/// # Ok::<(), ldp_pca::centring::CentringError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Centring {
    weight: f64,
}

impl Centring {
    /// Checks the weight.
    ///
    /// # Errors
    /// [`CentringError::Weight`] outside [0.01, 0.99].
    pub fn new(weight: f64) -> Result<Self, CentringError> {
        if WEIGHTS.contains(&weight) { Ok(Self { weight }) } else { Err(CentringError::Weight(weight)) }
    }

    /// The weight w.
    #[must_use]
    pub fn weight(self) -> f64 {
        self.weight
    }

    /// The factor by which centring magnifies the noise of an entry of the second-moment matrix: `1 / (1 - w)`.
    #[must_use]
    pub fn covariance_factor(self) -> f64 {
        1.0 / (1.0 - self.weight)
    }

    /// The factor from the noise of an entry of `E[y y^T]` to that of an entry of the mean: `1 / sqrt(w (1 - w))`.
    #[must_use]
    pub fn mean_factor(self) -> f64 {
        1.0 / (self.weight * (1.0 - self.weight)).sqrt()
    }

    /// By how much the variance of the noise is larger in the direction of a mean with this squared length, as a
    /// multiple of that in other directions: `r^2 - 1` of the module's formulas.
    pub(crate) fn excess(self, mean_norm_squared: f64) -> f64 {
        mean_norm_squared * (1.0 - self.weight) / self.weight
    }

    /// The factor by which centring magnifies the edge of the noise's spectrum when the mean of the bounded records has
    /// the squared length `mean_norm_squared`.
    pub(crate) fn edge_factor(self, mean_norm_squared: f64) -> f64 {
        let excess = self.excess(mean_norm_squared);
        let outlier = if excess <= 1.0 { 1.0 } else { (1.0 + excess) / (2.0 * excess.sqrt()) };
        self.covariance_factor() * outlier
    }

    /// How far an eigenvalue of the covariance moves, at most, where the second moments of y move by a matrix of this
    /// norm and the mean has this length.
    ///
    /// The covariance is `c M - mean mean^T` and a multiple of the identity, M being a block of the second moments.
    /// Where those move by a matrix of norm p, the mean moves by a vector of length q <= f p, and `mean mean^T` by no
    /// more than `q (2 |mean| + q)` in norm: c and f are the two factors.
    pub(crate) fn pull(self, moved: f64, mean_length: f64) -> f64 {
        let shift = self.mean_factor() * moved;
        self.covariance_factor() * moved + shift * (2.0 * mean_length + shift)
    }
}

/// What our own crates need and others do not.
#[doc(hidden)]
impl Centring {
    /// The deviation of an entry of the covariance, as a root mean square over all of them for a mean of this squared
    /// length, from that of an entry of the second moments of y and that of an entry of the mean.
    #[must_use]
    pub fn entry_deviation(self, of_moment: f64, of_mean: f64, mean_norm_squared: f64, dimension: usize) -> f64 {
        let mean_share = 2.0 * mean_norm_squared / dimension as f64;
        let variance = (self.covariance_factor() * of_moment).powi(2)
            + mean_share * (self.mean_factor() * of_moment).powi(2)
            + of_mean.powi(4);
        variance.sqrt()
    }

    /// The covariance (d × d) and the mean of x from the second moments of y, (d + 1) × (d + 1). Noise with this
    /// deviation in an entry of the mean makes `mean mean^T` too large by its square, which is added back.
    #[must_use]
    pub fn centre(self, moments: &DMatrix<f64>, mean_deviation: f64) -> (DMatrix<f64>, Vec<f64>) {
        let dimension = moments.nrows() - 1;
        let last = moments.column(dimension);
        let mean: Vec<f64> = last.iter().take(dimension).map(|entry| entry * self.mean_factor()).collect();
        let mut matrix = moments.view((0, 0), (dimension, dimension)) * self.covariance_factor();
        add_mean_square(&mut matrix, &mean, mean_deviation, -1.0);
        (matrix, mean)
    }

    /// The record y with d + 1 coordinates, in the unit ball as x is (up to rounding).
    #[must_use]
    pub fn augment(self, record: &BoundedRecord) -> BoundedRecord {
        let (share, constant) = ((1.0 - self.weight).sqrt(), self.weight.sqrt());
        let coordinates = record.coordinates().iter().map(|&x| share * without_dust(x)).chain([constant]);
        BoundedRecord::from_parts(coordinates.collect(), record.bounding())
    }
}

/// Adds `sign (mean mean^T - deviation^2 I)`, the unbiased estimate of `E[x] E[x]^T`, in place: matrices may be large.
pub(crate) fn add_mean_square(matrix: &mut DMatrix<f64>, mean: &[f64], deviation: f64, sign: f64) {
    for (index, (mut column, &right)) in matrix.column_iter_mut().zip(mean).enumerate() {
        column.iter_mut().zip(mean).for_each(|(entry, &left)| *entry += sign * left * right);
        column[index] -= sign * deviation * deviation;
    }
}

/// The number, or zero in place of one below 2^-900. Mechanisms round it to zero anyway. If the factor or the product
/// is subnormal, some processors multiply more slowly, which the time would reveal. No branch reveals it either.
pub(crate) fn without_dust(number: f64) -> f64 {
    zero_below(number, 900)
}

/// The number, or zero in place of one below `2^-power`, without a branch that would reveal it.
pub(crate) fn zero_below(number: f64, power: u64) -> f64 {
    let bits = number.to_bits();
    let exponent = bits << 1 >> 53;
    f64::from_bits(bits & u64::from(exponent >= 1023 - power).wrapping_neg())
}

impl Default for Centring {
    /// The weight 1/4, which has the least noise edge in the worst case.
    fn default() -> Self {
        Self { weight: 0.25 }
    }
}

/// The JSON form.
impl Centring {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Read<Self> {
        read_object!(reader, "centring has 'weight' alone", has {
            "weight" => weight: Reader::number,
        });
        Self::new(weight).map_err(|error| reader.refused(&error))
    }

    pub(crate) fn write(self, out: &mut String) {
        out.push_str(&format!(r#"{{"weight":{}}}"#, Json(self.weight)));
    }
}

/// Why a task cannot be centred.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CentringError {
    /// A weight that is not usable.
    #[error(
        "the centring weight is {}: it must be from 0.01 to 0.99 (0.25 has the least noise in the worst \
            case)", Decimal(*.0)
    )]
    Weight(f64),
    /// No room for one more coordinate.
    #[error(
        "centring adds a coordinate to the {0} features, which are as many as there may be: leave out \
         a column, or centring"
    )]
    Dimension(usize),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::record::Bounding;
    use crate::schema::{Column, ColumnKind, Schema};
    use crate::tests::clip;

    /// Weights whose square roots are short: every coordinate is multiplied once, the constant comes last and once,
    /// whatever the record holds.
    #[test]
    fn the_record_is_shrunk_once_and_the_constant_stands_beside_it() {
        let unit = clip(1.0);
        for (weight, share, constant) in [(0.36, 0.8, 0.6), (0.64, 0.6, 0.8), (0.0784, 0.96, 0.28)] {
            let centring = Centring::new(weight).unwrap();
            for row in [vec![0.5], vec![-0.25, 0.5, 0.0, 0.125], vec![0.0; 3], vec![-1.0, 0.0], vec![1e-200, 1e-260]] {
                let record = BoundedRecord::new(row.clone(), unit).unwrap();
                assert_eq!(record.coordinates(), row);
                let augmented = centring.augment(&record);
                assert_eq!((augmented.dimension(), augmented.bounding()), (row.len() + 1, unit));
                let (last, first) = augmented.coordinates().split_last().unwrap();
                assert!((last - constant).abs() < 2e-16, "{weight}: {last}");
                for (y, x) in first.iter().zip(&row) {
                    assert!((y - share * x).abs() <= 4e-16 * x.abs(), "{weight}: {y} for {x}");
                }
                let energy: f64 = augmented.coordinates().iter().map(|y| y * y).sum();
                assert!(energy <= 1.0 + 4e-16, "{energy}");
            }
        }
    }

    /// The randomized vector for a row of a table: offset and scale first, then the bound, then the constant. In
    /// another order, or done twice, each step would give other numbers.
    #[test]
    fn a_row_is_shifted_scaled_bounded_and_then_centred() {
        let numeric = |name: &str, offset, scale| Column::new(name, ColumnKind::Numeric { offset, scale });
        let schema = Schema::new(vec![numeric("a", 10.0, 2.0), numeric("b", -1.0, 0.5)]).unwrap();
        let features = |row: &[f64]| schema.encode_numbers(row);
        let augmented = |row: &[f64], bounding| {
            let record = BoundedRecord::new(features(row), bounding).unwrap();
            Centring::new(0.36).unwrap().augment(&record).coordinates().to_vec()
        };
        let close = |found: Vec<f64>, expected: [f64; 3]| {
            assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 4e-16), "{found:?}");
        };
        let clip = clip(10.0);
        // (16 - 10) / 2 = 3 and (1 + 1) / 0.5 = 4, of length 5; and ten times as far from the offsets.
        assert_eq!(features(&[16.0, 1.0]), [3.0, 4.0]);
        close(augmented(&[16.0, 1.0], clip), [0.8 * 0.3, 0.8 * 0.4, 0.6]);
        close(augmented(&[70.0, 19.0], clip), [0.8 * 0.6, 0.8 * 0.8, 0.6]);
        close(augmented(&[16.0, 1.0], Bounding::UnitNorm), [0.8 * 0.6, 0.8 * 0.8, 0.6]);
        close(augmented(&[4.0, -3.0], Bounding::UnitNorm), [0.8 * -0.6, 0.8 * -0.8, 0.6]);
        // A row at its offsets is the zero vector; a missing value counts as the offset.
        close(augmented(&[10.0, -1.0], clip), [0.0, 0.0, 0.6]);
        close(augmented(&[f64::NAN, 1.0], clip), [0.0, 0.8 * 0.4, 0.6]);
        close(augmented(&[10.0, -1.0], Bounding::UnitNorm), [0.0, 0.0, 0.6]);
    }

    #[test]
    fn dust_becomes_zero_and_all_else_stays() {
        for number in [1.0, -0.5, 2f64.powi(-900), -1e-270, 0.0, f64::MAX] {
            assert_eq!(without_dust(number), number);
        }
        for dust in [2f64.powi(-901), -1e-300, f64::MIN_POSITIVE, 5e-324, -5e-324] {
            assert_eq!(without_dust(dust).to_bits(), 0, "{dust}");
        }
    }

    /// The worst case is the longest mean, and no weight has a better one than the default.
    #[test]
    fn the_default_weight_has_the_least_edge_in_the_worst_case() {
        let default = Centring::default();
        assert!((default.edge_factor(1.0) - 1.5396).abs() < 1e-4);
        assert!((default.edge_factor(1.0 / 3.0) - 4.0 / 3.0).abs() < 1e-12);
        for percent in (1..100).filter(|&percent| percent != 25) {
            let other = Centring::new(f64::from(percent) / 100.0).unwrap();
            assert!(other.edge_factor(1.0) > default.edge_factor(1.0), "{percent} %");
            let by_length = (0..=10).map(|tenth| other.edge_factor(f64::from(tenth) / 10.0));
            assert!(by_length.is_sorted(), "{percent} %");
        }
    }

    #[test]
    fn weights_that_make_no_sense_are_refused_with_the_value() {
        for weight in [0.0, -0.25, 1.0, 0.009, 0.991, f64::NAN, f64::INFINITY] {
            let error = Centring::new(weight).unwrap_err().to_string();
            assert!(error.contains(&format!("is {weight}:")) && error.contains("0.25"), "{error}");
        }
        assert_eq!(json::read(r#"{"weight":0.5}"#, Centring::read).unwrap(), Centring::new(0.5).unwrap());
        for bad in ["{}", r#"{"weight":1}"#, r#"{"weight":null}"#, r#"{"weight":0.5,"x":1}"#, "0.5", "true"] {
            assert!(json::read(bad, Centring::read).is_err(), "{bad}");
        }
    }
}
