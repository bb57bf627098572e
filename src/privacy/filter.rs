//! Privacy filters: whether another report fits a budget, when someone who has seen the earlier reports chooses the
//! tasks.
//!
//! [`Composition`](super::composition::Composition) takes the best of several methods. That is proved for losses which
//! are fixed beforehand. An aggregator may choose the next task, its epsilon included, from the reports so far. It can
//! then steer reports that went one way to where one method is generous, and those that went the other way to where
//! another is: together they lose more than each method says (`the_least_of_several_methods_is_no_filter` below has
//! nearly twice the budget's delta). What holds for every choice is a *privacy filter* (Rogers, Roth, Ullman & Vadhan
//! 2016): a rule, fixed before the first report, by which a report fits or does not.
//!
//! # Statement
//! Let an adversary choose tasks, one after the other, each with the knowledge of all reports before it, and let the
//! person send one report for each as long as [`Filter::spent`] of all reports is at most the budget's epsilon. Let x
//! and y be any two persons: a record for each task. Then the sequence of all reports is (epsilon, delta)-private for
//! the budget: `P[reports of x in E] <= e^epsilon P[reports of y in E] + delta` for every set E of sequences.
//!
//! # Assumptions
//! The filter and the budget are fixed before the first report. Every report has the loss that is booked for it, for
//! any two records and whatever was sent before (its randomness is fresh). Whether a report fits depends on losses
//! only, never on a value, and so does whether one that fits is made: given the earlier reports, a report that is
//! booked and never made is so whatever the record is. (No device of this crate refuses a record: each [has
//! features](crate::schema).) The statement is about the budget, and about the whole sequence: it does not say that
//! reports with a `spent` of 1 are (1, delta)-private (that would be an odometer, which costs more).
//!
//! # Proof for sums
//! Basic composition is a filter (Rogers et al. 2016). An (eps_i, delta_i)-private report has laws
//! `(1 - delta_i) P' + delta_i P''` and `(1 - delta_i) Q' + delta_i Q''`, where P' and Q' differ by factors of at most
//! `e^eps_i` (Kairouz, Oh & Viswanath 2015, Theorem 3.4). Replace in every step the laws by `(1 - delta_i) P'` and
//! `(1 - delta_i) Q'`. Of a sequence's probability under x at most `sum delta_i` is lost, the largest sum there is on
//! any path; what remains is at most `e^(sum eps_i)` times what remains under y, on every path. Both sums are bounded
//! on every path, however it was chosen. ∎
//!
//! # Proof for Renyi divergences
//! Let alpha be fixed by the budget alone (`order`). A sequence fits when *either* all its reports are pure and their
//! epsilons sum up to at most epsilon, *or* its divergences of order alpha do to at most the R with `epsilon =
//! R + log((alpha - 1) / alpha) - (log delta' + log alpha) / (alpha - 1)`, where delta' is the share `TAIL` of delta;
//! and in either case what 3. costs fits the rest of delta.
//! 1. *One order is a filter* (Feldman & Zrnic 2021). Let l_i be the loss `log(P / Q)` of report i given
//!    those before it and D_i the bound on its divergence that is booked. `prod e^((alpha - 1)(l_i - D_i))` is a
//!    supermartingale under P that starts at one. So on the set F of sequences with `sum D_i <= R` their loss l has
//!    `E[e^((alpha - 1) l); F] <= e^((alpha - 1) R)`. As in
//!    [`epsilon_of_divergence`](super::renyi::epsilon_of_divergence), `E[max(0, 1 - e^(epsilon - l)); F] <= delta'`.
//! 2. *Two filters are one.* All complete sequences are in F or in the set G of those whose reports are pure and whose
//!    epsilons fit: the last report fitted by one of the two rules, and sums only grow, so all before it fitted by the
//!    same rule. On G the loss is at most epsilon. So `P[E] - e^epsilon Q[E] <= E[max(0, 1 - e^(epsilon - l))]` is at
//!    most what F has, delta', plus what G has, 0. (In general the deltas of several filters add up; the union over
//!    many orders is in Lécuyer 2021. That of sums with delta 0 is free, and one order is enough: at epsilon 1 to 8 and
//!    delta 1e-6 it lets 95 % of the reports through that the best order for each number of them would, tested below;
//!    at epsilon 1/4 it can be little more than half.)
//! 3. *What the laws differ from the ideal ones.* Let v_i be the total variation of a Gaussian's sampler. The sampled
//!    and the ideal sequence can be coupled to be the same but for a probability of `sum v_i`, the largest on any path,
//!    on both sides: it costs `(1 + e^epsilon) sum v_i`. A report with a delta_i of its own is treated as above and
//!    costs `sum delta_i`. All of it is held within the rest of delta. ∎
//!
//! # Rounding
//! Sums are rounded up at every step (`sum_up`), divergences and the conversion as in `renyi`.

use serde::{Deserialize, Serialize};

use super::composition::PrivacyLoss;
use super::renyi::epsilon_at;
use super::{Delta, Epsilon, Guarantee};

/// The largest loss of all reports of one person together: epsilon, and delta (`None`: pure reports only).
///
/// ```
/// use ldp_pca::{Budget, Delta, Epsilon};
/// let pure = Budget { epsilon: Epsilon::new(3.0)?, delta: None };
/// let approximate = Budget { delta: Some(Delta::new(1e-6)?), ..pure };
/// assert_eq!(serde_json::to_string(&approximate)?, r#"{"epsilon":3.0,"delta":1e-6}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// How much likelier all reports together may make anything: by a factor of `e^epsilon`, plus delta.
    pub epsilon: Epsilon,
    /// The additional probability; `None` (written 0) for none.
    #[serde(with = "super::delta_or_zero")]
    pub delta: Option<Delta>,
}

/// The rule by which reports fit a budget. It is chosen once, before the first report.
///
/// ```
/// use ldp_pca::{Budget, Filter, LocalRandomizer};
/// # use ldp_pca::{Bounding, Delta, Epsilon, MechanismSpec};
/// let budget = Budget { epsilon: Epsilon::new(2.0)?, delta: Some(Delta::USUAL) };
/// let mechanism = MechanismSpec::double_cap(Epsilon::new(0.1)?).build(10, Bounding::UnitNorm)?;
/// let fifty = vec![(mechanism.guarantee(), mechanism.privacy_loss()); 50];
/// // Many small reports take less of the budget by the second rule.
/// assert!(Filter::Sums.spent(budget, &fifty) >= 5.0);
/// assert!(Filter::Renyi.spent(budget, &fifty) < 5.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Filter {
    /// The epsilons and deltas of all reports add up. Suited to a few reports, and the only rule under which a single
    /// Gaussian report may use the whole budget.
    Sums,
    /// Pure reports as before; or Renyi divergences of one order add up, for any reports. Suited to many small reports,
    /// and to several Gaussian ones. Without a delta only the sums apply.
    Renyi,
}

/// The share of a budget's delta for the tail of the Renyi filter; the rest is for samplers and deltas of the reports'
/// own.
const TAIL: f64 = 0.875;

impl Filter {
    /// The part of the budget's epsilon that reports use, rounded up: they fit when it is at most that epsilon. 0 for
    /// none, infinite where they do not fit at any epsilon.
    #[must_use]
    pub fn spent(self, budget: Budget, reports: &[(Guarantee, PrivacyLoss)]) -> f64 {
        if reports.is_empty() {
            return 0.0;
        }
        let sums = sums(budget, reports);
        match (self, budget.delta) {
            (Self::Sums, _) | (Self::Renyi, None) => sums,
            (Self::Renyi, Some(delta)) => {
                let pure =
                    reports.iter().all(|(_, loss)| matches!(loss, PrivacyLoss::Pure { .. } | PrivacyLoss::Cap(_)));
                renyi(budget.epsilon, delta, reports).min(if pure { sums } else { f64::INFINITY })
            }
        }
    }
}

fn sums(budget: Budget, reports: &[(Guarantee, PrivacyLoss)]) -> f64 {
    let delta = sum_up(reports.iter().map(|(guarantee, _)| guarantee.delta_value()));
    if delta > budget.delta.map_or(0.0, Delta::value) {
        return f64::INFINITY;
    }
    sum_up(reports.iter().map(|(guarantee, _)| guarantee.epsilon.value()))
}

fn renyi(epsilon: Epsilon, delta: Delta, reports: &[(Guarantee, PrivacyLoss)]) -> f64 {
    // e^epsilon may be infinite, and its product with 0 is not a number.
    let both_sides = 1.0 + libm::exp(epsilon.value()).next_up();
    let beside_tail = sum_up(reports.iter().map(|(_, loss)| match *loss {
        PrivacyLoss::Gaussian { total_variation, .. } if total_variation.value() > 0.0 => {
            (both_sides * total_variation.value()).next_up()
        }
        PrivacyLoss::Approximate { delta, .. } => delta.value(),
        _ => 0.0,
    }));
    let Ok(tail) = Delta::new((TAIL * delta.value()).next_down()) else { return f64::INFINITY };
    if beside_tail > ((1.0 - TAIL) * delta.value()).next_down() {
        return f64::INFINITY;
    }
    let order = order(epsilon, delta);
    let divergence = sum_up(reports.iter().map(|(_, loss)| loss.divergence(order)));
    epsilon_at(order, divergence, tail)
}

/// The order of the Renyi filter: `1 + 2 log(1 / delta) / epsilon`, which is best for many small losses. Any order that
/// the budget fixes is valid.
fn order(epsilon: Epsilon, delta: Delta) -> f64 {
    1.0 + (-2.0 * libm::log(delta.value()) / epsilon.value()).clamp(1e-6, 1e9)
}

/// The sum of non-negative numbers, never below the real one. It is the real one where every partial sum is
/// representable.
fn sum_up(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |sum: f64, number| {
        let total = sum + number;
        // The rounding error (Knuth's two-sum), which is exact.
        let kept = total - sum;
        let lost = (sum - (total - kept)) + (number - kept);
        if lost > 0.0 { total.next_up() } else { total }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::privacy::Rho;
    use crate::privacy::calibration::{gaussian_delta, gaussian_epsilon_of_rho};
    use crate::privacy::composition::Composition;
    use crate::privacy::renyi::Cap;
    use crate::privacy::tests::{Case, composition_cases, delta, epsilon};
    use crate::privacy::variation::TotalVariation;

    fn budget(e: f64, d: f64) -> Budget {
        Budget { epsilon: epsilon(e), delta: Some(delta(d)) }
    }

    fn report(loss: PrivacyLoss) -> (Guarantee, PrivacyLoss) {
        let guarantee = match loss {
            PrivacyLoss::Pure { epsilon } => Guarantee::local(epsilon, None),
            PrivacyLoss::Cap(cap) => Guarantee::local(cap.epsilon(), None),
            PrivacyLoss::Approximate { epsilon, delta } => Guarantee::local(epsilon, Some(delta)),
            PrivacyLoss::Gaussian { rho, .. } => {
                Guarantee::local(gaussian_epsilon_of_rho(rho, delta(1e-6)).unwrap(), Some(delta(1e-6)))
            }
        };
        (guarantee, loss)
    }

    fn gaussian(rho: f64) -> PrivacyLoss {
        PrivacyLoss::Gaussian { rho: Rho::new(rho).unwrap(), total_variation: TotalVariation::ZERO }
    }

    /// A possible report, with the loss of its outcomes in whole units: probability under x, and the
    /// logarithm of its ratio to that under y, where there is one.
    struct Choice {
        loss: PrivacyLoss,
        outcomes: Vec<(f64, Option<i32>)>,
    }

    /// The worst case of every epsilon-private report: one of two answers is likelier.
    fn binary(units: i32, unit: f64) -> Choice {
        let up = (f64::from(units) * unit).exp();
        let outcomes = vec![(up / (1.0 + up), Some(units)), (1.0 / (1.0 + up), Some(-units))];
        Choice { loss: PrivacyLoss::Pure { epsilon: epsilon(f64::from(units) * unit) }, outcomes }
    }

    /// A cap of L among J candidates, disjoint from the other record's: 2 L <= J.
    fn cap(units: i32, unit: f64, candidates: u32, cap: u32) -> Choice {
        let up = (f64::from(units) * unit).exp();
        let total = f64::from(cap) * up + f64::from(candidates - cap);
        let members = f64::from(cap);
        let outcomes = vec![
            (members * up / total, Some(units)),
            (members / total, Some(-units)),
            (f64::from(candidates - 2 * cap) / total, Some(0)),
        ];
        let loss = PrivacyLoss::Cap(Cap::new(epsilon(f64::from(units) * unit), candidates, cap).unwrap());
        Choice { loss, outcomes }
    }

    /// One of two answers is likelier, as in `binary`, except for an outcome with probability `d` that reveals
    /// everything.
    fn approximate(units: i32, unit: f64, d: f64) -> Choice {
        let mut outcomes = binary(units, unit).outcomes;
        outcomes.iter_mut().for_each(|(probability, _)| *probability *= 1.0 - d);
        outcomes.push((d, None));
        Choice {
            loss: PrivacyLoss::Approximate { epsilon: epsilon(f64::from(units) * unit), delta: delta(d) },
            outcomes,
        }
    }

    /// All ways to ask for reports that a filter lets through, each choice with the knowledge of all outcomes before
    /// it.
    struct Game<'a> {
        filter: Filter,
        budget: Budget,
        menu: &'a [Choice],
        unit: f64,
        /// The epsilon at which delta is asked for.
        at: f64,
        /// Whether somebody may choose by outcomes, or fixes the reports beforehand.
        adaptive: bool,
        fits: HashMap<Vec<usize>, bool>,
        best: HashMap<(Vec<usize>, i32), f64>,
    }

    impl Game<'_> {
        /// The delta of the whole sequence at epsilon `at`, for the best way to ask:
        /// `max E[max(0, 1 - e^(at - loss))]`.
        fn delta(mut self) -> f64 {
            let none = vec![0; self.menu.len()];
            if self.adaptive {
                return self.best(&none, 0);
            }
            let (mut largest, mut open, mut seen) = (0.0, vec![none.clone()], vec![none]);
            while let Some(counts) = open.pop() {
                largest = f64::max(largest, self.fixed(&counts, 0));
                for choice in 0..self.menu.len() {
                    let next = with(&counts, choice);
                    if self.fits(&next) && !seen.contains(&next) {
                        seen.push(next.clone());
                        open.push(next);
                    }
                }
            }
            largest
        }

        fn stopped(&self, loss: i32) -> f64 {
            (1.0 - (self.at - f64::from(loss) * self.unit).exp()).max(0.0)
        }

        fn best(&mut self, counts: &[usize], loss: i32) -> f64 {
            if let Some(&known) = self.best.get(&(counts.to_vec(), loss)) {
                return known;
            }
            let mut value = self.stopped(loss);
            for choice in 0..self.menu.len() {
                let next = with(counts, choice);
                if self.fits(&next) {
                    let menu = self.menu;
                    let of = |game: &mut Self, to: Option<i32>| to.map_or(1.0, |to| game.best(&next, loss + to));
                    value = value.max(menu[choice].outcomes.iter().map(|&(p, to)| p * of(self, to)).sum());
                }
            }
            self.best.insert((counts.to_vec(), loss), value);
            value
        }

        /// The delta of exactly `counts` further reports.
        fn fixed(&mut self, counts: &[usize], loss: i32) -> f64 {
            let Some(choice) = counts.iter().position(|&count| count > 0) else { return self.stopped(loss) };
            if let Some(&known) = self.best.get(&(counts.to_vec(), loss)) {
                return known;
            }
            let (menu, mut rest) = (self.menu, counts.to_vec());
            rest[choice] -= 1;
            let of = |game: &mut Self, to: Option<i32>| to.map_or(1.0, |to| game.fixed(&rest, loss + to));
            let value = menu[choice].outcomes.iter().map(|&(p, to)| p * of(self, to)).sum();
            self.best.insert((counts.to_vec(), loss), value);
            value
        }

        fn fits(&mut self, counts: &[usize]) -> bool {
            let (filter, budget, menu) = (self.filter, self.budget, self.menu);
            *self.fits.entry(counts.to_vec()).or_insert_with(|| {
                let of = |(choice, &count): (&Choice, &usize)| vec![report(choice.loss); count];
                let reports: Vec<_> = menu.iter().zip(counts).flat_map(of).collect();
                filter.spent(budget, &reports) <= budget.epsilon.value()
            })
        }
    }

    fn with(counts: &[usize], choice: usize) -> Vec<usize> {
        let mut counts = counts.to_vec();
        counts[choice] += 1;
        counts
    }

    fn game(filter: Filter, budget: Budget, menu: &[Choice], unit: f64, at: f64, adaptive: bool) -> f64 {
        Game { filter, budget, menu, unit, at, adaptive, fits: HashMap::new(), best: HashMap::new() }.delta()
    }

    /// Every way to choose among these reports, enumerated: no adaptive choice gets more than delta past the sums.
    #[test]
    fn no_adaptive_choice_exceeds_the_budget_of_sums() {
        let unit = 0.125;
        let menu = [binary(1, unit), cap(2, unit, 8, 3), approximate(1, unit, 1.0 / 128.0)];
        let of = |e: f64, d: f64| game(Filter::Sums, budget(e, d), &menu, unit, 1.0, true);
        let delta = 3.0 / 128.0;
        let found = of(1.0, delta);
        // There are at most three outcomes that reveal everything.
        assert!(found <= delta && found > 0.99 * delta, "{found}");
        assert_eq!(game(Filter::Sums, Budget { delta: None, ..budget(1.0, delta) }, &menu, unit, 1.0, true), 0.0);
        // The enumeration notices a filter that lets more through, of either kind.
        assert!(of(1.5, delta) > delta && of(1.0, 4.0 / 128.0) > delta);
    }

    /// Every way to choose among these reports, enumerated: no adaptive choice gets more than delta past the Renyi
    /// filter, where many more reports fit than by sums.
    #[test]
    fn no_adaptive_choice_exceeds_the_budget_of_divergences() {
        let unit = 0.25;
        let menu = [binary(1, unit), cap(2, unit, 6, 2), approximate(1, unit, 0.004)];
        let of = |e: f64, adaptive| game(Filter::Renyi, budget(e, 0.1), &menu, unit, 2.0, adaptive);
        let (fixed, adaptive) = (of(2.0, false), of(2.0, true));
        assert!(adaptive <= 0.1, "{adaptive}");
        // Choosing by outcomes pays, and more gets through than by sums.
        assert!(adaptive > fixed && fixed > 0.02, "{adaptive} {fixed}");
        let sixteen = vec![report(menu[0].loss); 16];
        assert!(Filter::Renyi.spent(budget(2.0, 0.1), &sixteen) <= 2.0);
        assert!(Filter::Sums.spent(budget(2.0, 0.1), &sixteen) == 4.0);
        // The enumeration notices a filter that lets twice as much through.
        assert!(of(4.0, true) > 0.1);
    }

    /// The best of all methods is not a rule by which reports may be let through. After a Gaussian report of little
    /// loss l, either of two second reports fits by [`Composition`]: a Gaussian one (several Gaussians are one) and a
    /// binary one (sums). Choosing the binary one where l is so large that it can pass epsilon, and the Gaussian one
    /// elsewhere, gives nearly twice the delta of the budget. The total is an integral over the normal law of l.
    #[test]
    fn the_least_of_several_methods_is_no_filter() {
        let (e, d, steps) = (4.0, 1e-6, 4000);
        // sqrt(2 rho) of all that a Gaussian may lose at (4, 1e-6), 2 % of rho first.
        let all: f64 = 0.837_858_757_089_998 * (1.0 - 1e-9);
        let (first, second) = (all * 0.02f64.sqrt(), all * 0.98f64.sqrt());
        let total = |second: f64, units: f64| -> (f64, f64, f64) {
            let (mut of_gaussian, mut of_binary, mut of_choice) = (0.0, 0.0, 0.0);
            let up = units.exp();
            for step in 0..steps {
                let (width, z) = (20.0 / f64::from(steps), -9.0 + 20.0 * (f64::from(step) + 0.5) / f64::from(steps));
                let loss = first * (0.5 * first + z);
                let weight = width * (-0.5 * z * z).exp() / core::f64::consts::TAU.sqrt();
                let gaussian = gaussian_delta(1.0 / second, 1.0, epsilon(e - loss)).unwrap();
                let past = |by: f64| (1.0 - (e - loss - by).exp()).max(0.0);
                let binary = (up * past(units) + past(-units)) / (1.0 + up);
                of_gaussian += weight * gaussian;
                of_binary += weight * binary;
                of_choice += weight * gaussian.max(binary);
            }
            (of_gaussian, of_binary, of_choice)
        };
        let rho = |shift: f64| 0.5 * shift * shift;
        let least_of_all = |losses: [PrivacyLoss; 2]| {
            let mut composition = Composition::default();
            losses.iter().for_each(|&loss| composition.add(loss, 1).unwrap());
            composition.epsilon(Some(delta(d))).unwrap().epsilon.value()
        };
        let units =
            (e - gaussian_epsilon_of_rho(Rho::new(rho(first)).unwrap(), delta(d)).unwrap().value()) * (1.0 - 1e-8);
        let binary = |units: f64| PrivacyLoss::Pure { epsilon: epsilon(units) };
        assert!(least_of_all([gaussian(rho(first)), gaussian(rho(second))]) <= e);
        assert!(least_of_all([gaussian(rho(first)), binary(units)]) <= e);
        let (of_gaussian, of_binary, of_choice) = total(second, units);
        assert!(of_gaussian <= d && of_binary <= d, "each alone is as promised: {of_gaussian} {of_binary}");
        assert!(of_choice > 1.9 * d, "{of_choice}");

        // The filter lets neither through, and no choice among those that it lets through exceeds delta.
        let fits = |loss| Filter::Renyi.spent(budget(e, d), &[report(gaussian(rho(first))), report(loss)]) <= e;
        assert!(!fits(gaussian(rho(second))) && !fits(binary(units)));
        let largest =
            |fits: &dyn Fn(f64) -> bool| (1..4000).map(|step| f64::from(step) * 1e-3).rfind(|&x| fits(x)).unwrap();
        let second = largest(&|shift| fits(gaussian(rho(shift))));
        let units = largest(&|units| fits(binary(units)));
        assert!(second > 0.7 && units > 2.0, "{second} {units}");
        assert!(total(second, units).2 <= d);
    }

    /// Each report of the case on its own, with the guarantee that is stated for it.
    fn reports_of(case: &Case) -> Vec<(Guarantee, PrivacyLoss)> {
        let each = |part: &crate::privacy::tests::Repeated| {
            let delta = (part.guarantee.delta > 0.0).then(|| delta(part.guarantee.delta));
            vec![(Guarantee::local(epsilon(part.guarantee.epsilon), delta), part.loss); part.reports as usize]
        };
        case.parts.iter().flat_map(each).collect()
    }

    /// Both filters against the table that JavaScript and Python read, too.
    #[test]
    fn what_is_spent_is_what_the_theorems_say() {
        let mut finite = 0;
        for case in composition_cases() {
            let mut reports = reports_of(&case);
            for _ in 0..2 {
                let (least, roundings) = (case.sums, 1.0 + reports.len() as f64 * f64::EPSILON);
                let sums = Filter::Sums.spent(budget(1e3, 0.5), &reports);
                assert!(sums >= least.epsilon && sums <= least.epsilon * roundings, "{}: {sums}", case.name);
                let found = Filter::Renyi.spent(case.filter.budget, &reports);
                match case.filter.spent {
                    Some(truth) => assert!((found / truth - 1.0).abs() < 1e-12, "{}: {found} {truth}", case.name),
                    None => assert_eq!(found, f64::INFINITY, "{}", case.name),
                }
                finite += u32::from(case.filter.spent.is_some());
                // In any order.
                reports.reverse();
            }
        }
        assert!(finite >= 20, "{finite}");
    }

    /// The budget may be spent to its last bit, and no bit more.
    #[test]
    fn sums_fit_exactly_and_not_by_one_ulp_less() {
        let d = 2f64.powi(-20);
        let reports: Vec<_> = [(0.5, d), (0.25, d), (1.0, 2.0 * d), (0.5, d)]
            .map(|(e, own)| (Guarantee::local(epsilon(e), Some(delta(own))), gaussian(0.01)))
            .into();
        let spent = |d: f64| Filter::Sums.spent(budget(1.0, d), &reports);
        assert_eq!((spent(5.0 * d), spent((5.0 * d).next_down())), (2.25, f64::INFINITY));
    }

    /// The most that fits the Renyi filter, found by bisection, is what the formula of the one order says; the next
    /// double is too much.
    #[test]
    fn divergences_fit_up_to_the_formula_and_not_by_one_ulp_more() {
        for (e, d) in [(4.0f64, 1e-6f64), (1.0, 1e-9), (8.0, 1e-3)] {
            let order = 1.0 + 2.0 * (1.0 / d).ln() / e;
            let all = e - (1.0 - 1.0 / order).ln() + ((0.875 * d).ln() + order.ln()) / (order - 1.0);
            for reports in [1, 3] {
                let fits = |bits: u64| {
                    let loss = gaussian(f64::from_bits(bits));
                    Filter::Renyi.spent(budget(e, d), &vec![report(loss); reports]) <= e
                };
                let (mut low, mut high) = (1e-12f64.to_bits(), e.to_bits());
                assert!(fits(low) && !fits(high));
                while high - low > 1 {
                    let middle = u64::midpoint(low, high);
                    (low, high) = if fits(middle) { (middle, high) } else { (low, middle) };
                }
                let (most, truth) = (f64::from_bits(low), all / order / reports as f64);
                assert!(most <= truth && most > truth * (1.0 - 1e-12), "{e} {d} {reports}: {most} {truth}");
            }
        }
    }

    /// An eighth of delta, rounded down, is for the reports' own deltas and for samplers.
    #[test]
    fn beside_the_tail_an_eighth_of_delta_fits_and_not_one_ulp_more() {
        let d = 2f64.powi(-20);
        let eighth = (d / 8.0).next_down();
        let own = |parts: &[f64]| {
            let loss = |&own: &f64| report(PrivacyLoss::Approximate { epsilon: epsilon(0.1), delta: delta(own) });
            Filter::Renyi.spent(budget(4.0, d), &parts.iter().map(loss).collect::<Vec<_>>())
        };
        assert!(own(&[eighth]) < 4.0 && own(&[d / 16.0, d / 32.0, d / 64.0]) < 4.0);
        assert_eq!((own(&[d / 8.0]), own(&[d / 16.0, d / 16.0])), (f64::INFINITY, f64::INFINITY));
        // (1 + e^epsilon) times the total variation.
        let sampler = |total_variation: f64| {
            let total_variation = TotalVariation::new(total_variation).unwrap();
            let loss = PrivacyLoss::Gaussian { rho: Rho::new(0.001).unwrap(), total_variation };
            Filter::Renyi.spent(budget(4.0, d), &[report(loss)])
        };
        let most = d / 8.0 / (1.0 + 4f64.exp());
        assert!(sampler(most * (1.0 - 1e-12)) < 4.0);
        assert_eq!(sampler(most * (1.0 + 1e-12)), f64::INFINITY);
        // With e^epsilon beyond all doubles and an exact sampler there is nothing to cover.
        assert!(Filter::Renyi.spent(budget(1e3, 1e-6), &[report(gaussian(0.001))]) < 1e3);
    }

    #[test]
    fn pure_reports_fit_by_their_sum_whatever_delta_is() {
        let four = [(); 4].map(|()| report(PrivacyLoss::Pure { epsilon: epsilon(1.0) }));
        for (filter, budget) in [
            (Filter::Sums, budget(4.0, 1e-6)),
            (Filter::Renyi, budget(4.0, 1e-6)),
            (Filter::Renyi, budget(4.0, 1e-300)),
            (Filter::Renyi, Budget { delta: None, ..budget(4.0, 0.5) }),
        ] {
            assert_eq!(filter.spent(budget, &four), 4.0);
            assert_eq!(filter.spent(budget, &[]), 0.0);
        }
    }

    /// 0.1 is a little above a tenth as a double: ten of them are more than 1, though rounding to nearest says
    /// 0.9999999999999999.
    #[test]
    fn sums_are_not_below_the_real_ones() {
        assert!(sum_up([0.1; 10].into_iter()) > 1.0);
        assert_eq!([0.1; 10].iter().sum::<f64>(), 0.999_999_999_999_999_9);
        assert_eq!(sum_up([0.125; 8].into_iter()), 1.0);
        assert_eq!(sum_up([1.0, f64::INFINITY].into_iter()), f64::INFINITY);
        assert_eq!(sum_up([f64::INFINITY, 1.0].into_iter()), f64::INFINITY);
        assert_eq!(sum_up([f64::MAX, f64::MAX].into_iter()), f64::INFINITY);
    }
}
