//! The range check of dense reports: whether a randomizer can have made one, for aggregators that limit the effect of
//! one report.
//!
//! Every payload of the right length is one that additive noise *can* produce, so strict decoding bounds nothing: a
//! modified client may put every entry at the end of its range. Noise hardly ever does, and this check refuses what it
//! hardly ever makes. It looks at the payload alone, which is public: the guarantee of a report does not depend on it.
//!
//! # The bound
//! It is on `||m + 1/2||`, over the entries m of a payload. Each mechanism has its own, with the proof, which an honest
//! report exceeds at most once in 2^40.
//!
//! # What it gives
//! A report that passes moves the mean of n by no more in Frobenius norm than honest noise does: about `d` deviations
//! of an off-diagonal entry over n. It may still put all of that into one direction, where honest noise has about
//! `sqrt(2) / d` of it in a given one, and `2 / sqrt(d)` in the one where it has most: `pull` has the number.

use super::PayloadError;

/// The bound for the payloads of one mechanism.
#[derive(Clone, Copy, Debug)]
pub(super) struct RangeCheck {
    /// Bytes per entry.
    width: usize,
    /// The largest permitted sum of `(2 m + 1)^2`.
    most: u64,
}

impl RangeCheck {
    /// The bound for payloads whose entries m, of `width` bytes, have at most this norm of `m + 1/2` but once in 2^40.
    pub(super) fn new(width: usize, norm: f64) -> Self {
        Self { width, most: (4.0 * norm * norm).ceil() as u64 }
    }

    /// The largest Euclidean norm of `m + 1/2` over the entries m of a payload that passes.
    pub(super) fn largest_norm(&self) -> f64 {
        0.5 * (self.most as f64).sqrt()
    }

    /// Looks at the payload of a report of this mechanism.
    ///
    /// # Errors
    /// [`PayloadError::Range`] when honest noise hardly ever makes it.
    pub(super) fn check(&self, payload: &[u8]) -> Result<(), PayloadError> {
        // With both ends at 2^width the square is at most 2^32; a sum of 2^31 entries fits.
        let square = |entry: i64| ((2 * entry + 1) * (2 * entry + 1)) as u64;
        let found = if self.width == 1 {
            payload.iter().map(|&byte| square((byte as i8).into())).sum()
        } else {
            payload.as_chunks().0.iter().map(|&pair| square(i16::from_le_bytes(pair).into())).sum()
        };
        if found <= self.most { Ok(()) } else { Err(PayloadError::Range { found, most: self.most }) }
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    use super::*;
    use crate::identity::ReportId;
    use crate::mechanism::{Calibration, Gaussian, LocalRandomizer};
    use crate::privacy::tests::{delta, epsilon};
    use crate::record::{BoundedRecord, Bounding};

    /// Reports of the two extreme kinds of records, at both widths. One in 2^40 may be refused: these are not.
    #[test]
    fn honest_reports_pass_and_those_with_a_third_more_noise_do_not() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for (e, calibration) in [(0.5, Calibration::Paper), (2.0, Calibration::Analytic), (20.0, Calibration::Analytic)]
        {
            for dimension in [1, 2, 30, 120] {
                let mechanism = Gaussian::new(dimension, epsilon(e), delta(1e-4), calibration).unwrap();
                let range = mechanism.range();
                let mut one = vec![0.0; dimension];
                one[dimension - 1] = 1.0;
                for values in [one, vec![1.0; dimension]] {
                    let record = BoundedRecord::new(values, Bounding::UnitNorm).unwrap();
                    for _ in 0..50 {
                        let id = ReportId::new([0; 16]);
                        let payload = mechanism.randomize_with_rng(&record, &[0; 16], id, &mut rng).unwrap();
                        range.check(&payload).unwrap();
                        // Where there are many entries, a little more is noticed.
                        if dimension == 120 {
                            let scaled: Vec<u8> = match range.width {
                                1 => payload.iter().map(|&byte| (f64::from(byte as i8) * 1.3) as i8 as u8).collect(),
                                _ => payload
                                    .as_chunks()
                                    .0
                                    .iter()
                                    .flat_map(|&pair| {
                                        ((f64::from(i16::from_le_bytes(pair)) * 1.3) as i16).to_le_bytes()
                                    })
                                    .collect(),
                            };
                            let error = range.check(&scaled).unwrap_err();
                            let PayloadError::Range { found, most } = error else { panic!("{error}") };
                            assert!(found > most && error.to_string().contains(&found.to_string()));
                        }
                    }
                }
                let ends = match range.width {
                    1 => vec![0x80; mechanism.payload_bytes()],
                    _ => [0, 0x80].repeat(mechanism.payload_bytes() / 2),
                };
                assert!(dimension < 30 || range.check(&ends).is_err(), "all at the end of the range");
            }
        }
    }

    /// Twice an entry and one, squared: what an error says is the exact sum.
    #[test]
    fn the_square_sum_is_that_of_doubled_entries_and_one() {
        for (width, payload, sum) in [
            (1, vec![127u8, 0x80, 3, 0], 255 * 255 + 255 * 255 + 49 + 1),
            (2, vec![0xff, 0x7f, 0, 0x80, 0xfe, 0xff], 65_535 * 65_535 * 2 + 9),
        ] {
            let check = RangeCheck { width, most: 0 };
            assert_eq!(check.check(&payload), Err(PayloadError::Range { found: sum, most: 0 }));
            assert_eq!(RangeCheck { width, most: sum }.check(&payload), Ok(()));
            assert!(RangeCheck { width, most: sum - 1 }.check(&payload).is_err());
        }
    }
}
