//! Bounds on the norm of Gaussian records. They bring records into the unit ball without reading them.

/// The probability that any record exceeds the bound.
const LONGER: f64 = 1e-3;

/// A norm that no record of n exceeds, with probability 0.999, for normal records with mean 0 and these variances:
///
/// ```text
/// |x|^2 <= tr S + 2 sqrt(t tr S^2) + 2 t l_1     with probability 1 - e^-t
/// ```
///
/// for each record (Laurent & Massart 2000, Lemma 1), and so for all of them with `t = ln(1000 n)`.
pub(super) fn gaussian_norm_bound(variances: impl Iterator<Item = f64>, records: u64) -> f64 {
    let t = libm::log(records as f64 / LONGER);
    let (mut trace, mut squares, mut largest) = (0.0, 0.0, 0.0f64);
    for variance in variances {
        trace += variance;
        squares += variance * variance;
        largest = largest.max(variance);
    }
    (trace + 2.0 * (t * squares).sqrt() + 2.0 * t * largest).sqrt()
}

#[cfg(test)]
mod tests {
    /// For one variance 1, `1 + 2 sqrt(t) + 2 t` is above the quantile of chi-square with one degree of freedom.
    #[test]
    fn no_record_is_longer_but_rarely() {
        let bound = super::gaussian_norm_bound([1.0].into_iter(), 1000);
        // Both tails at z: 2 Phi(-z) <= 2 exp(-z^2 / 2) / z.
        assert!(1000.0 * 2.0 * (-0.5 * bound * bound).exp() / bound < 1e-3);
        let wide = super::gaussian_norm_bound([1.0; 100].into_iter(), 1000);
        assert!((10.0..20.0).contains(&wide), "{wide}");
    }
}
