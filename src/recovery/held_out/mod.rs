//! Validation on reports that an answer was not found from, which needs no assumption about the population.
//!
//! The id of a report decides its fold. Components V_f are found without fold f and measured on it: with S_f the
//! debiased second moments of the fold, `tr(V_f^T S_f V_f)` is an unbiased estimate of the variance that V_f captures
//! in the population, whatever that is, because the reports of the fold are independent of V_f. (For double-cap that
//! means up to 1e-3 of the records' squared length, as for every estimate.) The mean over all folds, weighted by their
//! reports, is the *captured variance* of a method. The difference between two methods is known far better than either,
//! because the noise of a fold moves both.
//!
//! The error of such a mean follows from the mechanism: [`WeightedLaw::form_variance`] bounds the variance of every
//! report's term for all populations. In a task family the folds are weighted by the inverse variance of their noise.
//! A covariance about an estimated mean has no such law here; there the scatter of the folds takes its place, with
//! Student's quantile for so many folds.
//!
//! The folds do not err independently, because V_f depends on the other folds. With N_f the error of S_f, the error in
//! fold f is `<N_f, Q_f>`, and Q_f (a projector, or a difference of two) is a constant and what the errors N_g of the
//! other folds change in it. To first order in these, folds f and g share the terms `<N_f, L N_g>` and `<N_g, L N_f>`,
//! which may be equal. So the changing part of Q_f has up to twice the variance of independent folds. A difference of
//! two projectors counts as such a part, and its variance is doubled. Of a projector, the part is one less the overlap
//! `<P_a, P_b> / k` of those found from two halves of the folds: `<P_a, P_b>` has the mean `|E P|^2`, and what is found
//! from a half changes more than what is found without one fold.
//!
//! Two things are approximate: the mean of many terms is taken to be normal, and what folds share beyond the first
//! order is left out (docs/reference/inference.md has the measured coverage). The interval of an answer that was chosen
//! among others does not contain the choice: the best of several estimates is a little too high.
//!
//! The captured variance is that of components found without a fold, not of those of all reports, which on average
//! capture more: with two folds each answer misses half of the reports.

mod fit;

pub use fit::{Fit, Method};
pub(super) use fit::{thresholded, used_rows};

use std::ops::ControlFlow;

use fantope::Sequence;
use nalgebra::DMatrix;
use serde::Serialize;

use super::{
    CROSS_VALIDATION_FACTORS, Interval, PenaltyError, Rank, SequenceProgress, SolverSettings, principal_components,
};
use crate::covariance::Covariance;
use crate::family::Reports;
use crate::law::{LinearForm, WeightedLaw};

/// The coverage of the intervals, and the normal quantile that belongs to it.
pub(super) const LEVEL: f64 = 0.95;
const QUANTILE: f64 = 1.959_963_984_540_054;

/// Methods compared on reports held out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldOut {
    /// The number of folds: each was held out once.
    pub folds: usize,
    /// The nominal coverage of each interval.
    pub level: f64,
    /// Plain components first.
    pub answers: Vec<HeldOutAnswer>,
}

/// What one method captures in reports that it has not seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldOutAnswer {
    /// The method, and the factor of its penalty.
    #[serde(flatten)]
    pub fit: Fit,
    /// Whether these are the components of the answer.
    pub chosen: bool,
    /// The captured variance, in the units of the covariance.
    pub captured: Measured,
    /// The captured variance less that of plain components; none for these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Measured>,
    /// The mean number of features that take part.
    pub mean_support: f64,
}

/// An estimate with its error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The estimate.
    pub value: f64,
    /// Its standard error, or a bound on it.
    pub standard_error: f64,
    /// Of the level stated.
    #[serde(flatten)]
    pub interval: Interval,
}

impl HeldOut {
    /// The fits that are compared where a method is to be chosen: plain components, and the two sparse methods along
    /// a path of penalties.
    pub(super) fn candidates() -> Vec<Fit> {
        let factors = CROSS_VALIDATION_FACTORS.into_iter().rev().filter(|&factor| factor > 0.0);
        let path = |method: Method| factors.clone().map(move |factor| Fit { method, factor });
        [Fit::PLAIN].into_iter().chain(path(Method::SoftThreshold)).chain(path(Method::Fantope)).collect()
    }

    /// The number of problems that [`HeldOut::measure`] solves: one for each fold, and one for each half of them.
    pub(super) fn problems(reports: Reports<'_>, fits: &[Fit]) -> usize {
        (reports.folds() + 2) * fits.len()
    }

    /// Measures these fits, of which the first is [`Fit::PLAIN`], and chooses none. Nothing for an aggregate without
    /// two folds, or with one that has no reports.
    ///
    /// # Errors
    /// As [`cross_validate`](super::penalty::cross_validate).
    pub(super) fn measure(
        reports: Reports<'_>,
        covariance: &Covariance,
        rank: Rank,
        fits: &[Fit],
        settings: &SolverSettings,
        progress: &mut dyn FnMut(&SequenceProgress) -> ControlFlow<()>,
    ) -> Result<Option<Self>, PenaltyError> {
        if !can_hold_out(reports) {
            return Ok(None);
        }
        let folds = reports.folds();
        let mut sequence = Sequence { settings, progress, solved: 0, total: Self::problems(reports, fits) };
        let scores = score(reports, rank, fits, &mut sequence)?;
        let overlaps = overlaps(reports, rank, fits, &mut sequence)?;
        let (shares, law) = (reports.shares_of_folds(&covariance.each), covariance.moments_law());
        let measured = |forms: &[LinearForm], shared: f64| Measured::of(forms, &shares, law, shared);
        let answers = scores.iter().zip(overlaps).enumerate().map(|(index, (score, overlap))| HeldOutAnswer {
            fit: score.fit,
            chosen: false,
            captured: measured(&score.captured, 2.0 - overlap),
            difference: (index > 0).then(|| measured(&score.from_first, 2.0)),
            mean_support: score.mean_support,
        });
        Ok(Some(Self { folds, level: LEVEL, answers: answers.collect() }))
    }

    /// Chooses the fit that captures most, or plain components where these are within one standard error of it: a
    /// penalty must earn its place.
    pub(super) fn choose(&mut self) -> Fit {
        let gain = |answer: &HeldOutAnswer| answer.difference.map_or(0.0, |difference| difference.value);
        let best = (0..self.answers.len()).max_by(|&a, &b| gain(&self.answers[a]).total_cmp(&gain(&self.answers[b])));
        let earned = |&index: &usize| {
            self.answers[index].difference.is_some_and(|difference| difference.value > difference.standard_error)
        };
        let chosen = best.filter(earned).unwrap_or(0);
        self.answers[chosen].chosen = true;
        self.answers[chosen].fit
    }

    /// The answer that was chosen, or else the last one.
    #[must_use]
    pub fn chosen(&self) -> Option<&HeldOutAnswer> {
        self.answers.iter().find(|answer| answer.chosen).or(self.answers.last())
    }
}

impl Measured {
    /// The mean over folds with these weights. Its variance is `shared` times that of independent folds.
    pub(super) fn of(forms: &[LinearForm], shares: &[f64], law: Option<&WeightedLaw>, shared: f64) -> Self {
        let mean =
            |part: fn(&LinearForm) -> f64| forms.iter().zip(shares).map(|(form, share)| share * part(form)).sum();
        let pooled = LinearForm {
            squared_norm: mean(|form| form.squared_norm),
            trace: mean(|form| form.trace),
            value: mean(|form| form.value),
            energy: mean(|form| form.energy),
        };
        let standard_error = match law {
            Some(law) => (shared * law.form_variance(&pooled)).max(0.0).sqrt(),
            None => shared.sqrt() * scatter(forms.iter().map(|form| form.value), shares, pooled.value),
        };
        Self::new(pooled.value, standard_error, quantile_of(law, forms.len()))
    }

    fn new(value: f64, standard_error: f64, quantile: f64) -> Self {
        let half = quantile * standard_error;
        Self { value, standard_error, interval: Interval { lower: value - half, upper: value + half } }
    }

    /// `factor` times the difference from another estimate over as many folds, with an error of its own.
    pub(super) fn less(self, other: Self, factor: f64, law: Option<&WeightedLaw>, folds: usize) -> Self {
        let standard_error = self.standard_error.hypot(other.standard_error);
        Self::new(factor * (self.value - other.value), factor * standard_error, quantile_of(law, folds))
    }
}

/// That of an interval: an error that is estimated from a few folds, without the law of the noise, is itself uncertain.
fn quantile_of(law: Option<&WeightedLaw>, folds: usize) -> f64 {
    law.map_or_else(|| student_quantile(folds - 1), |_| QUANTILE)
}

/// The 97.5 % quantile of Student's t distribution with these degrees of freedom: exact for 1 and 2, and to 0.1 %
/// beyond (Abramowitz & Stegun 26.7.5).
fn student_quantile(degrees: usize) -> f64 {
    let (z, square) = (QUANTILE, QUANTILE * QUANTILE);
    let series = [
        (square + 1.0) / 4.0,
        ((5.0 * square + 16.0) * square + 3.0) / 96.0,
        (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0,
        ((((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0) / 92_160.0,
    ];
    match degrees {
        0 => f64::INFINITY,
        1 => (0.475 * core::f64::consts::PI).tan(),
        2 => 0.95 / (2.0 * 0.975 * 0.025_f64).sqrt(),
        _ => z * (1.0 + series.iter().rev().fold(0.0, |sum, term| (sum + term) / degrees as f64)),
    }
}

/// The variance that each of the first `count` plain components adds to those before it, found without a fold and
/// measured on it. Nothing for an aggregate without two folds, or with one that has no reports, and where `step`, which
/// is called before each fold, stops.
///
/// The difference between the projectors on j and on j - 1 components is the one on the last of them.
pub(super) fn gains(
    reports: Reports<'_>,
    covariance: &Covariance,
    count: Rank,
    step: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Option<Vec<Measured>>, PenaltyError> {
    if !can_hold_out(reports) {
        return Ok(None);
    }
    let mut forms = vec![vec![]; count.value()];
    for fold in 0..reports.folds() {
        if step().is_break() {
            return Ok(None);
        }
        let training = Covariance::of_folds(reports, |index| index != fold)?;
        let held_out = Covariance::of_folds(reports, |index| index == fold)?;
        let components = principal_components(training.matrix(), count)?.vectors;
        let images = held_out.matrix() * &components;
        for (index, forms) in forms.iter_mut().enumerate() {
            let value = components.column(index).dot(&images.column(index));
            forms.push(LinearForm { squared_norm: 1.0, trace: 1.0, value, energy: value });
        }
    }
    let (shares, law) = (reports.shares_of_folds(&covariance.each), covariance.moments_law());
    Ok(Some(forms.iter().map(|forms| Measured::of(forms, &shares, law, 2.0)).collect()))
}

/// Whether there are two folds at least, and reports in all.
fn can_hold_out(reports: Reports<'_>) -> bool {
    reports.folds() >= 2 && (0..reports.folds()).all(|fold| reports.records_of_fold(fold) > 0)
}

/// The standard error of a weighted mean over folds, from their differences.
pub(super) fn scatter(values: impl Iterator<Item = f64>, shares: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.zip(shares).map(|(value, share)| (share * (value - mean)).powi(2)).sum();
    let folds = shares.len() as f64;
    (squares * folds / (folds - 1.0)).sqrt()
}

/// One fit over all folds.
pub(super) struct Score {
    pub(super) fit: Fit,
    /// Per fold, the projector on its components.
    pub(super) captured: Vec<LinearForm>,
    /// Per fold, the same less the projector of the first fit.
    from_first: Vec<LinearForm>,
    pub(super) mean_support: f64,
}

/// Finds the components of each fit without each fold, and measures them on it.
pub(super) fn score(
    reports: Reports<'_>,
    rank: Rank,
    fits: &[Fit],
    sequence: &mut Sequence<'_>,
) -> Result<Vec<Score>, PenaltyError> {
    let folds = reports.folds();
    let mut scores: Vec<Score> =
        fits.iter().map(|&fit| Score { fit, captured: vec![], from_first: vec![], mean_support: 0.0 }).collect();
    for fold in 0..folds {
        let training = Covariance::of_folds(reports, |index| index != fold)?;
        let held_out = Covariance::of_folds(reports, |index| index == fold)?;
        let (mut last, mut first) = (None, None);
        for score in &mut scores {
            let found = score.fit.components(&training, rank, sequence, &mut last)?;
            score.mean_support += found.support.len() as f64 / folds as f64;
            let projection = Projection::new(found.components, held_out.matrix());
            score.captured.push(projection.form());
            let first = first.get_or_insert_with(|| projection.clone());
            score.from_first.push(projection.less(first));
        }
    }
    Ok(scores)
}

/// Per fit, the overlap `<P_a, P_b> / k` of the projectors found from the even and from the odd folds, from 0 to 1.
fn overlaps(
    reports: Reports<'_>,
    rank: Rank,
    fits: &[Fit],
    sequence: &mut Sequence<'_>,
) -> Result<Vec<f64>, PenaltyError> {
    let mut half = |remainder: usize| -> Result<Vec<DMatrix<f64>>, PenaltyError> {
        let estimate = Covariance::of_folds(reports, |fold| fold % 2 == remainder)?;
        let mut last = None;
        fits.iter().map(|fit| Ok(fit.components(&estimate, rank, sequence, &mut last)?.components)).collect()
    };
    let (even, odd) = (half(0)?, half(1)?);
    Ok(even.iter().zip(&odd).map(|(a, b)| (a.tr_mul(b).norm_squared() / rank.value() as f64).min(1.0)).collect())
}

/// Components V and their products with the estimate S of a fold.
#[derive(Clone)]
pub(super) struct Projection {
    components: DMatrix<f64>,
    /// `S V`.
    image: DMatrix<f64>,
    /// `tr(V^T S V)`.
    captured: f64,
}

impl Projection {
    pub(super) fn new(components: DMatrix<f64>, estimate: &DMatrix<f64>) -> Self {
        let image = estimate * &components;
        let captured = components.dot(&image);
        Self { components, image, captured }
    }

    /// Of the projector `P = V V^T`.
    pub(super) fn form(&self) -> LinearForm {
        let rank = self.components.ncols() as f64;
        LinearForm { squared_norm: rank, trace: rank, value: self.captured, energy: self.captured }
    }

    /// Of the difference `P - P'` of two projectors: its square is `P + P' - P P' - P' P`.
    pub(super) fn less(&self, other: &Self) -> LinearForm {
        let overlap = other.components.tr_mul(&self.components);
        let crossed = other.components.tr_mul(&self.image).dot(&overlap);
        let [own, others] = [self, other].map(|captured| captured.components.ncols() as f64);
        LinearForm {
            squared_norm: (own + others - 2.0 * overlap.norm_squared()).max(0.0),
            trace: own - others,
            value: self.captured - other.captured,
            energy: self.captured + other.captured - 2.0 * crossed,
        }
    }
}

#[cfg(test)]
mod tests;
