//! A noisy spectrum, taken apart into components and bulk.

use nalgebra::DVector;

use super::{NoiseBulk, NoiseLaw};

/// The most rounds in which bulk level and number of components are made to agree.
const ROUNDS: usize = 50;

/// A noisy spectrum, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct SplitSpectrum {
    /// Estimates of the true eigenvalues of the components above the noise, descending.
    pub eigenvalues: Vec<f64>,
    /// The rest.
    pub bulk: NoiseBulk,
}

impl SplitSpectrum {
    /// The true eigenvalue of a component above the noise, whose observed one is given, where the square of the
    /// estimated mean along it is this (0 without centring). The bulk repels components along the mean more.
    pub fn eigenvalue_along(&self, index: usize, observed: f64, law: &NoiseLaw, mean_square: f64) -> Option<f64> {
        let eigenvalue = *self.eigenvalues.get(index)?;
        let excess = law.excess(mean_square);
        if excess == 0.0 { Some(eigenvalue) } else { self.bulk.eigenvalue_along(observed, excess).or(Some(eigenvalue)) }
    }
}

/// Finds the components above the noise edge, their true eigenvalues, and the bulk level that keeps the trace: each
/// follows from the other two. At least one eigenvalue is left to the bulk.
pub(crate) fn split_spectrum(observed: &DVector<f64>, law: &NoiseLaw) -> SplitSpectrum {
    // The middle of the spectrum belongs to the bulk, however strong the components are.
    split_from(observed.as_slice(), observed.len(), observed.sum(), observed[observed.len() / 2], law)
}

/// Finds the components above the noise edge, their true eigenvalues, and the bulk level, from the leading eigenvalues
/// alone, fewer than d, and the trace. Components beyond them count as bulk.
pub(crate) fn split_leading(observed: &[f64], dimension: usize, trace: f64, law: &NoiseLaw) -> SplitSpectrum {
    let rest = (trace - observed.iter().sum::<f64>()) / (dimension - observed.len()) as f64;
    split_from(observed, dimension, trace, rest, law)
}

fn split_from(observed: &[f64], dimension: usize, trace: f64, level: f64, law: &NoiseLaw) -> SplitSpectrum {
    let mut split = SplitSpectrum { eigenvalues: vec![], bulk: law.bulk(level, dimension) };
    for _ in 0..ROUNDS {
        let bulk = split.bulk;
        let eigenvalues: Vec<f64> =
            observed.iter().take(dimension - 1).map_while(|&value| bulk.eigenvalue(value)).collect();
        let rest = dimension - eigenvalues.len();
        let level = (trace - eigenvalues.iter().sum::<f64>()) / rest as f64;
        let next = law.bulk(level, rest);
        let settled = next == bulk;
        split = SplitSpectrum { eigenvalues, bulk: next };
        if settled {
            break;
        }
    }
    split
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::tests::{double_cap_law, gaussian_law, unit_trace};
    use crate::linalg::symmetric_eigenvalues;
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    /// Level, components and their eigenvalues each follow from the other two.
    #[test]
    fn a_split_spectrum_agrees_with_itself_and_keeps_the_trace() {
        for law in [double_cap_law(30, 2.0, 20_000), gaussian_law(30, 4.0, 40_000)] {
            let truth = unit_trace(30, &[0.4, 0.2], 1);
            let estimate = law.draw_with_rng(&truth, &mut ChaCha12Rng::seed_from_u64(4)).unwrap();
            let observed = symmetric_eigenvalues(&estimate).unwrap();
            let split = split_spectrum(&observed, &law);
            let (count, bulk) = (split.eigenvalues.len(), split.bulk);
            assert_eq!(count, 2);
            let trace = split.eigenvalues.iter().sum::<f64>() + (30 - count) as f64 * bulk.level();
            assert!((trace - observed.sum()).abs() < 1e-12, "{trace}");
            assert!(observed[count - 1] > bulk.edge() && observed[count] <= bulk.edge());
            for (found, value) in split.eigenvalues.iter().zip(&observed) {
                // The way back, which the module of the bulk has.
                assert!((bulk.observed(*found) - value).abs() < 1e-9, "{found} {value}");
            }
        }
        // However far all stand above the noise, the last is left to the bulk.
        let law = double_cap_law(3, 8.0, 1_000_000_000);
        let split = split_spectrum(&DVector::from_row_slice(&[0.6, 0.5, 0.4]), &law);
        assert_eq!(split.eigenvalues.len(), 2);
        assert!((split.bulk.level() - 0.4).abs() < 1e-3, "{split:?}");
    }
}
