//! Refinement: a second wave of people reports only what the first wave left open, the part of the covariance between
//! the components that were found and all that is across them.
//!
//! *The task.* It names the first wave's task (`parent`) and has public parameters that were computed from that wave's
//! sums: k nearly orthonormal directions V, a weight w for each, and a clip c. A bounded record x has the parts
//! `a = V' x` along the directions and `b = x - V a` across them. Its report is one [`signed_cap`] of the k d products
//! `w_j a_j b_i / c`, which are shortened where `|w a| |b| > c`. Their mean over many people is the *cross block*
//! `E[b a'] = (I - V V') S V` of the second moments S: [`SecondWave`]. The integers below round `a_j` to `2^-20 /
//! w_j`, and both lengths up to the next multiple of 2^-20: with weights near 1 and clips near 1 neither can be seen,
//! and with the smallest permitted ones little is left.
//!
//! *The integers.* All clients compute the same integers from the same record:
//!
//! ```text
//! X_i = floor(2^20 x_i + 1/2)
//! a_j = floor((sum_i V_ji X_i + 2^19) / 2^20)                the directions V in units of 2^-20
//! b_i = X_i - floor((sum_j V_ji a_j + 2^19) / 2^20)
//! p_j = floor((W_j a_j + 2^15) / 2^16)                       the weights W in units of 2^-16
//! M   = ceil(sqrt(|p|^2)) ceil(sqrt(|b|^2))
//! T   = max(C, M)                                            the clip C in units of 2^-40
//! u   = (p_1 b_1 / T, p_1 b_2 / T, …, p_k b_d / T, sqrt((T - M) (T + M)) / T)
//! ```
//!
//! # Statement
//! For every refinement that [`Refinement::new`] accepts, whoever chose it, and every record in the unit ball: no
//! integer overflows, every `p_j b_i`, M, T, T - M and T + M is below 2^53 in magnitude, and `|u| <= 1` up to the
//! roundings of its k d + 1 coordinates. The steps are the same for every record. (The guarantee needs none of this: it
//! holds for every u.)
//!
//! # Argument
//! `|X| <= 2^20 + sqrt(d) / 2 < 2^20 + 91`. The checks put the diagonal of `V'V` within 2^-8 of 1, and the other
//! entries within 2^-8 of 0. So its eigenvalues are within `k 2^-8 <= 1/4` of 1 (Gershgorin), and `|V| <= sqrt(5/4) <
//! 1.12`. Hence `|a| <= 1.12 |X| + sqrt(k) / 2 < 2^20.2`. `I - V V'` has eigenvalues from -1/4 to 1, so that `|b| <=
//! |X| + 1.12 sqrt(k) / 2 + sqrt(d) / 2 < 2^20.1`. With `W <= 2^24`, `|p| <= 2^8 |a| + sqrt(k) / 2 < 2^28.3`. So `|p|^2
//! < 2^57`, `M < 2^49` and, since `C <= 2^48`, `T < 2^49`.
//!
//! Since M is no less than `|p| |b|`, the products have the length `|p| |b| / T <= M / T`, and the last coordinate
//! makes the whole 1 or, because roots are rounded up, a little less. Quotients of integers below 2^53 and square roots
//! are correctly rounded by IEEE 754, on every machine.
//!
//! *Time.* Rounding, sums and products take the same steps for every record; maxima are selections without a branch.
//! Quotients and roots are of normal numbers or 0, as those of double-cap's lift are.
//!
//! [`SecondWave`]: super::SecondWave
//! [`signed_cap`]: super::signed_cap

use core::ops::RangeInclusive;

use nalgebra::DMatrix;

use crate::centring::without_dust;
use crate::identity::TaskDigest;
use crate::json::{Read, Reader, read_object, write_array, write_wholes};
use crate::mechanism::cap::root;
use crate::schema::MAX_DIMENSION;

/// The most directions, k.
pub const MAX_DIRECTIONS: usize = 64;

/// Binary places of directions, and of records.
pub(crate) const DIRECTION_PLACES: u32 = 20;
/// Binary places of weights.
const WEIGHT_PLACES: u32 = 16;
/// Binary places of the clip: those of a record's product with a record.
const CLIP_PLACES: u32 = 2 * DIRECTION_PLACES;

/// The permitted entries of directions, in units.
const ENTRIES: RangeInclusive<i64> = -(1 << DIRECTION_PLACES)..=1 << DIRECTION_PLACES;
/// The permitted weights, in units.
const WEIGHTS: RangeInclusive<i64> = 1..=1 << 24;
/// The permitted clips, in units.
const CLIPS: RangeInclusive<i64> = 1 << 20..=1 << 48;
/// How far an entry of `V'V` may be from that of the identity, in the square of the directions' unit: 2^-8.
const MOST_OFF: i64 = 1 << (2 * DIRECTION_PLACES - 8);

/// The public parameters of a second wave, as integers: the module `refinement` says what they mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refinement {
    parent: TaskDigest,
    directions: Vec<Vec<i64>>,
    weights: Vec<i64>,
    clip: i64,
}

impl Refinement {
    /// Checks the integers: `directions` are k rows of d integers in units of 2^-20, `weights` k integers in units of
    /// 2^-16, `clip` is in units of 2^-40.
    ///
    /// # Errors
    /// [`RefinementError`] unless there are 1 to 64 directions, fewer than features and with at most 32,768 integers in
    /// all, nearly orthonormal (entries of `V'V` within 2^-8 of those of the identity, entries of V at most 1), with
    /// weights from 2^-16 to 256 and a clip from 2^-20 to 256.
    pub fn new(
        parent: TaskDigest,
        directions: Vec<Vec<i64>>,
        weights: Vec<i64>,
        clip: i64,
    ) -> Result<Self, RefinementError> {
        let (count, dimension) = (directions.len(), directions.first().map_or(0, Vec::len));
        let fits = (1..=MAX_DIRECTIONS).contains(&count) && count < dimension && count * dimension <= MAX_DIMENSION;
        if !fits || weights.len() != count || directions.iter().any(|direction| direction.len() != dimension) {
            return Err(RefinementError::Shape { count, dimension });
        }
        let within = |numbers: &[i64], range: &RangeInclusive<i64>| numbers.iter().all(|number| range.contains(number));
        let entries = directions.iter().all(|direction| within(direction, &ENTRIES));
        if !entries || !within(&weights, &WEIGHTS) || !within(&[clip], &CLIPS) {
            return Err(RefinementError::Range);
        }
        for (place, direction) in directions.iter().enumerate() {
            for (other, second) in directions[..=place].iter().enumerate() {
                // At most 32,768 × 2^40.
                let of_identity = if other == place { 1 << (2 * DIRECTION_PLACES) } else { 0 };
                if (dot(direction, second) - of_identity).abs() > MOST_OFF {
                    return Err(RefinementError::NotOrthonormal { first: other + 1, second: place + 1 });
                }
            }
        }
        Ok(Self { parent, directions, weights, clip })
    }

    /// The refinement with these directions (d × k), weights and clip, rounded to integers.
    ///
    /// # Errors
    /// As [`Refinement::new`].
    pub fn from_parts(
        parent: TaskDigest,
        directions: &DMatrix<f64>,
        weights: &[f64],
        clip: f64,
    ) -> Result<Self, RefinementError> {
        if !(directions.iter().chain(weights).all(|number| number.is_finite()) && clip.is_finite()) {
            return Err(RefinementError::Range);
        }
        // Casts turn what is too large into the largest, which `new` refuses.
        let rounded = |number: f64, places: u32| (number * (1u64 << places) as f64).round();
        let of_column = |column: usize| {
            directions.column(column).iter().map(|&entry| rounded(entry, DIRECTION_PLACES) as i64).collect()
        };
        Self::new(
            parent,
            (0..directions.ncols()).map(of_column).collect(),
            weights.iter().map(|&weight| rounded(weight, WEIGHT_PLACES) as i64).collect(),
            rounded(clip, CLIP_PLACES) as i64,
        )
    }

    /// One along the first axes, where a task's size matters and its directions do not.
    ///
    /// # Errors
    /// [`RefinementError::Shape`].
    pub(crate) fn along_axes(parent: TaskDigest, dimension: usize, rank: usize) -> Result<Self, RefinementError> {
        if rank > MAX_DIRECTIONS {
            return Err(RefinementError::Shape { count: rank, dimension });
        }
        let axes = DMatrix::identity(dimension, rank.min(dimension));
        Self::from_parts(parent, &axes, &vec![1.0; rank], 1.0)
    }

    /// The digest of the first wave's task.
    #[must_use]
    pub fn parent(&self) -> TaskDigest {
        self.parent
    }

    /// The number of features, d.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.directions[0].len()
    }

    /// The number of directions, k.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.directions.len()
    }

    /// V, d × k.
    #[must_use]
    pub fn directions(&self) -> DMatrix<f64> {
        DMatrix::from_fn(self.dimension(), self.rank(), |row, column| {
            self.directions[column][row] as f64 / f64::from(1u32 << DIRECTION_PLACES)
        })
    }

    /// w: one for each direction.
    #[must_use]
    pub fn weights(&self) -> Vec<f64> {
        self.weights.iter().map(|&weight| weight as f64 / f64::from(1u32 << WEIGHT_PLACES)).collect()
    }

    /// c: the longest `w a × b` that is not shortened, in the units of bounded records.
    #[must_use]
    pub fn clip(&self) -> f64 {
        self.clip as f64 / (1u64 << CLIP_PLACES) as f64
    }

    /// The number of coordinates of what is randomized: k d + 1.
    #[must_use]
    pub fn coordinates(&self) -> usize {
        self.rank() * self.dimension() + 1
    }

    /// u, for a record of d coordinates in the unit ball.
    pub(crate) fn direction(&self, record: &[f64]) -> Vec<f64> {
        let x: Vec<i64> = record.iter().map(|&coordinate| rounded(coordinate)).collect();
        let (mut part, mut weighted) = (vec![0; x.len()], vec![0; self.rank()]);
        for ((direction, weight), p) in self.directions.iter().zip(&self.weights).zip(&mut weighted) {
            let a = shifted(dot(direction, &x), DIRECTION_PLACES);
            part.iter_mut().zip(direction).for_each(|(part, v)| *part += v * a);
            *p = shifted(weight * a, WEIGHT_PLACES);
        }
        let across: Vec<i64> = x.iter().zip(part).map(|(x, part)| x - shifted(part, DIRECTION_PLACES)).collect();
        let [along, beside] = [&weighted, &across].map(|part| root_up(dot(part, part) as u64));
        let most = along * beside;
        // The larger of both, without a branch.
        let clip = self.clip as u64;
        let longer = u64::from(most > clip).wrapping_neg();
        let whole = longer & most | !longer & clip;
        let over = whole as f64;
        let rest = ((whole - most) as f64 * (whole + most) as f64).sqrt() / over;
        let mut u = vec![rest; self.coordinates()];
        for (u, p) in u.chunks_mut(x.len()).zip(weighted) {
            u.iter_mut().zip(&across).for_each(|(u, b)| *u = (p * b) as f64 / over);
        }
        u
    }
}

/// The sum of products. Not inlined: that saves the browsers' module 2 kB.
#[inline(never)]
fn dot(a: &[i64], b: &[i64]) -> i64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `floor(2^20 x + 1/2)`. The number that is cut off is positive, so that no rounding mode is needed.
#[inline(never)]
pub(crate) fn rounded(coordinate: f64) -> i64 {
    const UNIT: f64 = (1u32 << DIRECTION_PLACES) as f64;
    (without_dust(coordinate).clamp(-1.0, 1.0) * UNIT + (2.0 * UNIT + 0.5)) as i64 - (2 << DIRECTION_PLACES)
}

/// The quotient by a power of two, to the nearest integer.
fn shifted(number: i64, places: u32) -> i64 {
    (number + (1 << (places - 1))) >> places
}

/// `ceil(sqrt(square))`, for squares up to 2^62.
#[inline(never)]
fn root_up(square: u64) -> u64 {
    let root = u64::from(root(square));
    root + u64::from(root * root < square)
}

/// The JSON form.
impl Refinement {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Read<Self> {
        read_object!(reader, "a refinement has 'parent', 'directions', 'weights' and 'clip'", has {
            "parent" => parent: Reader::parsed,
            "directions" => directions: |reader| reader.list(|reader| reader.wholes(&ENTRIES)),
            "weights" => weights: |reader| reader.wholes(&WEIGHTS),
            "clip" => clip: |reader| reader.whole(&CLIPS),
        });
        Self::new(parent, directions, weights, clip).map_err(|error| reader.refused(&error))
    }

    pub(crate) fn write(&self, out: &mut String) {
        out.push_str(&format!("{{\"parent\":\"{}\",\"directions\":", self.parent));
        write_array(&self.directions, out, |direction, out| write_wholes(direction, out));
        out.push_str(",\"weights\":");
        write_wholes(&self.weights, out);
        out.push_str(&format!(",\"clip\":{}}}", self.clip));
    }
}

/// Why a refinement was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefinementError {
    /// Too few or too many directions, or others than the first one's or the weights' number say.
    #[error(
        "{count} directions, the first of {dimension} numbers: a refinement has 1 to {MAX_DIRECTIONS} directions, \
         fewer than features, all of the same length, at most {MAX_DIMENSION} numbers in all, and one weight for each"
    )]
    Shape {
        /// k.
        count: usize,
        /// d.
        dimension: usize,
    },
    /// A number out of range.
    #[error(
        "a number is out of range: entries are from -2^20 to 2^20 in units of 2^-20, weights from 1 to 2^24 in units \
         of 2^-16, and the clip from 2^20 to 2^48 in units of 2^-40"
    )]
    Range,
    /// Directions that are not orthonormal.
    #[error(
        "the product of directions {first} and {second} is not within 2^-8 of that of orthonormal ones: orthonormalize \
         them first"
    )]
    NotOrthonormal {
        /// One direction, from 1.
        first: usize,
        /// The other.
        second: usize,
    },
    /// Directions for other features.
    #[error("the refinement has directions of {found} features, and the schema has {expected}")]
    Dimension {
        /// The number of features.
        expected: usize,
        /// The length of a direction.
        found: usize,
    },
    /// A refinement of another task.
    #[error("the refinement is of task {found}, not of this one, {expected}: make it from this task's sums")]
    Parent {
        /// The task at hand.
        expected: TaskDigest,
        /// The parent.
        found: TaskDigest,
    },
    /// A refinement with centring.
    #[error("a refinement does not go with 'centring': refine a task without it")]
    Centring,
    /// A refinement of a refinement.
    #[error("the task is a refinement itself: refine the task of the first wave")]
    Twice,
    /// A refinement with another mechanism.
    #[error("a refinement has the mechanism 'signed-cap', and no other")]
    Mechanism,
    /// The mechanism without a refinement.
    #[error("the mechanism 'signed-cap' needs the directions of a 'refinement': use 'double-cap' for a first wave")]
    Missing,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::json;
    use chacha20::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    fn parent() -> TaskDigest {
        TaskDigest::new([9; 32])
    }

    /// Refinements at the ends of what is accepted.
    pub(crate) fn extreme_refinements() -> Vec<Refinement> {
        let one = 1 << 20;
        let axes = |count: usize, dimension: usize, entry: i64, rest: i64| -> Vec<Vec<i64>> {
            (0..count)
                .map(|row| (0..dimension).map(|column| if row == column { entry } else { rest }).collect())
                .collect()
        };
        let clips = [1i64 << 20, (1 << 40) + 1, 1 << 48];
        let mut all = vec![];
        for clip in clips {
            for (directions, weight) in [
                (axes(1, 2, one, 0), 1),
                (axes(1, 3, -one, 1000), 1 << 24),
                // Squares at both ends, and all products at one end.
                (axes(3, 5, 1_046_526, 0), 1 << 16),
                (axes(4, 9, 1_046_530, 2000), 1 << 24),
                (axes(64, 65, 1_047_552, 1900), 1 << 24),
            ] {
                let weights = vec![weight; directions.len()];
                all.push(Refinement::new(parent(), directions, weights, clip).unwrap());
            }
        }
        all
    }

    /// Vectors in the unit ball and at its edge.
    pub(crate) fn records(dimension: usize) -> Vec<Vec<f64>> {
        let flat = 1.0 / (dimension as f64).sqrt();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let axis = |place: usize, value: f64| {
            let mut x = vec![0.0; dimension];
            x[place] = value;
            x
        };
        let drawn = |rng: &mut ChaCha8Rng| {
            let x: Vec<f64> = (0..dimension).map(|_| rng.random::<f64>() - 0.5).collect();
            let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            x.into_iter().map(|x| x / norm).collect::<Vec<f64>>()
        };
        let mut half = axis(0, 0.5f64.sqrt());
        half[dimension - 1] = -(0.5f64.sqrt());
        let mut all = vec![
            vec![0.0; dimension],
            vec![-0.0; dimension],
            vec![flat; dimension],
            vec![-flat; dimension],
            vec![1e-310; dimension],
            vec![1e-6; dimension],
            axis(0, 1.0),
            axis(dimension - 1, -1.0),
            half,
        ];
        all.extend((0..6).map(|_| drawn(&mut rng)));
        all
    }

    /// The integers p, b, M and T by the definition, in 128 bits and with another root.
    fn by_definition(refinement: &Refinement, record: &[f64]) -> (Vec<i128>, Vec<i128>, i128, i128) {
        let floor_over = |number: i128, over: i128| number.div_euclid(over);
        let x: Vec<i128> = record.iter().map(|x| (x * 1_048_576.0 + 0.5).floor() as i128).collect();
        let (k, d) = (refinement.rank(), record.len());
        let v = |j: usize, i: usize| i128::from(refinement.directions[j][i]);
        let a: Vec<i128> =
            (0..k).map(|j| floor_over((0..d).map(|i| v(j, i) * x[i]).sum::<i128>() + (1 << 19), 1 << 20)).collect();
        let b: Vec<i128> = (0..d)
            .map(|i| x[i] - floor_over((0..k).map(|j| v(j, i) * a[j]).sum::<i128>() + (1 << 19), 1 << 20))
            .collect();
        let p: Vec<i128> =
            (0..k).map(|j| floor_over(i128::from(refinement.weights[j]) * a[j] + (1 << 15), 1 << 16)).collect();
        let root = |values: &[i128]| {
            let square: i128 = values.iter().map(|x| x * x).sum();
            let mut root = (square as f64).sqrt() as i128 - 2;
            while root.max(0) * root.max(0) < square || root < 0 {
                root += 1;
            }
            root
        };
        let m = root(&p) * root(&b);
        (p, b, m, m.max(refinement.clip.into()))
    }

    /// Extreme records and parameters: the coordinates are the quotients of the definition, all integers are below
    /// 2^53, and the vector has at most the length 1 in exact integers. With the planted fault of a T that is smaller
    /// by 1, or of roots that are rounded down, some vector is longer.
    #[test]
    fn the_vector_is_that_of_the_definition_and_no_longer_than_one() {
        let (mut smaller_is_noticed, mut clipped) = (false, 0);
        for refinement in extreme_refinements() {
            for record in records(refinement.dimension()) {
                let (p, b, m, t) = by_definition(&refinement, &record);
                let u = refinement.direction(&record);
                let products = p.iter().flat_map(|p| b.iter().map(move |b| p * b));
                let expected: Vec<f64> = products.clone().map(|product| product as f64 / t as f64).collect();
                assert_eq!(u[..expected.len()], expected);
                assert_eq!(u[expected.len()], ((t - m) as f64 * (t + m) as f64).sqrt() / t as f64);
                assert!(products.clone().all(|product| product.abs() < 1 << 53) && t + m < 1 << 53);
                let square: i128 = products.map(|product| product * product).sum();
                assert!(square <= m * m && m <= t, "{record:?}");
                clipped += u32::from(m == t);
                smaller_is_noticed |= m == t && square > (m - 1) * (m - 1);
                let length = u.iter().map(|u| u * u).sum::<f64>();
                assert!(length <= 1.0 + 1e-12, "{length}");
                // The last coordinate fills the length up to what rounding roots up takes.
                assert!(length > 0.99 || m < 1 << 30, "{length} {m} {t}");
            }
        }
        assert!(smaller_is_noticed && clipped > 10, "{clipped}");
    }

    #[test]
    fn roots_are_rounded_up() {
        for root in (0..2000).chain((1 << 28)..(1 << 28) + 9).chain((1 << 31) - 9..1 << 31u64) {
            for (square, expected) in [(root * root, root), (root * root + 1, root + 1)] {
                assert_eq!(root_up(square), expected);
            }
            assert_eq!(root_up((root * root).saturating_sub(1)), if root > 1 { root } else { 0 });
        }
    }

    #[test]
    fn what_is_not_nearly_orthonormal_or_out_of_range_is_refused() {
        let new = |directions: &[&[i64]], weights: &[i64], clip| {
            let directions = directions.iter().map(|direction| direction.to_vec()).collect();
            Refinement::new(parent(), directions, weights.to_vec(), clip).map(drop)
        };
        let (one, clip) = (1 << 20, 1 << 40);
        assert_eq!(new(&[&[one, 0, 0], &[0, one, 0]], &[1, 1 << 24], clip), Ok(()));
        let shape = |count, dimension| Err(RefinementError::Shape { count, dimension });
        assert_eq!(new(&[], &[], clip), shape(0, 0));
        assert_eq!(new(&[&[one]], &[1], clip), shape(1, 1));
        assert_eq!(new(&[&[one, 0], &[0, one]], &[1, 1], clip), shape(2, 2));
        let long = vec![0; MAX_DIMENSION + 1];
        assert_eq!(new(&[&long], &[1], clip), shape(1, MAX_DIMENSION + 1));
        assert_eq!(new(&[&[one, 0, 0], &[0, one]], &[1, 1], clip), shape(2, 3));
        assert_eq!(new(&[&[one, 0]], &[], clip), shape(1, 2));
        assert_eq!(Refinement::along_axes(parent(), 2, usize::MAX).map(drop), shape(usize::MAX, 2));
        let range = Err(RefinementError::Range);
        for entry in [one + 1, -one - 1, i64::MIN, i64::MAX] {
            assert_eq!(new(&[&[entry, 0]], &[1], clip), range);
        }
        let alone = Err(RefinementError::NotOrthonormal { first: 1, second: 1 });
        assert_eq!(new(&[&[one - 2100, 0]], &[1], clip), alone);
        assert_eq!(new(&[&[one, 70_000]], &[1], clip), alone);
        let both = Err(RefinementError::NotOrthonormal { first: 1, second: 2 });
        assert_eq!(new(&[&[one, 0, 0], &[5000, one, 0]], &[1, 1], clip), both);
        for weight in [i64::MIN, -1, 0, (1 << 24) + 1, i64::MAX] {
            assert_eq!(new(&[&[one, 0]], &[weight], clip), range);
        }
        for clip in [i64::MIN, 0, (1 << 20) - 1, (1 << 48) + 1, i64::MAX] {
            assert_eq!(new(&[&[one, 0]], &[1], clip), range);
        }
        let nan = DMatrix::from_column_slice(2, 1, &[1.0, f64::NAN]);
        assert_eq!(Refinement::from_parts(parent(), &nan, &[1.0], 1.0), Err(RefinementError::Range));
        let axis = DMatrix::identity(2, 1);
        for (weight, clip) in [(f64::NAN, 1.0), (-1.0, 1.0), (257.0, 1.0), (1.0, f64::NAN), (1.0, -1.0), (1.0, 1e9)] {
            assert!(Refinement::from_parts(parent(), &axis, &[weight], clip).is_err(), "{weight} {clip}");
        }
    }

    #[test]
    fn parts_json_and_integers_are_the_same_refinement() {
        let (sine, cosine) = 0.3f64.sin_cos();
        let directions = DMatrix::from_row_slice(3, 2, &[cosine, 0.0, sine, 0.0, 0.0, -1.0]);
        let refinement = Refinement::from_parts(parent(), &directions, &[1.5, 0.25], 0.75).unwrap();
        assert!((refinement.directions() - directions).amax() < 1e-6);
        assert_eq!((refinement.weights(), refinement.clip()), (vec![1.5, 0.25], 0.75));
        assert_eq!((refinement.dimension(), refinement.rank(), refinement.coordinates()), (3, 2, 7));
        let mut text = String::new();
        refinement.write(&mut text);
        let expected = format!(
            r#"{{"parent":"{}","directions":[[1001743,309875,0],[0,0,-1048576]],"weights":[98304,16384],"#,
            parent()
        ) + r#""clip":824633720832}"#;
        assert_eq!(text, expected);
        assert_eq!(json::read(&text, Refinement::read).unwrap(), refinement);
        for (from, to) in [("309875", "309875.0"), ("[98304", "[-1"), ("824633720832", "1e12"), ("parent", "parents")] {
            assert!(json::read(&text.replace(from, to), Refinement::read).is_err(), "{to}");
        }
    }
}
