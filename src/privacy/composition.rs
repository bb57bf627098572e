//! Composition: the guarantee of several reports about one person together.
//!
//! A person who answers several tasks, or one task several times, loses more than one report's epsilon. [`Composition`]
//! adds up reports of any mix of mechanisms and gives, for a target delta, the smallest epsilon that any of the methods
//! below proves; each is a theorem of its own, so the smallest of them holds too. Later reports may depend on earlier
//! ones, but the losses are fixed beforehand. If those who choose the tasks also choose their losses after seeing
//! earlier reports, the smallest of several methods proves nothing: use [`filter`](super::filter) then.
//!
//! | method | theorem |
//! |---|---|
//! | basic | epsilons and deltas add up (Dwork & Roth 2014, Theorem 3.16) |
//! | advanced | Kairouz, Oh & Viswanath 2015, Theorem 3.5, heterogeneous |
//! | gaussian | several Gaussians are one, their rhos add up (Dong, Roth & Su 2022, Corollary 3.3): exact |
//! | concentrated | rhos add up (Bun & Steinke 2016, Lemma 1.7); pure epsilon has rho = epsilon^2 / 2 |
//! | renyi | exact divergences add up at every order (Mironov 2017, Proposition 1) |
//!
//! Where a method speaks of pure loss and a report has a delta of its own, that delta is added: an (epsilon,
//! delta)-private report's laws for two records are mixtures of something with weight delta and, with weight 1 - delta,
//! two laws that differ by factors of at most e^epsilon (Kairouz, Oh & Viswanath 2015, Theorem 3.4).

use core::fmt;

use serde::{Deserialize, Serialize};

use super::calibration::gaussian_epsilon_of_rho;
use super::renyi::{Cap, epsilon_of_divergence, gaussian_divergence, pure_divergence};
use super::variation::TotalVariation;
use super::{Delta, Epsilon, PrivacyError, Rho};

/// The privacy loss of one report: as much of its law as the accounting needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum PrivacyLoss {
    /// Gaussian noise, up to the total variation of its sampler.
    Gaussian {
        /// Sensitivity^2 / (2 sigma^2), which determines everything.
        rho: Rho,
        /// Distance of the sampled payload's law from the Gaussian's.
        total_variation: TotalVariation,
    },
    /// One of J candidates, L of them likelier.
    Cap(Cap),
    /// Nothing known beyond epsilon.
    Pure {
        /// The bound.
        epsilon: Epsilon,
    },
    /// Nothing known beyond epsilon and delta.
    Approximate {
        /// The bound.
        epsilon: Epsilon,
        /// The addition to every probability.
        delta: Delta,
    },
}

impl PrivacyLoss {
    /// Upper bound on the divergence of order `order` > 1, a delta of its own and the total variation left out.
    pub(super) fn divergence(&self, order: f64) -> f64 {
        match *self {
            Self::Gaussian { rho, .. } => gaussian_divergence(rho, order),
            Self::Cap(cap) => cap.divergence(order),
            Self::Pure { epsilon } | Self::Approximate { epsilon, .. } => pure_divergence(epsilon, order),
        }
    }
}

/// The theorem that proves an epsilon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Method {
    /// Sums.
    Basic,
    /// Kairouz, Oh & Viswanath.
    Advanced,
    /// Several Gaussians are one.
    Gaussian,
    /// Concentrated differential privacy.
    Concentrated,
    /// Renyi divergences.
    Renyi,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Basic, Self::Advanced, Self::Gaussian, Self::Concentrated, Self::Renyi];
}

/// As in JSON.
impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// An epsilon and the method that proves it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Composed {
    /// The bound on the privacy loss of all reports together.
    pub epsilon: Epsilon,
    /// The theorem that proves it.
    pub method: Method,
}

/// Several reports about the same person.
///
/// ```
/// use ldp_pca::privacy::{Delta, Epsilon, composition::{Composition, Method, PrivacyLoss}};
/// let mut reports = Composition::default();
/// reports.add(PrivacyLoss::Pure { epsilon: Epsilon::new(0.1)? }, 100)?;
/// assert!(reports.epsilon(None)?.epsilon.value() >= 10.0);
/// let composed = reports.epsilon(Some(Delta::new(1e-6)?))?;
/// assert!(composed.epsilon.value() < 6.0 && composed.method == Method::Renyi);
/// # Ok::<(), ldp_pca::privacy::PrivacyError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Composition {
    parts: Vec<(PrivacyLoss, u64)>,
}

/// Sums over all reports are rounded up by this relative margin: more than the roundings of 1e6 different losses.
const SUM_ERROR: f64 = 1e-9;

impl Composition {
    /// Adds `reports` reports that lose `loss` each.
    ///
    /// # Errors
    /// [`PrivacyError::Reports`] unless there are 1 to 2^53 reports of each kind.
    pub fn add(&mut self, loss: PrivacyLoss, reports: u64) -> Result<(), PrivacyError> {
        let found = self.parts.iter().position(|(known, _)| *known == loss);
        let before = found.map_or(0, |place| self.parts[place].1);
        let total = before.saturating_add(reports);
        if reports == 0 || total > 1 << 53 {
            return Err(PrivacyError::Reports(reports));
        }
        match found {
            Some(place) => self.parts[place].1 = total,
            None => self.parts.push((loss, total)),
        }
        Ok(())
    }

    /// Whether there are no reports, which lose nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The smallest epsilon that any method proves with `delta` (`None`: 0).
    ///
    /// # Errors
    /// [`PrivacyError::Reports`] when there are none, [`PrivacyError::NoFiniteEpsilon`] when no method gives a finite
    /// epsilon, as for Gaussian reports and delta 0.
    pub fn epsilon(&self, delta: Option<Delta>) -> Result<Composed, PrivacyError> {
        if self.is_empty() {
            return Err(PrivacyError::Reports(0));
        }
        Method::ALL
            .into_iter()
            .filter_map(|method| self.epsilon_by(method, delta).map(|epsilon| Composed { epsilon, method }))
            .min_by(|left, right| left.epsilon.value().total_cmp(&right.epsilon.value()))
            .ok_or(PrivacyError::NoFiniteEpsilon(delta.map_or(0.0, Delta::value)))
    }

    /// The epsilon that `method` proves with `delta` (`None`: 0), if it applies.
    #[must_use]
    pub fn epsilon_by(&self, method: Method, delta: Option<Delta>) -> Option<Epsilon> {
        if self.is_empty() {
            return None;
        }
        let Some(delta) = delta else { return self.pure_epsilon().filter(|_| method == Method::Basic) };
        let ideal = |target: f64| {
            let target = Delta::new(target).ok()?;
            match method {
                Method::Basic => self.basic(target),
                Method::Advanced => self.advanced(target),
                Method::Gaussian => gaussian_epsilon_of_rho(self.gaussian_rho()?, target).ok(),
                Method::Concentrated => self.concentrated(target),
                Method::Renyi => self.renyi(target),
            }
        };
        // If the sampled laws are within v of the accounted ones, both ways, then
        //     P[E] <= P'[E] + v <= e^epsilon Q'[E] + delta' + v <= e^epsilon Q[E] + delta' + (1 + e^epsilon) v.
        // The slack is booked at half of delta, where epsilon is larger, so it is enough for the rest of delta.
        let variation = self.sum(|loss| match loss {
            PrivacyLoss::Gaussian { total_variation, .. } => total_variation.value(),
            _ => 0.0,
        });
        if variation == 0.0 {
            return ideal(delta.value());
        }
        let slack = (1.0 + libm::exp(ideal(0.5 * delta.value())?.value())) * variation * (1.0 + SUM_ERROR);
        let left = (delta.value() - slack).next_down();
        if left >= 0.5 * delta.value() { ideal(left) } else { None }
    }

    /// The sum of `value` over all reports, rounded up.
    fn sum(&self, value: impl Fn(&PrivacyLoss) -> f64) -> f64 {
        self.parts.iter().map(|(loss, reports)| value(loss) * *reports as f64).sum::<f64>() * (1.0 + SUM_ERROR)
    }

    /// Sum of epsilons with delta 0, where every report is pure.
    fn pure_epsilon(&self) -> Option<Epsilon> {
        let pure = |loss: &PrivacyLoss| match loss {
            PrivacyLoss::Pure { epsilon } => epsilon.value(),
            PrivacyLoss::Cap(cap) => cap.epsilon().value(),
            PrivacyLoss::Gaussian { .. } | PrivacyLoss::Approximate { .. } => f64::INFINITY,
        };
        match self.parts.as_slice() {
            // One report alone is not rounded.
            [(loss, 1)] => Epsilon::new(pure(loss)).ok(),
            _ => Epsilon::new(self.sum(pure)).ok(),
        }
    }

    /// The number of Gaussian reports.
    fn gaussians(&self) -> f64 {
        self.sum(|loss| f64::from(matches!(loss, PrivacyLoss::Gaussian { .. })))
    }

    /// The reports' own deltas, except those of Gaussians.
    fn own_delta(&self) -> f64 {
        self.sum(|loss| match loss {
            PrivacyLoss::Approximate { delta, .. } => delta.value(),
            _ => 0.0,
        })
    }

    /// Every kind of report as (epsilon, reports), where each Gaussian is given `delta` / Gaussians.
    fn pairs(&self, delta: f64) -> Option<Vec<(f64, f64)>> {
        let each = delta / self.gaussians().max(1.0);
        self.parts
            .iter()
            .map(|(loss, reports)| {
                let epsilon = match *loss {
                    PrivacyLoss::Gaussian { rho, .. } => gaussian_epsilon_of_rho(rho, Delta::new(each).ok()?).ok()?,
                    PrivacyLoss::Cap(cap) => cap.epsilon(),
                    PrivacyLoss::Pure { epsilon } | PrivacyLoss::Approximate { epsilon, .. } => epsilon,
                };
                Some((epsilon.value(), *reports as f64))
            })
            .collect()
    }

    fn basic(&self, delta: Delta) -> Option<Epsilon> {
        if self.gaussians() == 0.0 && self.own_delta() == 0.0 {
            return self.pure_epsilon();
        }
        if let [(PrivacyLoss::Approximate { epsilon, delta: own }, 1)] = self.parts.as_slice() {
            // One report alone is not rounded.
            return (own <= &delta).then_some(*epsilon);
        }
        let left = delta.value() - self.own_delta();
        if left < 0.0 {
            return None;
        }
        let sum: f64 = self.pairs(left)?.iter().map(|(epsilon, reports)| epsilon * reports).sum();
        Epsilon::new(sum * (1.0 + SUM_ERROR)).ok()
    }

    /// Theorem 3.5 of Kairouz, Oh & Viswanath (2015): with slack s, delta is `1 - (1 - s) prod(1 - delta_i)`, at most
    /// `s + sum delta_i`, and epsilon the smaller of the two square-root forms (the plain sum is [`Method::Basic`]).
    fn advanced(&self, delta: Delta) -> Option<Epsilon> {
        let left = delta.value() - self.own_delta();
        // Half of the rest goes to the Gaussians, if there are any.
        let for_gaussians = if self.gaussians() > 0.0 { 0.5 * left } else { 0.0 };
        let slack = left - for_gaussians;
        if slack <= 0.0 {
            return None;
        }
        let pairs = self.pairs(for_gaussians)?;
        let sum = |value: fn(f64) -> f64| pairs.iter().map(|&(epsilon, reports)| value(epsilon) * reports).sum::<f64>();
        // (e^x - 1) / (e^x + 1) = tanh(x / 2)
        let mean = sum(|epsilon| epsilon * libm::tanh(0.5 * epsilon));
        let squares = sum(|epsilon| epsilon * epsilon);
        let logarithm = libm::log(core::f64::consts::E + squares.sqrt() / slack).min(-libm::log(slack));
        Epsilon::new((mean + (2.0 * squares * logarithm).sqrt()) * (1.0 + SUM_ERROR)).ok()
    }

    /// The rho of all reports together, where all are Gaussian.
    fn gaussian_rho(&self) -> Option<Rho> {
        Rho::new(self.sum(|loss| match loss {
            PrivacyLoss::Gaussian { rho, .. } => rho.value(),
            _ => f64::INFINITY,
        }))
        .ok()
    }

    fn concentrated(&self, delta: Delta) -> Option<Epsilon> {
        let pure = |epsilon: Epsilon| 0.5 * epsilon.value() * epsilon.value();
        let rho = self.sum(|loss| match *loss {
            PrivacyLoss::Gaussian { rho, .. } => rho.value(),
            PrivacyLoss::Cap(cap) => pure(cap.epsilon()),
            PrivacyLoss::Pure { epsilon } | PrivacyLoss::Approximate { epsilon, .. } => pure(epsilon),
        });
        let rho = Rho::new(rho).ok()?;
        epsilon_of_divergence(|order| gaussian_divergence(rho, order), self.without_own(delta)?)
    }

    fn renyi(&self, delta: Delta) -> Option<Epsilon> {
        epsilon_of_divergence(|order| self.sum(|loss| loss.divergence(order)), self.without_own(delta)?)
    }

    fn without_own(&self, delta: Delta) -> Option<Delta> {
        Delta::new(delta.value() - self.own_delta()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::tests::{assert_rounded_up, composition_cases, delta, epsilon, known};

    fn composition(parts: &[(PrivacyLoss, u64)]) -> Composition {
        let mut composition = Composition::default();
        parts.iter().for_each(|&(loss, reports)| composition.add(loss, reports).unwrap());
        composition
    }

    fn gaussian(rho: f64, total_variation: f64) -> PrivacyLoss {
        PrivacyLoss::Gaussian {
            rho: Rho::new(rho).unwrap(),
            total_variation: TotalVariation::new(total_variation).unwrap(),
        }
    }

    #[test]
    fn one_report_loses_what_it_says() {
        let pure = composition(&[(PrivacyLoss::Pure { epsilon: epsilon(2.0) }, 1)]);
        assert_eq!(pure.epsilon(None).unwrap(), Composed { epsilon: epsilon(2.0), method: Method::Basic });
        let cap = composition(&[(PrivacyLoss::Cap(Cap::new(epsilon(2.0), 64, 8).unwrap()), 1)]);
        assert_eq!(cap.epsilon(None).unwrap().epsilon, epsilon(2.0));
        assert!(cap.epsilon(Some(delta(1e-6))).unwrap().epsilon <= epsilon(2.0));
        let approximate = PrivacyLoss::Approximate { epsilon: epsilon(2.0), delta: delta(1e-6) };
        assert_eq!(composition(&[(approximate, 1)]).epsilon(Some(delta(1e-6))).unwrap().epsilon, epsilon(2.0));
        assert!(composition(&[(approximate, 1)]).epsilon(Some(delta(1e-7))).is_err());
        assert!(Composition::default().epsilon(Some(delta(1e-6))).is_err());
    }

    #[test]
    fn the_slack_of_the_sampler_is_at_most_half_of_delta() {
        // The slack at half of delta may be half of delta, and hardly more.
        let half = composition(&[(gaussian(0.5, 0.0), 4)]).epsilon_by(Method::Gaussian, Some(delta(5e-7))).unwrap();
        let most = 5e-7 / (1.0 + half.value().exp()) / 4.0;
        let proved = |slack| composition(&[(gaussian(0.5, slack), 4)]).epsilon_by(Method::Gaussian, Some(delta(1e-6)));
        assert!(proved(most * (1.0 - 1e-7)).is_some_and(|found| (found.value() / half.value() - 1.0).abs() < 1e-7));
        assert!(proved(most * (1.0 + 1e-7)).is_none());
    }

    #[test]
    fn more_reports_never_lose_less_and_no_delta_is_lost() {
        let cap = PrivacyLoss::Cap(Cap::new(epsilon(1.0), 64, 13).unwrap());
        let approximate = PrivacyLoss::Approximate { epsilon: epsilon(0.5), delta: delta(1e-8) };
        for method in Method::ALL {
            let mut before = 0.0;
            for reports in [1, 2, 5, 20, 90] {
                let parts = composition(&[(cap, reports), (approximate, reports)]);
                let Some(now) = parts.epsilon_by(method, Some(delta(1e-6))) else {
                    assert!(method == Method::Gaussian, "{method}");
                    continue;
                };
                assert!(now.value() > before, "{method} {reports}");
                before = now.value();
            }
        }
        // 101 deltas of 1e-8 are more than 1e-6.
        assert!(composition(&[(approximate, 101)]).epsilon(Some(delta(1e-6))).is_err());
    }

    /// That `found` is no less than the `truth`, and no more than 1e-8 of it above.
    fn is_just_above(label: &str, found: f64, truth: f64) {
        assert!(found >= truth && found <= truth * (1.0 + 1e-8), "{label}: {found} where {truth} is true");
    }

    /// The result of every method, and the best of them, against the theorems computed elsewhere, in either order.
    #[test]
    fn every_method_costs_what_its_theorem_says() {
        let mut proved = 0;
        for (case, is_reversed) in composition_cases().iter().flat_map(|case| [(case, false), (case, true)]) {
            let mut parts: Vec<_> = case.parts.iter().map(|part| (part.loss, part.reports)).collect();
            if is_reversed {
                parts.reverse();
            }
            let (reports, target) = (composition(&parts), Some(delta(case.delta)));
            for method in Method::ALL {
                let label = format!("{}, {method}", case.name);
                let expected = case.methods[&method.to_string()];
                match (reports.epsilon_by(method, target), expected) {
                    (Some(found), Some(truth)) => is_just_above(&label, found.value(), truth),
                    (found, expected) => {
                        assert!(found.is_none() && expected.is_none(), "{label}: {found:?} {expected:?}");
                    }
                }
                proved += u32::from(expected.is_some());
            }
            let truths =
                Method::ALL.into_iter().filter_map(|method| Some((case.methods[&method.to_string()]?, method)));
            let (truth, method) = truths.min_by(|left, right| left.0.total_cmp(&right.0)).unwrap();
            let best = reports.epsilon(target).unwrap();
            is_just_above(&case.name, best.epsilon.value(), truth);
            // If two methods give the same, either is the best.
            let same = case.methods[&best.method.to_string()].unwrap();
            assert!(best.method == method || same <= truth * (1.0 + 1e-8), "{}: {}", case.name, best.method);
            match (case.pure, reports.epsilon(None)) {
                (Some(truth), Ok(found)) => is_just_above(&case.name, found.epsilon.value(), truth),
                (expected, found) => assert!(expected.is_none() && found.is_err(), "{}: {found:?}", case.name),
            }
        }
        assert!(proved >= 120, "{proved}");
    }

    /// A loss counts as often as it was added, however: at once, one by one, in two goes, or as losses that differ by
    /// less than anything shows.
    #[test]
    fn equal_losses_cost_as_much_however_they_are_added() {
        let kinds: [fn(f64) -> PrivacyLoss; 4] = [
            |times| PrivacyLoss::Pure { epsilon: epsilon(0.3 * times) },
            |times| PrivacyLoss::Cap(Cap::new(epsilon(0.7 * times), 64, 13).unwrap()),
            |times| PrivacyLoss::Approximate { epsilon: epsilon(0.2 * times), delta: delta(1e-8 * times) },
            |times| gaussian(0.01 * times, 1e-14),
        ];
        for of in kinds {
            let (loss, other) = (of(1.0), of(1.5));
            let at_once = composition(&[(loss, 12), (other, 1)]);
            assert_eq!(at_once, composition(&[(loss, 5), (other, 1), (loss, 7)]));
            let one_by_one: Vec<_> = (0..12).map(|_| (loss, 1)).chain([(other, 1)]).collect();
            assert_eq!(at_once, composition(&one_by_one));
            let different: Vec<_> = (0..12).map(|i| (of(1.0 + f64::from(i) * 1e-14), 1)).chain([(other, 1)]).collect();
            let different = composition(&different);
            assert_eq!(different.parts.len(), 13);
            for method in Method::ALL {
                let epsilon_of =
                    |reports: &Composition| reports.epsilon_by(method, Some(delta(1e-6))).map(Epsilon::value);
                let (left, right) = (epsilon_of(&at_once), epsilon_of(&different));
                let close = |(left, right): (f64, f64)| (left / right - 1.0).abs() < 1e-9;
                assert!(left.is_some() == right.is_some() && left.zip(right).is_none_or(close), "{loss:?} {method}");
            }
        }
    }

    /// Four deltas of a quarter are the whole, except for the rounding of sums.
    #[test]
    fn the_deltas_of_reports_add_up() {
        let quarter = 2f64.powi(-22);
        let reports = composition(&[
            (PrivacyLoss::Approximate { epsilon: epsilon(0.5), delta: delta(quarter) }, 3),
            (PrivacyLoss::Approximate { epsilon: epsilon(0.25), delta: delta(quarter) }, 1),
        ]);
        let basic = |target: f64| reports.epsilon_by(Method::Basic, Some(delta(target))).map(Epsilon::value);
        is_just_above("basic", basic(4.0 * quarter * (1.0 + 2.0 * SUM_ERROR)).unwrap(), 1.75);
        assert_eq!(basic(4.0 * quarter), None);
        is_just_above("nothing left", basic(reports.own_delta()).unwrap(), 1.75);
        // The other methods get the part of delta that the reports leave.
        let pure = composition(&[
            (PrivacyLoss::Pure { epsilon: epsilon(0.5) }, 3),
            (PrivacyLoss::Pure { epsilon: epsilon(0.25) }, 1),
        ]);
        for method in [Method::Advanced, Method::Concentrated, Method::Renyi] {
            let found = reports.epsilon_by(method, Some(delta(12.0 * quarter))).unwrap().value();
            is_just_above(
                &method.to_string(),
                found,
                pure.epsilon_by(method, Some(delta(8.0 * quarter))).unwrap().value() * (1.0 - 1e-9),
            );
            assert!(reports.epsilon_by(method, Some(delta(4.0 * quarter))).is_none(), "{method}");
        }
    }

    /// Each of a million different losses is less than half an ulp of their sum: added up as doubles they are nothing.
    #[test]
    fn sums_of_a_million_losses_are_not_below_the_real_ones() {
        let small = 2f64.powi(-54);
        let kind = |value: f64| (PrivacyLoss::Pure { epsilon: epsilon(value) }, 1);
        let losses = (0..1_000_000).map(|i| kind(small * (1.0 - f64::from(i) * 2f64.powi(-40))));
        let reports = Composition { parts: [kind(1.0)].into_iter().chain(losses).collect() };
        let naive: f64 = reports.parts.iter().map(|(loss, _)| pure_epsilon_of(loss)).sum();
        assert_eq!(naive, 1.0);
        is_just_above("a million", reports.epsilon(None).unwrap().epsilon.value(), 1.0 + 999_999.0 * small);
    }

    fn pure_epsilon_of(loss: &PrivacyLoss) -> f64 {
        let PrivacyLoss::Pure { epsilon } = loss else { panic!("{loss:?}") };
        epsilon.value()
    }

    fn pure_parts(numbers: &[f64]) -> Vec<(PrivacyLoss, u64)> {
        let part = |part: &[f64]| (PrivacyLoss::Pure { epsilon: epsilon(part[0]) }, part[1] as u64);
        numbers.chunks_exact(2).map(part).collect()
    }

    /// The exact sums are fractions; the proved value exceeds them by the margin for a million roundings.
    #[test]
    fn sums_of_epsilons_are_the_exact_ones_or_a_little_more() {
        for (inputs, truth) in known("pure_sum") {
            let close = 1.1 * SUM_ERROR * truth[1];
            let mut parts = pure_parts(inputs);
            assert_rounded_up(composition(&parts).epsilon(None).unwrap().epsilon.value(), truth, close, inputs);
            // With a report that has a delta of its own the sum is another one.
            let with_delta = PrivacyLoss::Approximate { epsilon: epsilon(inputs[0]), delta: delta(1e-300) };
            parts[0] = (with_delta, parts[0].1);
            let found = composition(&parts).epsilon_by(Method::Basic, Some(delta(1e-6))).unwrap();
            assert_rounded_up(found.value(), truth, close, inputs);
        }
    }

    #[test]
    fn advanced_composition_is_that_of_a_hundred_digits_or_a_little_more() {
        for (inputs, truth) in known("advanced") {
            let found = composition(&pure_parts(&inputs[1..])).epsilon_by(Method::Advanced, Some(delta(inputs[0])));
            assert_rounded_up(found.unwrap().value(), truth, 1.1 * SUM_ERROR * truth[1], inputs);
        }
    }

    /// Every sum of losses is above the exact one by the margin: here as rho of all reports, and as their slack.
    #[test]
    fn sums_of_rho_and_of_slack_are_rounded_up() {
        let parts = composition(&[(gaussian(0.1, 0.1), 3), (gaussian(0.7, 0.2), 1)]);
        let rho = parts.gaussian_rho().unwrap().value();
        assert!((1.0 + 0.99 * SUM_ERROR..=1.0 + 1.01 * SUM_ERROR).contains(&rho), "{rho}");
        assert!(parts.gaussians() >= 4.0);
        // (1 + e^epsilon) v at half of delta is taken from delta, and no less than that.
        for variation in [1e-12, 1e-10, 1e-9] {
            let ideal = |d: f64| composition(&[(gaussian(0.5, 0.0), 1)]).epsilon_by(Method::Gaussian, Some(delta(d)));
            let slack = (1.0 + libm::exp(ideal(0.5e-6).unwrap().value())) * variation;
            let found = composition(&[(gaussian(0.5, variation), 1)]).epsilon_by(Method::Gaussian, Some(delta(1e-6)));
            let (least, most) = (ideal(1e-6 - slack), ideal(1e-6 - slack * (1.0 + 1e-6)));
            assert!(found >= least && found <= most, "{variation}: {found:?} {least:?} {most:?}");
        }
    }

    #[test]
    fn counts_outside_their_range_are_refused() {
        let mut parts = Composition::default();
        let loss = PrivacyLoss::Pure { epsilon: epsilon(1.0) };
        assert!(parts.add(loss, 0).is_err());
        parts.add(loss, (1 << 53) - 1).unwrap();
        assert!(parts.add(loss, 2).is_err());
        parts.add(loss, 1).unwrap();
        assert!(parts.add(loss, 1).is_err());
        assert!(parts.add(loss, u64::MAX).is_err());
    }
}
