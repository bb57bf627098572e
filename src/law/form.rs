//! The variance of a linear function of the estimate, such as the variance that given components capture in it.

use super::{NoiseLaw, Perturbation};

/// The facts about a symmetric matrix Q (d × d, no eigenvalue beyond 1 in magnitude) on which the scatter of `<S, Q>`
/// depends; M is the true second-moment matrix. For a projector on k directions they are k, and twice the variance that
/// these capture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LinearForm {
    /// `|Q|_F^2`.
    pub(crate) squared_norm: f64,
    /// The trace of Q.
    pub(crate) trace: f64,
    /// `<M, Q>`, in the units of the covariance.
    pub(crate) value: f64,
    /// `<M, Q^2>`, in the units of the covariance.
    pub(crate) energy: f64,
}

/// The variance that one report gives to a form is at most `constant + energy <M, Q^2> - square <M, Q>^2`, in the units
/// of bounded records.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormTerms {
    pub(super) constant: f64,
    pub(super) energy: f64,
    pub(super) square: f64,
}

impl NoiseLaw {
    /// An upper bound on the variance of `<S, Q>` over collections, S being the estimate, whatever the population is.
    ///
    /// The terms of different reports are independent. With `q = u^T Q u` for a record u of the unit ball, one report
    /// has the variance
    ///
    /// ```text
    /// double-cap   norm |P|^2 + energy <M, P^2> + square E p^2 - (E p)^2,     p = u^T P u, P = Q - (tr Q / m) I
    /// Gaussian     var <Z, Q> + E q^2 - (E q)^2
    /// ```
    ///
    /// with the three numbers of [`Forms`](crate::mechanism::Forms), for candidates of m coordinates on a sphere (their
    /// integers change it by less than 1 %). u is the lift of the record, a unit vector, along whose last coordinate Q
    /// has nothing. The trace of all m coordinates is that of the sphere, so that only P counts. The population enters
    /// beyond M by `E p^2` alone, which lies between `(E p)^2` and `<M, P^2>`, because `p^2 <= |P u|^2`. The bound
    /// takes the end that gives more.
    ///
    /// It is for the law of one task's second moments; [`WeightedLaw`](super::WeightedLaw) has that of a mean.
    pub(super) fn form_variance(&self, form: &LinearForm) -> f64 {
        let (energy, squared_mean) = self.known_of(form);
        let terms = self.form_terms(form);
        let of_one = terms.constant + terms.energy * energy - terms.square * squared_mean;
        self.scale * self.scale * of_one / self.records as f64
    }

    /// `<M, P^2>` and `<M, P>^2` in the units of bounded records. Estimates of what lies in these ranges need not do
    /// so.
    pub(super) fn known_of(&self, form: &LinearForm) -> (f64, f64) {
        let energy = (form.energy / self.scale).clamp(0.0, 1.0);
        let most = energy.sqrt();
        let (value, level) = ((form.value / self.scale).clamp(-most, most), self.level_of(form));
        (energy - 2.0 * level * value + level * level, (value - level).powi(2))
    }

    /// The multiple of the identity that P is without.
    pub(super) fn level_of(&self, form: &LinearForm) -> f64 {
        match self.perturbation {
            Perturbation::Additive { .. } => 0.0,
            Perturbation::Directions { forms, .. } => form.trace / forms.coordinates,
        }
    }

    /// A bound on the variance that one report gives to the form, as a function of what is known of M, in the units of
    /// bounded records.
    pub(super) fn form_terms(&self, form: &LinearForm) -> FormTerms {
        match self.perturbation {
            Perturbation::Additive { diagonal, off_diagonal } => {
                let entry = (diagonal * diagonal).max(2.0 * off_diagonal * off_diagonal);
                FormTerms { constant: entry * form.squared_norm, energy: 1.0, square: 1.0 }
            }
            Perturbation::Directions { forms, .. } => {
                let squared_norm = form.squared_norm - form.trace * self.level_of(form);
                FormTerms {
                    constant: forms.norm * squared_norm + forms.rounding * form.squared_norm,
                    energy: forms.energy + forms.square.max(0.0),
                    square: 1.0 - forms.square.min(0.0),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::covariance::tests::of_report;
    use crate::mechanism::MechanismSpec;
    use crate::privacy::tests::{delta, epsilon};
    use crate::record::Bounding;
    use crate::tests::{clip, double_cap, task};
    use chacha20::ChaCha12Rng;
    use nalgebra::{DMatrix, DVector};
    use rand::SeedableRng;

    const REPORTS: usize = 20_000;

    /// Variances of `<S, Q>` from real reports, each alone, as multiples of the bound: for double-cap and Gaussian
    /// reports, projectors and differences of projectors, of records that make the bound exact (all the same, and an
    /// eigenvector of Q) and of others, for which it is only a bound. Terms of heavy tails: their sample variance is
    /// known to 3 % or better.
    #[test]
    fn the_variance_of_real_reports_is_the_bound_where_it_is_exact_and_less_elsewhere() {
        let dimension = 5;
        let axis = |at: usize| DVector::from_fn(dimension, |row, _| if row == at { 1.0 } else { 0.0 });
        let projector = |vector: &DVector<f64>| vector * vector.transpose();
        let slanted = (axis(0) + axis(1) * 2.0).normalize();
        let forms = [projector(&axis(0)), projector(&axis(0)) - projector(&slanted), DMatrix::identity(5, 5)];
        let specs = [
            (double_cap(4.0, 64, 3), Bounding::UnitNorm),
            (double_cap(2.0, 64, 8), Bounding::UnitNorm),
            (double_cap(4.0, 64, 3), clip(2.0)),
            (MechanismSpec::gaussian(epsilon(6.0), delta(1e-5)), Bounding::UnitNorm),
        ];
        let mut rng = ChaCha12Rng::seed_from_u64(7);
        for (spec, bounding) in specs {
            let task = task(dimension, bounding, spec, 1);
            let same = vec![axis(0) * 1.5];
            let mixed = vec![axis(0) * 1.5, slanted.clone(), axis(3) * 2.0];
            for records in [&same, &mixed] {
                let bounded: Vec<_> =
                    records.iter().map(|record| task.bound(record.as_slice().to_vec()).unwrap()).collect();
                let estimates: Vec<DMatrix<f64>> = (0..REPORTS)
                    .map(|index| {
                        let report = task.randomize_with_rng(&bounded[index % bounded.len()], None, &mut rng).unwrap();
                        of_report(&report, &task).unwrap().matrix().clone()
                    })
                    .collect();
                let scale = bounding.length_scale();
                let moment = bounded.iter().fold(DMatrix::zeros(dimension, dimension), |sum: DMatrix<f64>, record| {
                    let x = DVector::from_column_slice(record.coordinates()) * scale;
                    sum + &x * x.transpose() / bounded.len() as f64
                });
                let one = task.randomize_with_rng(&bounded[0], None, &mut rng).unwrap();
                let law = of_report(&one, &task).unwrap().noise_law();
                for (index, q) in forms.iter().enumerate() {
                    let values: Vec<f64> = estimates.iter().map(|estimate| estimate.dot(q)).collect();
                    let mean = values.iter().sum::<f64>() / REPORTS as f64;
                    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / REPORTS as f64;
                    let form = LinearForm {
                        squared_norm: q.norm_squared(),
                        trace: q.trace(),
                        value: moment.dot(q),
                        energy: moment.dot(&(q * q)),
                    };
                    let ratio = variance / law.form_variance(&form);
                    // A lift takes a part of the record out of every direction.
                    let exact = records.len() == 1 && index != 1 && bounding == Bounding::UnitNorm;
                    assert!(
                        ratio < 1.08 && (!exact || ratio > 0.92),
                        "{spec:?} {bounding:?}, {} records, form {index}: {ratio}",
                        records.len()
                    );
                }
            }
        }
    }
}
