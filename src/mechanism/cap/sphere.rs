//! From integer vectors of random length to candidates on one sphere, in integers, the same on every machine.
//!
//! The length of a nearly Gaussian vector z says nothing about its direction. So it is taken out: the candidate is z at
//! the length R, rounded to integers, and its score is that of its direction.
//!
//! ```text
//! f = floor(sqrt(floor(R^2 4^s / max(1, |z|^2))))            about 2^s R / |z|
//! candidate_i = floor((f z_i + r_i) / 2^s), at least -127, at most 127
//! score = f |z . u + offset|
//! ```
//!
//! *Long vectors*, of more than [`SHORT`] coordinates, have R^2 = 625 rows, s = 16 and r_i = 2^15. *Short ones* have
//! coordinates of two entries of the table, `29 a + b`, because directions of few small integers are few; R = 127 and
//! s = 24. They are rounded up or down at random, by public bits: `r_i` is the number of the 24 highest bits of the
//! 32-bit integer `f (i + 1) 2654435769`. Under a steep cap nearly all candidates have the record's own direction, and
//! its nearest integers would be its bias.

use super::quantiles::MAGNITUDE_COUNTS;
use super::table::{LARGEST_MAGNITUDE, PER_BLOCK, TABLE_DEVIATION, TABLE_SECOND_MOMENT};

/// The most coordinates of a short vector: two entries of the table for each fit one block.
pub(super) const SHORT: usize = 20;

const _: () = assert!(2 * SHORT <= PER_BLOCK);

/// The multiplier of the random bits: 2^32 over the golden ratio, as Knuth has it for hashing.
const SPREAD: u32 = 2_654_435_769;

/// The sphere of the candidates of so many coordinates.
#[derive(Clone, Copy, Debug)]
pub(in crate::mechanism) struct Sphere {
    rows: usize,
    radius_squared: u64,
    /// s: the binary places of factors.
    places: u32,
}

impl Sphere {
    pub(in crate::mechanism) fn new(rows: usize) -> Self {
        let longest = u64::from(LARGEST_MAGNITUDE).pow(2);
        let (radius_squared, places) = if rows <= SHORT { (longest, 24) } else { (625 * rows as u64, 16) };
        Self { rows, radius_squared, places }
    }

    pub(super) fn is_short(self) -> bool {
        self.rows <= SHORT
    }

    /// The score of a vector with this product with the record, and this sum of squares: below 2^47. (The product with
    /// the factor is below 2^46: `R |u| 2^s` is below 2^44 or, if short, 2^46, and R of a long vector times its offset
    /// below 2^45.3.)
    #[inline]
    pub(super) fn score(self, along: i32, squares: u64) -> u64 {
        // Only the product depends on the record, and multiplication takes the same time for all.
        u64::from(along.unsigned_abs()) * u64::from(self.factor(squares))
    }

    /// The score of a candidate that has the length `deviations` along the record, in deviations of a coordinate.
    pub(in crate::mechanism) fn score_of(self, deviations: f64) -> f64 {
        let deviation = (self.radius_squared as f64 / self.rows as f64).sqrt();
        deviations * deviation * f64::from(i16::MAX) * f64::from(1 << self.places)
    }

    /// f, for a vector with this sum of squares.
    #[inline]
    pub(in crate::mechanism) fn factor(self, squares: u64) -> u32 {
        // At most 2^57 and 2^62 before the root, so that the factor is below 2^29 and 2^31.
        root((self.radius_squared << (2 * self.places)) / squares.max(1))
    }

    /// A bound on the length of a candidate, in integers: rounding moves no coordinate by more than 1, or 1/2, and
    /// `-127 … 127` moves none outwards.
    pub(in crate::mechanism) fn longest(self) -> f64 {
        let moved = if self.is_short() { 1.0 } else { 0.5 };
        (self.radius_squared as f64).sqrt() + moved * (self.rows as f64).sqrt()
    }

    /// The mean square by which rounding moves a coordinate: a fraction x is rounded up with probability x, or to the
    /// nearer side, and fractions are uniform. (Of very long vectors, whose factors are nearly 1, many stay as they
    /// are.)
    pub(in crate::mechanism) fn rounding(self) -> f64 {
        if self.is_short() { 1.0 / 6.0 } else { 1.0 / 12.0 }
    }

    /// The mean square of a candidate's coordinate, `scale^2` in the formulas: that of the sphere, and what rounding
    /// adds to it. double_cap/tests/bias.rs has it to 1e-5.
    pub(in crate::mechanism) fn second_moment(self) -> f64 {
        if self.is_short() {
            return self.radius_squared as f64 / self.rows as f64 + self.rounding();
        }
        // One coordinate z has the table's law, and the squares of the others nearly that of normal ones, whose cube
        // root is nearly normal (Wilson & Hilferty 1931): precise enough for the difference that rounding makes.
        let (squared_radius, others) = (self.radius_squared as f64, (self.rows - 1) as f64);
        let (scale, variance) = (others * TABLE_SECOND_MOMENT, 2.0 / (9.0 * others));
        let rest = |place: f64| scale * (1.0 - variance + place * variance.sqrt()).max(0.0).powi(3);
        let nodes =
            || (-60..=60).map(|step| 0.1 * f64::from(step)).map(|place| (place, libm::exp(-0.5 * place * place)));
        let total: f64 = nodes().map(|(_, weight)| weight).sum();
        let (mut added, mut shrunk) = (0.0, 0.0);
        for (&count, magnitude) in MAGNITUDE_COUNTS.iter().zip(0..) {
            let square = f64::from(magnitude).powi(2);
            let exact = |place| square * squared_radius / (square + rest(place));
            let exact: f64 = nodes().map(|(place, weight)| weight / total * exact(place)).sum();
            let inverse = |place| ((square + rest(place)) / squared_radius).sqrt();
            let inverse: f64 = nodes().map(|(place, weight)| weight / total * inverse(place)).sum();
            // The sum of 2 k + 1 over all k that are exceeded by a half or more.
            let of_integer = |k: u32| {
                let rest = square * squared_radius / (f64::from(k) + 0.5).powi(2) - square;
                let place = (libm::exp(libm::log((rest / scale).max(0.0)) / 3.0) - 1.0 + variance) / variance.sqrt();
                f64::from(2 * k + 1) * 0.5 * libm::erfc(-place * core::f64::consts::FRAC_1_SQRT_2)
            };
            let rounded: f64 = (0..LARGEST_MAGNITUDE).map(of_integer).sum();
            added += f64::from(count) / 32_768.0 * (rounded - exact);
            shrunk += f64::from(count) / 32_768.0 * inverse;
        }
        // Factors in 16 binary places are rounded down.
        squared_radius / self.rows as f64 * (1.0 - shrunk / 65_536.0) + added
    }

    /// Replaces the entries of the table that begin `entries` with the candidate.
    #[inline(always)]
    pub(super) fn normalize(self, entries: &mut [i8]) {
        if self.is_short() { self.normalize_short(entries) } else { self.normalize_long(&mut entries[..self.rows]) }
    }

    #[inline(always)]
    fn normalize_long(self, entries: &mut [i8]) {
        let squares: i32 = entries.iter().map(|&z| i32::from(z) * i32::from(z)).sum();
        let factor = self.factor(squares as u64) as i32;
        for entry in entries {
            *entry = round_long(i32::from(*entry), factor) as i8;
        }
    }

    fn normalize_short(self, entries: &mut [i8]) {
        let fine: [i32; SHORT] = fine(entries);
        let fine = &fine[..self.rows];
        let factor = self.factor(squares(fine));
        for ((entry, &z), place) in entries.iter_mut().zip(fine).zip(1u32..) {
            let random = factor.wrapping_mul(place).wrapping_mul(SPREAD) >> 8;
            *entry = ((i64::from(z) * i64::from(factor) + i64::from(random)) >> self.places) as i8;
        }
    }
}

/// `floor(sqrt(square))`, for squares up to 2^62.
#[inline]
pub(crate) fn root(square: u64) -> u32 {
    // Rounding to the nearest moves no number beyond one that is exact, as whole roots are: the result can be rounded
    // up to the next one, but never down. (The integer square root of the core library is ten times the code.)
    let root = (square as f64).sqrt() as u64;
    (root - u64::from(root * root > square)) as u32
}

/// The coordinate of a long candidate. No product overflows: `factor |z|` is at most 2^16 R.
#[inline(always)]
fn round_long(z: i32, factor: i32) -> i32 {
    let largest = LARGEST_MAGNITUDE as i32;
    ((z * factor + (1 << 15)) >> 16).clamp(-largest, largest)
}

/// The coordinates of a short vector from the entries of its block.
pub(super) fn fine(entries: &[i8]) -> [i32; SHORT] {
    let (first, second) = entries.split_at(SHORT);
    core::array::from_fn(|index| TABLE_DEVIATION * i32::from(first[index]) + i32::from(second[index]))
}

/// |z|^2.
pub(super) fn squares(z: &[i32]) -> u64 {
    z.iter().map(|&z| u64::from(z.unsigned_abs()).pow(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_those_of_the_integers() {
        for bits in 1..=31 {
            for whole in [1 << (bits - 1), (1u64 << bits) - 1, (1 << bits) / 3 + 1, 5 * (1 << bits) / 7 + 1] {
                let squares = (0..200).flat_map(|off| [(whole * whole).saturating_sub(off), whole * whole + off]);
                for square in squares.chain([whole * whole + whole, whole * (whole + 2)]).filter(|x| *x <= 1 << 62) {
                    assert_eq!(u64::from(root(square)), square.isqrt(), "{square}");
                }
            }
        }
    }
}
