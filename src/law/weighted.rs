//! The law of a weighted mean of independent estimates, those of the tasks of a [family](crate::family).
//!
//! With additive noise the mean has noise of the same form: of the noise the law is exact. With double-cap, and with
//! the laws of the tasks, the variance between two directions with the true variances a and b is
//!
//! ```text
//! sum w^2 (1 + g a) (1 + g b) / (g^2 n)  =  A + B (a + b) + C a b
//! A = sum w^2 / (g^2 n)    B = sum w^2 / (g n)    C = sum w^2 / n
//! ```
//!
//! and a mechanism with n reports of the gain g gives A, `A g` and `A g^2`, where `n = 1 / (A g^2)`. A, the noise where
//! the population has nothing, is kept. By Cauchy & Schwarz no g gives B and C: with `g = B / A` the third is too
//! small, with `g = sqrt(C / A)` the second is too large. Two orthogonal directions of records in the unit ball have
//! `a + b <= 1`, and so `a b <= (a + b) / 4`. The smallest g with
//!
//! ```text
//! A g - B >= (C - A g^2) / 4
//! ```
//!
//! has at least the variance of the mean between any two of them, and little more. Where all variance is along one
//! direction, the variance along it is somewhat too small (docs/reference/inference.md has figures). Reports are whole:
//! their number is rounded down, and the gain keeps A. The third moment of the noise exceeds that of the mean as `A g`
//! does B.
//!
//! All of this takes a and b to be the same among the people of each task: the choice of a task does not depend on the
//! record. Where it does, the variance is `A sum w (1 + g a_m) (1 + g b_m)` over the groups, which can be larger.
//!
//! Bounds on the variance of linear functions do not use this law. They are sums over the tasks, and hold also where
//! the choice of a task depends on the record.

use super::form::{FormTerms, LinearForm};
use super::{NoiseLaw, Perturbation};
use crate::linalg::sorted_descending;
use crate::mechanism::Forms;

/// The largest `a b / (a + b)` of two orthogonal directions.
const LARGEST_PRODUCT: f64 = 0.25;

/// The laws of independent estimates of second moments with their weights in a mean, of the sum 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WeightedLaw {
    /// Laws of the same features in the same units, and of one kind of mechanism.
    pub(crate) members: Vec<(f64, NoiseLaw)>,
}

impl WeightedLaw {
    /// The law of the mean: of one estimate it is its own. None for none.
    pub(crate) fn law(&self) -> Option<NoiseLaw> {
        let (&(_, first), others) = self.members.split_first()?;
        if others.is_empty() {
            return Some(first);
        }
        let sum = |of: &dyn Fn(Perturbation) -> f64| -> f64 {
            self.members.iter().map(|(weight, law)| weight * weight / law.records as f64 * of(law.perturbation)).sum()
        };
        // The margin is for the roundings of a whole number.
        let whole = |records: f64| ((1.0 + 1e-9) * records).floor().max(1.0);
        let (records, perturbation) = match first.perturbation {
            Perturbation::Additive { .. } => {
                let records = whole(1.0 / sum(&|_| 1.0));
                let deviation = |entry: usize| (records * sum(&|of| squares(of)[entry])).sqrt();
                (records, Perturbation::Additive { diagonal: deviation(0), off_diagonal: deviation(1) })
            }
            Perturbation::Directions { forms, weights, .. } => {
                let [constant, linear, product] = [2, 1, 0].map(|power| sum(&|of| squares(of)[1].sqrt().powi(power)));
                let (linear, product) = (linear / constant, LARGEST_PRODUCT * product / constant);
                let root = (1.0 + 4.0 * LARGEST_PRODUCT * (linear + product)).sqrt();
                let gain = (root - 1.0) / (2.0 * LARGEST_PRODUCT);
                let records = whole(1.0 / (constant * gain * gain));
                let gain = 1.0 / (constant * records).sqrt();
                let of = |part: fn(Forms) -> f64| records * sum(&|of| part(forms_of(of)));
                let forms = Forms {
                    norm: of(|forms| forms.norm),
                    energy: of(|forms| forms.energy),
                    square: of(|forms| forms.square),
                    length: of(|forms| forms.length.powi(2)).sqrt(),
                    rounding: of(|forms| forms.rounding),
                    ..forms
                };
                (records, Perturbation::Directions { gain, forms, weights })
            }
        };
        Some(NoiseLaw { records: records as u64, perturbation, ..first })
    }

    /// An upper bound on the variance of `<S, Q>` over collections, S being the mean, whatever the populations of the
    /// estimates are: [`NoiseLaw::form_variance`] for a mean. The facts about Q are those of the mean population.
    ///
    /// Each estimate has the variance `w^2 / n (constant + energy e - square q^2)` at most, for an energy e of at least
    /// 0 and a value q of its own. Only the weighted means of both are known: the largest sum has the energy where it
    /// counts most, and equal `q w square / n`.
    pub(crate) fn form_variance(&self, form: &LinearForm) -> f64 {
        let Some((_, first)) = self.members.first() else { return f64::INFINITY };
        if self.members.len() == 1 {
            return first.form_variance(form);
        }
        let (energy, squared_value) = first.known_of(form);
        let share = |(weight, law): &(f64, NoiseLaw)| (weight * weight / law.records as f64, law.form_terms(form));
        let terms: Vec<(f64, FormTerms)> = self.members.iter().map(share).collect();
        let constant: f64 = terms.iter().map(|(share, terms)| share * terms.constant).sum();
        let slope = |((weight, _), (share, of)): (&(f64, _), &(f64, FormTerms))| (share * of.energy / weight, *weight);
        let slopes = self.members.iter().zip(&terms).map(slope).collect();
        // The most that `<u u^T, P^2>` can be.
        let (mut left, most) = (energy, (1.0 + first.level_of(form).abs()).powi(2));
        let of_energy: f64 = sorted_descending(slopes, |(slope, _)| *slope)
            .into_iter()
            .map(|(slope, weight)| {
                let here = left.min(weight * most);
                left -= here;
                slope * here
            })
            .sum();
        let square_weights =
            self.members.iter().zip(&terms).map(|((weight, _), (share, of))| weight * weight / (share * of.square));
        let of_square = squared_value / square_weights.sum::<f64>();
        first.scale * first.scale * (constant + of_energy - of_square)
    }
}

fn forms_of(perturbation: Perturbation) -> Forms {
    match perturbation {
        Perturbation::Additive { .. } => Forms::default(),
        Perturbation::Directions { forms, .. } => forms,
    }
}

/// The variances of one report's entry on the diagonal and off it, where the record has nothing.
fn squares(perturbation: Perturbation) -> [f64; 2] {
    match perturbation {
        Perturbation::Additive { diagonal, off_diagonal } => [diagonal * diagonal, off_diagonal * off_diagonal],
        Perturbation::Directions { gain, .. } => [2.0 / (gain * gain), 1.0 / (gain * gain)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::tests::{double_cap_law, gaussian_law};

    /// A law for each epsilon with so many reports, weighted as the reports of a family are.
    fn weighted(laws: &[NoiseLaw]) -> WeightedLaw {
        let precision = |law: &NoiseLaw| law.records as f64 / squares(law.perturbation)[1];
        let total: f64 = laws.iter().map(precision).sum();
        WeightedLaw { members: laws.iter().map(|law| (precision(law) / total, *law)).collect() }
    }

    fn exact(law: &WeightedLaw, a: f64, b: f64) -> f64 {
        law.members.iter().map(|(weight, law)| weight * weight * law.cross_variance(a, b)).sum()
    }

    /// Two and three epsilons, in shares from 1:1000 to 1000:1, and pairs of eigenvalues with a sum of at most 1: the
    /// variance is never understated, and the largest excess is what docs/reference/inference.md says.
    #[test]
    fn the_law_of_a_mean_has_as_much_noise_in_two_directions_and_little_more() {
        for (epsilons, most_beside, most, least_along) in [
            (&[1.0, 2.0][..], 0.008, 0.018, -0.018),
            (&[1.0, 4.0], 0.041, 0.084, -0.062),
            (&[1.0, 2.0, 4.0], 0.026, 0.053, -0.04),
            (&[0.5, 8.0], 0.072, 0.16, -0.11),
        ] {
            let (mut beside, mut largest, mut along) = (0.0f64, 0.0f64, 0.0f64);
            for share in -30..=30 {
                let ratio = 10f64.powf(f64::from(share) / 10.0);
                let records = |index: usize| ((1e6 * ratio.powi(1 - index as i32)) as u64).max(1_000);
                let laws = |mechanism: fn(usize, f64, u64) -> NoiseLaw| -> Vec<NoiseLaw> {
                    epsilons.iter().enumerate().map(|(at, epsilon)| mechanism(20, *epsilon, records(at))).collect()
                };
                let of = |mechanism| {
                    let mean = weighted(&laws(mechanism));
                    let law = mean.law().unwrap();
                    move |a: f64, b: f64| law.cross_variance(a, b) / exact(&mean, a, b) - 1.0
                };
                let (excess, additive) = (of(double_cap_law), of(gaussian_law));
                for (a, b) in [(0.0, 0.0), (0.05, 0.0), (0.05, 0.05), (0.3, 0.02), (0.3, 0.3), (0.5, 0.5), (1.0, 0.0)] {
                    assert!(excess(a, b) > -1e-9, "{epsilons:?} {share} {a} {b}: {}", excess(a, b));
                    assert!((-1e-9..1e-3).contains(&additive(a, b)), "{epsilons:?} {share}: {}", additive(a, b));
                    largest = largest.max(excess(a, b));
                }
                beside = beside.max(excess(0.3, 0.02));
                along = along.min(excess(1.0, 1.0));
            }
            assert!(beside < most_beside && largest < most && along > least_along, "{beside} {largest} {along}");
            assert!(beside > 0.8 * most_beside, "{epsilons:?}: {beside} is what the documents say");
        }
    }

    #[test]
    fn the_law_of_one_estimate_is_its_own_and_that_of_equal_ones_that_of_all_their_reports() {
        let form = LinearForm { squared_norm: 2.0, trace: 0.6, value: 0.4, energy: 0.5 };
        for mechanism in [double_cap_law, gaussian_law] {
            let one = mechanism(6, 4.0, 3_000);
            assert_eq!(weighted(&[one]).law(), Some(one));
            assert_eq!(weighted(&[one]).form_variance(&form), one.form_variance(&form));
            let all = one.with_records(9_000).unwrap();
            let parts = weighted(&[one, one.with_records(5_000).unwrap(), one.with_records(1_000).unwrap()]);
            let law = parts.law().unwrap();
            assert_eq!(law.records, 9_000);
            let relative = |found: f64, expected: f64| (found / expected - 1.0).abs();
            assert!(relative(law.cross_variance(0.3, 0.1), all.cross_variance(0.3, 0.1)) < 1e-12);
            for form in [form, LinearForm { value: -0.1, energy: 0.02, ..form }, LinearForm { energy: 1.4, ..form }] {
                assert!(relative(parts.form_variance(&form), all.form_variance(&form)) < 1e-12);
            }
        }
        assert_eq!(WeightedLaw { members: vec![] }.law(), None);
    }

    /// Populations that differ between the tasks as much as they can, with the same mean: the bound is above the sum of
    /// the bounds of each, and at most a quarter above the worst of them.
    #[test]
    fn the_bound_on_a_form_holds_for_every_way_in_which_people_choose() {
        for laws in [
            [double_cap_law(6, 1.0, 40_000), double_cap_law(6, 4.0, 3_000)],
            [double_cap_law(6, 2.0, 9_000), double_cap_law(6, 8.0, 500)],
            [gaussian_law(6, 1.0, 40_000), gaussian_law(6, 4.0, 9_000)],
        ] {
            let mean = weighted(&laws);
            let [first, second] = [0, 1].map(|at| mean.members[at].0);
            let mut nearest = f64::INFINITY;
            for at in 0..=100 {
                for value_at in 0..=20 {
                    // The second task's people have this energy and value of Q, those of the first the rest.
                    let (energy, value) = (f64::from(at) / 100.0, f64::from(value_at) / 20.0);
                    let other = [(0.5 - second * energy) / first, (0.4 - second * value) / first];
                    if !(0.0..=1.0).contains(&other[0]) || value * value > energy || other[1].powi(2) > other[0] {
                        continue;
                    }
                    let form = |value, energy| LinearForm { squared_norm: 1.0, trace: 1.0, value, energy };
                    let sum = first.powi(2) * mean.members[0].1.form_variance(&form(other[1], other[0]))
                        + second.powi(2) * mean.members[1].1.form_variance(&form(value, energy));
                    let bound = mean.form_variance(&form(0.4, 0.5));
                    assert!(bound >= sum * (1.0 - 1e-12), "{laws:?} {energy} {value}: {bound} {sum}");
                    nearest = nearest.min(bound / sum);
                }
            }
            assert!(nearest < 1.25, "{laws:?}: {nearest}");
        }
    }
}
