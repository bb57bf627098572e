//! Amplification by shuffling: the *additional* guarantee of an anonymised batch of reports.
//!
//! Every report is private on its own, against everybody. If, in addition, somebody trusted removes everything that
//! shows who sent which report (addresses, times, order) from a batch of n reports of n people, then anyone who sees
//! only that batch learns less. Report ids that people draw for themselves carry nothing. Ids that an aggregator issued
//! one by one do: against an aggregator that knows whose id is whose, nothing is shuffled ([`Blanket`]). This is an
//! additional guarantee about the batch under its assumption, never a replacement for the local guarantee: if the
//! assumption fails, only the local one remains.
//!
//! | bound | for | theorem |
//! |---|---|---|
//! | clones | every eps0-private randomizer | Feldman, McMillan & Talwar 2021, computed ([`Blanket`] of an [`Epsilon`]) |
//! | blanket | double-cap, signed-cap and norm-cap, from their J and L | Balle, Bell, Gascon & Nissim 2019 ([`Blanket`]) |
//!
//! Both are of at most 1e11 reports: a larger batch has the guarantee of that many. Neither proves a delta below
//! 1e-280: there, a batch of any size has the guarantee of each report.
//!
//! # Approximate randomizers
//! If R is (eps0, delta0)-private, the batch is (epsilon, delta + slack)-private for the (epsilon, delta) of an
//! eps0-private one and `slack = delta0 + 2 (1 + e^epsilon)(n - 1) e^-eps0 delta0`. Proof:
//! 1. `R(x_0) = delta0 P* + (1 - delta0) P'`, `R(x_1)` likewise with Q', where P' and Q' are eps0-indistinguishable
//!    (Kairouz, Oh & Viswanath 2015, Theorem 3.4). So much for the differing report: it costs delta0.
//! 2. `(1 - delta0) P' <= R(x_0)`, which exceeds `e^eps0 R(x_i)` by at most delta0 in mass; so P' exceeds it by at most
//!    2 delta0, and so does Q'. Hence R(x_i) is within total variation `2 e^-eps0 delta0` of a law that is at least
//!    `e^-eps0 (P' + Q') / 2`, which is all that a [`Blanket`] of eps0 alone asks. n - 1 laws add up, and a total
//!    variation of v on both sides costs `(1 + e^epsilon) v`.

mod blanket;
mod excess;
pub(crate) mod inverse;

use core::fmt;

use serde::Serialize;

pub use self::blanket::Blanket;
pub(crate) use self::inverse::keeps;
use super::calibration::{gaussian_epsilon_of_rho, refined};
use super::composition::{Composition, PrivacyLoss};
use super::variation::TotalVariation;
use super::{Delta, Epsilon, PrivacyError, Rho};
use crate::decimal::grouped;

/// An additional guarantee of each anonymised batch, beside the local guarantee of every report in it, never a
/// replacement for it.
///
/// It holds against anyone who sees the batch only after everything that distinguishes the reports' senders was
/// removed. It is about one record in place of another among `honest_reports` records, one report each, however many
/// other reports the batch has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BatchGuarantee {
    /// The bound on the privacy loss of the batch.
    pub epsilon: Epsilon,
    /// The guarantee's delta, added to every probability.
    pub delta: Delta,
    /// The reports in the batch whose senders do not work together with those who see it.
    pub honest_reports: u64,
    /// The argument that proves it: `clones` or `blanket` of the module's table, or `local`, where that of each report
    /// alone is best.
    pub bound: &'static str,
}

impl fmt::Display for BatchGuarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "({:.6}, {}) for any two records of one person in each batch of {} honest reports, of people with one \
             report in all batches ({} bound): in addition to the local guarantee of every report, never instead of \
             it, and only against those who cannot know whose report or id is whose",
            self.epsilon,
            self.delta,
            grouped(self.honest_reports),
            self.bound
        )
    }
}

/// No amplification: the guarantee of each report.
const LOCAL: &str = "local";
/// The [`Blanket`] of an epsilon, which assumes nothing more of the randomizer.
const CLONES: &str = "clones";
/// The [`Blanket`] of the numbers of candidates J and L of a double-cap, signed-cap or norm-cap mechanism.
const BLANKET: &str = "blanket";

/// Upper bound on delta at `epsilon` for a batch of `reports` of a randomizer with this `blanket`.
///
/// # Errors
/// [`PrivacyError::Reports`] when there are none.
pub fn batch_delta(blanket: Blanket, reports: u64, epsilon: Epsilon) -> Result<f64, PrivacyError> {
    check_reports(reports)?;
    // The local guarantee is pure. Beyond 40, no batch hides anything noticeable.
    Ok(match blanket.epsilon() {
        local if epsilon >= local => 0.0,
        local if local.value() > LARGEST_LOCAL => 1.0,
        _ => blanket.delta(reports, epsilon.value()),
    })
}

fn check_reports(reports: u64) -> Result<(), PrivacyError> {
    if reports == 0 { Err(PrivacyError::Reports(0)) } else { Ok(()) }
}

/// The local epsilon beyond which no amplification is worth computing.
const LARGEST_LOCAL: f64 = 40.0;

/// The smallest epsilon found, at most the local one, for which [`batch_delta`] is at most `delta`.
///
/// # Errors
/// [`PrivacyError::Reports`] when there are none.
pub fn batch_epsilon(blanket: Blanket, reports: u64, delta: Delta) -> Result<Epsilon, PrivacyError> {
    check_reports(reports)?;
    let found = smallest_below(blanket, reports, |_, pure| pure <= delta.value());
    Ok(found.unwrap_or(blanket.epsilon()))
}

/// The smallest epsilon found below the local one at which `enough(epsilon, delta)` holds, for the batch's delta there.
fn smallest_below(blanket: Blanket, reports: u64, enough: impl Fn(f64, f64) -> bool) -> Option<Epsilon> {
    let local = blanket.epsilon().value();
    if local > LARGEST_LOCAL {
        return None;
    }
    let reached = |epsilon: f64| enough(epsilon, blanket.delta(reports, epsilon));
    let high = local * (1.0 - 1e-9);
    if !reached(high) {
        return None;
    }
    Epsilon::new(refined(high, 1e-9 * local, 30, reached)).ok()
}

/// [`batch_epsilon`] for a randomizer that is (`local`, `local_delta`)-private, with the slack above; `None` where
/// `delta` does not cover it.
fn approximate_batch_epsilon(local: Epsilon, local_delta: Delta, reports: u64, delta: Delta) -> Option<Epsilon> {
    let found = smallest_below(Blanket::from(local), reports, |epsilon, pure| {
        pure + slack(local, local_delta, reports, epsilon) <= delta.value()
    });
    found.or_else(|| (local_delta <= delta).then_some(local))
}

/// The additional guarantee of an anonymised batch of `reports` honest reports of a mechanism, by the best available
/// bound.
///
/// # Errors
/// [`PrivacyError::Reports`] without reports, [`PrivacyError::NoFiniteEpsilon`] where delta is too small for a
/// mechanism with a delta of its own.
pub fn amplify(loss: PrivacyLoss, reports: u64, delta: Delta) -> Result<BatchGuarantee, PrivacyError> {
    check_reports(reports)?;
    let unreachable = PrivacyError::NoFiniteEpsilon(delta.value());
    let named = |found: Epsilon, local: Epsilon, bound| (found, if found < local { bound } else { LOCAL });
    let (epsilon, bound) = match loss {
        PrivacyLoss::Pure { epsilon } => named(batch_epsilon(epsilon.into(), reports, delta)?, epsilon, CLONES),
        PrivacyLoss::Cap(cap) => named(batch_epsilon(cap.into(), reports, delta)?, cap.epsilon(), BLANKET),
        PrivacyLoss::Approximate { epsilon, delta: own } => {
            named(approximate_batch_epsilon(epsilon, own, reports, delta).ok_or(unreachable)?, epsilon, CLONES)
        }
        PrivacyLoss::Gaussian { rho, total_variation } => {
            let mut alone = Composition::default();
            alone.add(loss, 1)?;
            let alone = alone.epsilon(Some(delta)).ok().map(|alone| (alone.epsilon, LOCAL));
            let found = gaussian_points(rho, total_variation, reports, delta)
                .filter_map(|(local, own)| approximate_batch_epsilon(local, own, reports, delta))
                .map(|epsilon| (epsilon, CLONES));
            let all = alone.into_iter().chain(found);
            all.min_by(|(left, _), (right, _)| left.value().total_cmp(&right.value())).ok_or(unreachable)?
        }
    };
    Ok(BatchGuarantee { epsilon, delta, honest_reports: reports, bound })
}

/// Points (epsilon, delta) of a Gaussian mechanism's curve: any are valid; these leave a part of `delta` to the slack
/// over n reports.
fn gaussian_points(
    rho: Rho,
    total_variation: TotalVariation,
    reports: u64,
    delta: Delta,
) -> impl Iterator<Item = (Epsilon, Delta)> {
    [0.3, 0.1, 0.03, 0.01, 0.001].into_iter().filter_map(move |part| {
        let own = Delta::new(delta.value() * part / reports as f64).ok()?;
        let local = gaussian_epsilon_of_rho(rho, own).ok()?;
        let sampled = own.value() + (1.0 + libm::exp(local.value())) * total_variation.value();
        Some((local, Delta::new(sampled * (1.0 + 1e-12)).ok()?))
    })
}

/// The addition of n - 1 other reports of an approximate randomizer to the delta of a pure one, at `epsilon`.
fn slack(local: Epsilon, own: Delta, reports: u64, epsilon: f64) -> f64 {
    let others = 2.0 * (reports - 1) as f64 * libm::exp(-local.value());
    own.value() * (1.0 + (1.0 + libm::exp(epsilon)) * others) * (1.0 + 1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::renyi::Cap;
    use crate::privacy::tests::{assert_rounded_up, delta, epsilon, known};

    #[test]
    fn caps_hide_better_than_what_is_known_of_every_randomizer() {
        for local in [0.25, 1.0, 3.0, 8.0] {
            let e = epsilon(local);
            for (candidates, cap) in [(2, 1), (64, 3), (64, 32), (64, 61), (4096, 7)] {
                let caps = Blanket::from(Cap::new(e, candidates, cap).unwrap());
                for (reports, part) in [(2, 0.3), (30, 0.5), (1_000, 0.2), (1_000_000, 0.05)] {
                    let at = |blanket| batch_delta(blanket, reports, epsilon(part * local)).unwrap();
                    let (found, any) = (at(caps), at(Blanket::from(e)));
                    assert!(found <= any * 1.01 + 1e-200, "{local} {candidates} {cap} {reports}: {found} {any}");
                }
            }
        }
    }

    #[test]
    fn slack_of_approximate_randomizers_is_charged() {
        let pure = batch_epsilon(Blanket::from(epsilon(2.0)), 10_000, delta(1e-6)).unwrap();
        let at = |own| approximate_batch_epsilon(epsilon(2.0), delta(own), 10_000, delta(1e-6));
        assert!(at(1e-12).unwrap() >= pure && at(1e-12).unwrap().value() < pure.value() * 1.01);
        assert_eq!(at(1e-7), Some(epsilon(2.0)));
        assert_eq!(at(1e-5), None);
    }

    #[test]
    fn what_a_batch_keeps_is_what_amplification_proves() {
        let losses = [
            PrivacyLoss::Cap(Cap::new(epsilon(3.0), 256, 18).unwrap()),
            PrivacyLoss::Pure { epsilon: epsilon(3.0) },
            PrivacyLoss::Approximate { epsilon: epsilon(3.0), delta: delta(1e-13) },
            PrivacyLoss::Gaussian { rho: Rho::new(0.05).unwrap(), total_variation: TotalVariation::ZERO },
        ];
        for loss in losses {
            let proved = amplify(loss, 50_000, delta(1e-6)).unwrap().epsilon.value();
            for (factor, expected) in [(0.999, false), (1.001, true)] {
                assert_eq!(keeps(loss, 50_000, epsilon(factor * proved), delta(1e-6)), Ok(expected), "{loss:?}");
            }
            assert!(keeps(loss, 0, epsilon(1.0), delta(1e-6)).is_err());
        }
        assert!(batch_epsilon(Blanket::from(epsilon(1.0)), 0, delta(1e-8)).is_err());
    }

    #[test]
    fn extreme_parameters_end_with_a_bound_no_worse_than_the_local_one() {
        for local in [1e-300, 1e-12, 1e-3, 39.9, 100.0, 1e6] {
            for reports in [1, 2, 1_000, 1_000_000_000_000] {
                for cap in [1, 2, 3] {
                    let e = epsilon(local);
                    let loss = PrivacyLoss::Cap(Cap::new(e, 4, cap).unwrap());
                    for loss in [loss, PrivacyLoss::Pure { epsilon: e }] {
                        let found = amplify(loss, reports, delta(1e-30)).unwrap();
                        assert!(found.epsilon <= e, "{found}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_slack_is_that_of_a_hundred_digits_or_a_little_more() {
        for (inputs, truth) in known("slack") {
            let &[local, own, reports, e] = inputs else { panic!("{inputs:?}") };
            let found = slack(epsilon(local), delta(own), reports as u64, e);
            assert_rounded_up(found, truth, 3e-12 * truth[1], inputs);
        }
    }

    /// The points lie on the curve of the noise, with the sampler's part, and leave the parts of delta that they
    /// should.
    #[test]
    fn points_of_gaussian_noise_are_on_its_curve() {
        for (rho, variation, reports, d) in [(0.02, 0.0, 1_000, 1e-6), (0.5, 1e-14, 7, 1e-9), (3.0, 1e-18, 1, 1e-3)] {
            let (rho, total_variation) = (Rho::new(rho).unwrap(), TotalVariation::new(variation).unwrap());
            let points: Vec<_> = gaussian_points(rho, total_variation, reports, delta(d)).collect();
            for ((local, sampled), part) in points.iter().zip([0.3, 0.1, 0.03, 0.01, 0.001]) {
                let own = d * part / reports as f64;
                let at = gaussian_epsilon_of_rho(rho, delta(own)).unwrap();
                assert!((local.value() / at.value() - 1.0).abs() < 1e-12, "{local} {at}");
                let expected = own + (1.0 + libm::exp(local.value())) * variation;
                let above = sampled.value() / expected - 1.0;
                assert!((5e-13..2e-12).contains(&above), "{part}: {sampled} {expected} {above}");
            }
            assert_eq!(points.len(), 5);
        }
    }

    #[test]
    fn what_is_too_small_for_a_double_is_not_said_to_be_nothing() {
        let found = batch_delta(Blanket::from(epsilon(1.0)), 1_000_000_000, epsilon(0.9)).unwrap();
        assert!(found > 0.0 && found < 1e-279, "{found:e}");
    }

    /// The blanket's statement, summed over all counts with 50 digits: never less, and within 2 % (a single report
    /// within roundings). Larger batches are those of tests/independent/references.py.
    #[test]
    fn delta_of_a_batch_is_the_statement_or_a_little_more() {
        for (inputs, truth) in known("blanket") {
            let &[bound, local, candidates, cap, reports, e] = inputs else { panic!("{inputs:?}") };
            let cap = Cap::new(epsilon(local), candidates as u32, cap as u32).unwrap();
            let blanket = if bound == 0.0 { Blanket::from(epsilon(local)) } else { Blanket::from(cap) };
            let found = batch_delta(blanket, reports as u64, epsilon(e)).unwrap();
            let close = if reports == 1.0 { 40.0 * f64::EPSILON } else { 0.02 };
            assert_rounded_up(found, truth, close * truth[1] + 2e-280, inputs);
        }
        let large: serde_json::Value =
            serde_json::from_str(include_str!("../../../tests/vectors/accounting/shuffle.json")).unwrap();
        for case in large["cases"].as_array().unwrap() {
            let number = |key: &str| case[key].as_f64().unwrap();
            let local = epsilon(number("epsilon0"));
            let blanket = match case["bound"].as_str().unwrap() {
                "any" => Blanket::from(local),
                _ => Blanket::from(Cap::new(local, number("candidates") as u32, number("cap") as u32).unwrap()),
            };
            let found = batch_delta(blanket, number("reports") as u64, epsilon(number("epsilon"))).unwrap();
            let expected = number("delta");
            assert!(found >= expected * (1.0 - 1e-7) && found <= 1.01 * expected, "{case}: {found}");
        }
    }

    #[test]
    fn the_text_rounds_up_and_says_that_it_is_additional() {
        let mut guarantee = amplify(PrivacyLoss::Pure { epsilon: epsilon(1.0) }, 10_000, delta(1e-6)).unwrap();
        guarantee.epsilon = epsilon(0.123_456_000_000_000_02);
        let text = guarantee.to_string();
        for part in ["(0.123457, ", "in addition to the local guarantee", "each batch of 10,000 honest reports"] {
            assert!(text.contains(part), "{text} lacks {part}");
        }
    }

    /// Where a batch hides nothing, it has what each report has, to the last bit.
    #[test]
    fn a_batch_that_hides_nothing_has_the_local_guarantee() {
        let at = |local: f64, e: f64| batch_delta(Blanket::from(epsilon(local)), 1, epsilon(e)).unwrap();
        assert_eq!([at(1.0, 1.0), at(1.0, 1.5), at(39.9, 40.0), at(50.0, 60.0)], [0.0; 4]);
        assert!(at(40.0, 39.9) < 0.2 && at(40.5, 40.4) == 1.0);
        let least = |local: f64, d: f64| batch_epsilon(Blanket::from(epsilon(local)), 1, delta(d)).unwrap().value();
        assert_eq!([least(1.0, 1e-15), least(0.3, 1e-12), least(40.5, 0.5)], [1.0, 0.3, 40.5]);
        assert!(least(40.0, 0.5) < 39.5);
    }

    #[test]
    fn the_bound_that_is_named_is_the_one_that_proves() {
        let bound = |loss, reports, d| amplify(loss, reports, delta(d)).unwrap().bound;
        let approximate = |own| PrivacyLoss::Approximate { epsilon: epsilon(3.0), delta: delta(own) };
        assert_eq!(bound(approximate(1e-13), 50_000, 1e-6), CLONES);
        assert_eq!(bound(approximate(1e-6), 2, 1e-6), LOCAL);
        let pure = PrivacyLoss::Pure { epsilon: epsilon(1.0) };
        assert_eq!([bound(pure, 1, 1e-15), bound(pure, 50_000, 1e-6)], [LOCAL, CLONES]);
        assert_eq!([bound(pure, u64::MAX, 1e-6), bound(pure, u64::MAX, 1e-285)], [CLONES, LOCAL]);
        // More reports than are counted.
        let least = |reports| amplify(pure, reports, delta(1e-6)).unwrap().epsilon;
        assert_eq!(least(u64::MAX), least(100_000_000_000));
        assert!(least(u64::MAX).value() < 1e-3);
        let cap = PrivacyLoss::Cap(Cap::new(epsilon(1.0), 64, 13).unwrap());
        assert_eq!([bound(cap, 1, 1e-15), bound(cap, 50_000, 1e-6)], [LOCAL, BLANKET]);
        let gaussian = PrivacyLoss::Gaussian { rho: Rho::new(0.02).unwrap(), total_variation: TotalVariation::ZERO };
        assert_eq!([bound(gaussian, 1, 1e-6), bound(gaussian, 1_000_000, 1e-6)], [LOCAL, CLONES]);
    }

    /// A local epsilon that is within the central one needs no batch, but a delta that has room for its own.
    #[test]
    fn what_needs_no_batch_is_kept_without_one() {
        let kept = |local: f64, own: f64| {
            let loss = PrivacyLoss::Approximate { epsilon: epsilon(local), delta: delta(own) };
            keeps(loss, 100, epsilon(2.0), delta(1e-6)).unwrap()
        };
        assert_eq!([kept(1.0, 1e-8), kept(2.0, 1e-6), kept(1.0, 1e-5), kept(41.0, 1e-13)], [true, true, false, false]);
    }
}
