//! The pull of hostile reports on an estimate: a bound on what a modified client can do to the result.
//!
//! # Statement
//! Let S be the debiased mean of n reports, m of which are hostile: any bytes that the aggregator takes, chosen with
//! knowledge of the task and of all other reports. Let S' be the same mean with each hostile report's share replaced by
//! `x x^T` of some record x in the unit ball, which is what an honest report adds on average. Then every eigenvalue of
//! S is within `m pull / n` of the one of S' in the same place. For [`Pull::unchecked`] this holds whatever the bytes
//! are. For [`Pull::checked`] it holds for an aggregator that makes the [`Check`]. (Double-cap's expectation is such an
//! x x^T to 1e-3.)
//!
//! # Proof
//! A report r adds `D(r) / n`, where D debiases one report. So `S - S'` is the sum of m terms `(D(r) - x x^T) / n`, and
//! its operator norm is at most m/n times the largest `||D(r) - x x^T||`. Eigenvalues of symmetric matrices, in order,
//! differ by no more than the operator norm of the difference (Weyl 1912). It remains to bound the norm of
//! `D(r) - x x^T` for every payload.
//!
//! *Double-cap.* `D(r) = (z z^T / scale^2 - I) / gain + I/m`, with z the first d of a candidate's m coordinates. The
//! eigenvalues of `D(r) - x x^T` are at most `(|z|^2 / scale^2 - 1) / gain + 1/m`, because `x x^T` has none below 0,
//! and at least `1/m - 1 / gain - 1`. The gain is at most m. So `max(|z|^2 / (scale^2 gain), 1 + 1 / gain)` is a bound.
//! It also bounds the difference of any two reports, `(y y^T - z z^T) / (scale^2 gain)`, whose eigenvalues lie between
//! `-|z|^2` and `|y|^2` over the same number. Hence, for double-cap, S' may as well have any other reports in place of
//! the hostile ones. (A noisy report's own noise comes on top there.) All candidates have nearly one length,
//! whatever the id, and rounding adds no more than 1 to a coordinate's magnitude: no check is needed.
//!
//! *Additive noise.* `D(r)` has the entries `(m + 1/2) step`, with `|m + 1/2| <= 2^(bits - 1) - 1/2`. A symmetric
//! matrix whose entries are at most those of a matrix B in absolute value has at most the operator norm of B (Perron
//! and Frobenius), and for B with a on the diagonal and b off it that is `a + (d - 1) b`. With the range check,
//! `||D(r)||` is at most the Frobenius norm, which is at most half the root of the permitted sum of `(2 m + 1)^2` times
//! the larger of the diagonal step and sqrt(2) times the other. `||x x^T|| <= 1` comes on top.
//!
//! # What it does not say
//! It says nothing about components under a penalty, whose support may jump at the smallest change, nor how many
//! reports are hostile: one person may send many. And it bounds eigenvalues, not directions: components whose
//! eigenvalues are nearer to each other than twice the pull of all hostile reports may be turned anywhere in their
//! span.

use serde::{Serialize, Serializer};

use super::range::RangeCheck;

/// How far one hostile report moves an eigenvalue of the second moments, times the number of reports; in the units of
/// bounded records.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Pull {
    /// For any bytes that decode as a report.
    pub unchecked: f64,
    /// For a report that passes the check.
    pub checked: f64,
    /// The aggregator's check.
    pub check: Check,
}

/// A check that bounds hostile reports beyond strict decoding. The aggregator makes it unless configured otherwise;
/// sums that are made of files are not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Check {
    /// None is needed: both bounds are the same.
    None,
    /// It refuses entries that honest noise hardly ever makes.
    RangeCheck,
}

impl Pull {
    /// From bounds that were computed with a few roundings, each below the margin.
    pub(super) fn new(unchecked: f64, checked: f64, check: Check) -> Self {
        const MARGIN: f64 = 1.0 + 1e-12;
        Self { unchecked: MARGIN * unchecked, checked: MARGIN * checked.min(unchecked), check }
    }

    /// That of additive noise: with d coordinates, steps on the diagonal and off it, entries from minus this to one
    /// less than it, and a check of their range.
    pub(super) fn of_steps(dimension: usize, [on, off]: [f64; 2], largest_entry: u32, range: RangeCheck) -> Self {
        // Both ends of the range are equally far from the value for zero.
        let end = f64::from(largest_entry) - 0.5;
        let any = end * (on + (dimension - 1) as f64 * off);
        let in_range = range.largest_norm() * on.max(core::f64::consts::SQRT_2 * off);
        // No record has a longer share than 1.
        Self::new(any + 1.0, in_range + 1.0, Check::RangeCheck)
    }

    /// The most that `hostile` of `records` reports can move an eigenvalue. At most all reports are hostile.
    pub(crate) fn of(self, hostile: u64, records: u64) -> Self {
        let share = (hostile.min(records) as f64 / records.max(1) as f64).next_up();
        self.map(|pull| (share * pull).next_up())
    }

    /// Converts to units in which one of these is `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        self.map(|pull| (factor * pull).next_up())
    }

    /// Applies a non-decreasing function to both numbers.
    pub(crate) fn map(self, function: impl Fn(f64) -> f64) -> Self {
        Self { unchecked: function(self.unchecked), checked: function(self.checked), check: self.check }
    }
}

/// The most that one report, and all suspected ones, can move an eigenvalue of a covariance estimate, in its units, by
/// the statement of this file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HostilePull {
    /// The number of suspected reports, at most all.
    pub reports: u64,
    /// The number of reports.
    pub records: u64,
    /// The aggregator's check.
    pub check: Check,
    /// The bounds for one hostile report.
    #[serde(serialize_with = "bounds")]
    pub one: Pull,
    /// The bounds for all suspected reports.
    #[serde(serialize_with = "bounds")]
    pub all: Pull,
}

/// Without the check, which both have in common.
fn bounds<S: Serializer>(pull: &Pull, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map([("unchecked", pull.unchecked), ("checked", pull.checked)])
}

impl HostilePull {
    /// The values of `pull` for one and for `hostile` of `records` reports.
    pub fn new(hostile: u64, records: u64, pull: impl Fn(u64) -> Pull) -> Self {
        let reports = hostile.min(records);
        let one = pull(1);
        Self { reports, records, check: one.check, one, all: pull(reports) }
    }
}

impl Check {
    /// The condition on a report that the check ensures, if there is a check.
    #[must_use]
    pub fn condition(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::RangeCheck => Some("that passes the range check"),
        }
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;

    use super::*;
    use crate::identity::ReportId;
    use crate::mechanism::cap::candidates::Candidates;
    use crate::mechanism::{Calibration, LocalRandomizer, Mechanism, MechanismSpec, Moments, Summable, triangle};
    use crate::privacy::tests::{assert_rounded_up, delta, epsilon, known};
    use crate::record::Bounding;
    use crate::tests::clip;

    const KEY: [u8; 16] = [3; 16];

    fn gaussian(dimension: usize, e: f64, calibration: Calibration) -> Mechanism {
        let spec = MechanismSpec::Gaussian { epsilon: epsilon(e), delta: delta(1e-6), calibration };
        spec.build(dimension, Bounding::UnitNorm).unwrap()
    }

    fn double_cap(dimension: usize, bounding: Bounding, e: f64, candidates: u32, cap: u32) -> Mechanism {
        MechanismSpec::DoubleCap { epsilon: epsilon(e), candidates, cap }.build(dimension, bounding).unwrap()
    }

    fn sums(mechanism: &Mechanism, payloads: &[(ReportId, &[u8])]) -> Vec<i64> {
        let mut sums = vec![0; triangle(mechanism.state_dimension())];
        mechanism.accumulate(&KEY, payloads, &mut sums);
        sums
    }

    /// The debiased value of one report.
    fn debiased(mechanism: &Mechanism, id: ReportId, payload: &[u8]) -> DMatrix<f64> {
        mechanism.debias(&sums(mechanism, &[(id, payload)]), 1)
    }

    fn norm(matrix: &DMatrix<f64>) -> f64 {
        matrix.clone().symmetric_eigenvalues().amax()
    }

    fn id(number: u64) -> ReportId {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        ReportId::new(bytes)
    }

    /// The longest candidate of `ids` ids.
    fn longest(mechanism: &Mechanism, dimension: usize, candidates: u32, ids: u64) -> (ReportId, u32, f64) {
        let mut best = (id(0), 0, 0.0);
        for number in 0..ids {
            for index in 0..candidates {
                let candidate = Candidates::new(&KEY, id(number), mechanism.state_dimension()).candidate(index);
                let length: f64 = candidate[..dimension].iter().map(|&value| f64::from(value).powi(2)).sum();
                if length > best.2 {
                    best = (id(number), index, length);
                }
            }
        }
        best
    }

    fn gaussian_payload(width: usize, value: i64, entries: usize) -> Vec<u8> {
        value.to_le_bytes()[..width].repeat(entries)
    }

    /// The attack of a client that puts every entry at an end of its range reaches the bound, except for the record's
    /// 1.
    #[test]
    fn entries_at_the_end_of_the_range_reach_the_unchecked_bound() {
        for (dimension, e, calibration, width) in [
            (1, 2.0, Calibration::Analytic, 1),
            (40, 2.0, Calibration::Analytic, 1),
            (30, 1.0, Calibration::Paper, 1),
            (5, 20.0, Calibration::Analytic, 2),
        ] {
            let mechanism = gaussian(dimension, e, calibration);
            let Pull { unchecked, .. } = mechanism.pull();
            let entries = triangle(dimension);
            for end in [-(1i64 << (8 * width - 1)), (1 << (8 * width - 1)) - 1] {
                let reached = norm(&debiased(&mechanism, id(0), &gaussian_payload(width, end, entries)));
                assert!(reached + 1.0 <= unchecked * (1.0 + 1e-9), "{dimension} {e}: {reached} {unchecked}");
                assert!(reached + 1.0 > unchecked * (1.0 - 1e-9), "{dimension} {e}: {reached} {unchecked}");
            }
        }
        let pull = |dimension| gaussian(dimension, 2.0, Calibration::Analytic).pull().unchecked;
        assert!((pull(40) - 719.3).abs() < 0.1 && (pull(116) - 2070.2).abs() < 0.1, "{} {}", pull(40), pull(116));
    }

    /// The largest constant matrix that passes the check puts all that the check permits into one direction.
    #[test]
    fn a_report_that_just_passes_the_range_check_nearly_reaches_the_checked_bound() {
        for (dimension, e, calibration, width) in [
            (40, 2.0, Calibration::Analytic, 1),
            (60, 1.0, Calibration::Paper, 1),
            (30, 20.0, Calibration::Analytic, 2),
        ] {
            let mechanism = gaussian(dimension, e, calibration);
            let Pull { checked, check, .. } = mechanism.pull();
            assert_eq!(check, Check::RangeCheck);
            // Each kind of entry with the number of steps that makes both alike.
            let step = |diagonal: bool| {
                let mut one = vec![0u8; mechanism.payload_bytes()];
                one[if diagonal { 0 } else { width }] = 1;
                let at = |payload: &[u8]| debiased(&mechanism, id(0), payload)[(0, usize::from(!diagonal))];
                at(&one) - at(&vec![0; mechanism.payload_bytes()])
            };
            let (on, off) = (step(true), step(false));
            let payload = |entry: f64| -> Vec<u8> {
                let of = |row, column| ((entry / if row == column { on } else { off }) - 0.5).round() as i64;
                (0..dimension)
                    .flat_map(|row| {
                        (row..dimension).flat_map(move |column| of(row, column).to_le_bytes()[..width].to_vec())
                    })
                    .collect()
            };
            let mut entry = off;
            while mechanism.check_range(&payload(entry * 1.001)).is_ok() {
                entry *= 1.001;
            }
            let reached = norm(&debiased(&mechanism, id(0), &payload(entry))) + 1.0;
            assert!(reached <= checked && reached > 0.85 * checked, "{dimension} {e}: {reached} {checked}");
        }
    }

    /// Grinding ids finds no candidate that is longer than the bound, and all come close to it: for few features and
    /// for many.
    #[test]
    fn no_id_has_a_candidate_beyond_the_bound_of_double_cap() {
        let clip = clip(3.0);
        for (dimension, bounding, ids) in [
            (1, clip, 2000),
            (2, Bounding::UnitNorm, 2000),
            (3, Bounding::UnitNorm, 1000),
            (20, Bounding::UnitNorm, 500),
            (21, Bounding::UnitNorm, 500),
            (40, clip, 300),
            (116, Bounding::UnitNorm, 200),
        ] {
            let mechanism = double_cap(dimension, bounding, 2.0, 64, 8);
            let (id, index, _) = longest(&mechanism, dimension, 64, ids);
            let Mechanism::DoubleCap(double_cap) = &mechanism else { unreachable!() };
            // The bound is that of two reports; a report and the mean of none differ by this much less.
            let less = 1.0 / double_cap.gain() - 1.0 / mechanism.state_dimension() as f64;
            let reached = norm(&debiased(&mechanism, id, &(index as u16).to_le_bytes())) + less;
            let Pull { unchecked, checked, check } = mechanism.pull();
            assert_eq!((check, unchecked), (Check::None, checked));
            assert!(reached <= unchecked && reached >= 0.9 * unchecked, "{dimension}: {reached} {unchecked}");
        }
    }

    #[test]
    fn the_table_of_the_threat_model_has_these_numbers() {
        let manual = include_str!("../../docs/privacy/threat-model.md");
        let mut lacking = vec![];
        for (e, dimension) in [1.0, 2.0, 4.0].into_iter().flat_map(|e| [10, 40, 116].map(|d| (e, d))) {
            for (name, mechanism) in [
                ("double-cap", MechanismSpec::double_cap(epsilon(e)).build(dimension, Bounding::UnitNorm).unwrap()),
                ("Gaussian", gaussian(dimension, e, Calibration::Analytic)),
            ] {
                let Pull { unchecked, checked, .. } = mechanism.pull();
                let row = format!(
                    "| {name}, epsilon {e} | {dimension} | {:.0}/n | {:.0}/n |",
                    unchecked.ceil(),
                    checked.ceil()
                );
                if !manual.contains(&row) {
                    lacking.push(row);
                }
            }
        }
        assert!(lacking.is_empty(), "docs/privacy/threat-model.md lacks\n{}", lacking.join("\n"));
    }

    #[test]
    fn shares_are_of_no_more_than_all_reports() {
        let pull = Pull::new(10.0, 20.0, Check::RangeCheck);
        assert!(pull.unchecked >= 10.0 && pull.checked == pull.unchecked, "a check only lowers it");
        let all = pull.of(7, 7);
        assert!(all.unchecked >= pull.unchecked && all.unchecked < 10.1);
        assert_eq!(pull.of(9, 7), all);
        assert!(pull.of(1, 1000).unchecked >= 0.01 && pull.of(1, 1000).unchecked < 0.010_001);
        assert_eq!(pull.of(0, 0).unchecked.total_cmp(&1e-300), core::cmp::Ordering::Less);
    }

    /// Fractions give the exact share: the result is no less, and more only by a few roundings.
    #[test]
    fn shares_are_rounded_up() {
        for (inputs, truth) in known("share") {
            let &[hostile, records, all] = inputs else { panic!("{inputs:?}") };
            let pull = Pull { unchecked: all, checked: all, check: Check::RangeCheck };
            let found = pull.of(hostile as u64, records as u64);
            assert_rounded_up(found.unchecked, truth, 5.0 * f64::EPSILON * truth[1], inputs);
            assert_eq!(found.checked, found.unchecked);
            // One rounding of `mul_add` keeps the sign.
            let above = hostile.mul_add(-all, pull.scaled(hostile).checked);
            assert!(above >= 0.0 && above <= 4.0 * f64::EPSILON * hostile * all, "{inputs:?}: {above}");
        }
    }

    /// The margin covers thousands of roundings in the computation of a bound, in both numbers.
    #[test]
    fn bounds_have_their_margin() {
        for (unchecked, checked) in [(10.0, 3.0), (0.7, 0.3), (1e4, 1e4)] {
            let pull = Pull::new(unchecked, checked, Check::RangeCheck);
            for (found, of) in [(pull.unchecked, unchecked), (pull.checked, checked)] {
                assert!((9e-13..2e-12).contains(&(found / of - 1.0)), "{found} {of}");
            }
        }
    }

    #[test]
    fn every_check_says_what_it_asks_for() {
        assert_eq!(Check::None.condition(), None);
        assert_eq!(Check::RangeCheck.condition(), Some("that passes the range check"));
    }
}
