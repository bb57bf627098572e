//! The covariance estimate from sums of reports, with its known noise level.

use std::borrow::Cow;

use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use crate::aggregate::{Aggregate, AggregateError, FoldSum};
use crate::centring::{Centring, add_mean_square};
use crate::family::{OneReport, Reports, precision};
use crate::law::{LinearForm, NoiseLaw, WeightedLaw};
use crate::mechanism::{Mechanism, MechanismError, Moments, Pull};
use crate::record::Bounding;
use crate::task::Task;

/// An unbiased estimate of the second-moment matrix `E[x x^T]` (d × d) of the bounded records, in the units of the
/// encoded features. For a task with [centring](crate::centring), an estimate of their covariance
/// `E[x x^T] - E[x] E[x]^T`, and of their mean.
///
/// The mechanism makes second moments of the sums ([`Moments::debias`]). Several tasks are averaged by their precision,
/// and centring subtracts the square of the mean. The *lift* of a record is the coordinate by which double-cap makes it
/// a unit vector; an *extended* record has centring's constant.
///
/// The expectations are averages over the records that were reported (divided by n, not n - 1). The noise in the mean
/// would make `mean mean^T` too large by its variance, which is known and added back. That makes the centred covariance
/// unbiased with Gaussian noise. With double-cap, whose noise depends on the record, a bias of the order of
/// `E[x x^T] / (gain w n)` remains, while the noise is of the order of `1 / (gain sqrt(n))`.
///
/// For double-cap reports "unbiased" means up to 1e-3: the expectation is off by a matrix of spectral norm below that,
/// for records with their lift ([`double_cap`](crate::mechanism::double_cap)). With centring that holds for the
/// extended records, and the mean may be off by `1e-3 / sqrt(w (1 - w))`.
///
/// It is symmetric but, being debiased, not positive semidefinite: small eigenvalues may be negative.
///
/// ```
/// # use ldp_pca::{Accumulator, Bounding, Covariance, Epsilon, Folds, MechanismSpec, Schema, Task};
/// # let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0)?);
/// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// let record = task.bound(vec![3.0, 4.0])?;
/// let mut accumulator = Accumulator::new(&task);
/// for _ in 0..2_000 {
///     accumulator.push(task.randomize(&record, None)?)?;
/// }
/// let covariance = Covariance::estimate(accumulator.aggregate()?, &task)?;
/// assert_eq!(covariance.matrix().shape(), (2, 2));
/// // The true entry is 0.6 * 0.8; the estimate of it has this standard deviation.
/// assert!(covariance.noise_deviation() < 0.04);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Covariance {
    matrix: DMatrix<f64>,
    mean: Option<Mean>,
    records: u64,
    noise_deviation: f64,
    noise_edge: f64,
    noise_factor: f64,
    noise_law: NoiseLaw,
    /// With double-cap the mean square of the lift of what was randomized.
    lift: Option<f64>,
    /// That of the second moments of the tasks' reports.
    moments_law: WeightedLaw,
    /// One report of each task that has reports.
    pub(crate) each: Vec<OneReport>,
}

/// The sums of one task's reports, of which there are some.
struct TaskSum<'a> {
    sum: Cow<'a, FoldSum>,
    task: &'a Task,
    mechanism: &'a Mechanism,
}

/// An unbiased estimate of the mean of the bounded records, in the units of the encoded features.
/// [`Schema::decode`](crate::schema::Schema::decode) brings it into the units of the columns. Under clip bounding it is
/// the mean of records shortened to the radius, under unit norm that of directions.
///
/// ```
/// # use ldp_pca::{Aggregate, Bounding, Centring, Covariance, Epsilon, Folds, MechanismSpec, Schema, Task};
/// # let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0)?);
/// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// let task = task.with_centring(Centring::default())?;
/// let mut aggregate = Aggregate::empty(&task);
/// aggregate.accumulate(&task, &[task.randomize(&task.bound(vec![3.0, 4.0])?, None)?])?;
/// let covariance = Covariance::estimate(&aggregate, &task)?;
/// let mean = covariance.mean().ok_or("a task with centring has a mean")?;
/// println!("{:?}, give or take {}", task.schema().decode(mean.values()), mean.noise_deviation());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mean {
    values: Vec<f64>,
    noise_deviation: f64,
}

impl Mean {
    /// The d entries.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Standard deviation that the mechanism gives to one entry (with double-cap, where the records have nothing in
    /// this coordinate); the sampling of the records comes on top.
    #[must_use]
    pub fn noise_deviation(&self) -> f64 {
        self.noise_deviation
    }

    /// The weighted mean of two independent estimates; the weights have the sum 1.
    pub(crate) fn pooled(means: [&Self; 2], weights: [f64; 2]) -> Self {
        let of_both = |value: [f64; 2]| weights[0] * value[0] + weights[1] * value[1];
        let values = means[0].values.iter().zip(&means[1].values).map(|(first, second)| of_both([*first, *second]));
        let [first, second] = [0, 1].map(|index| weights[index] * means[index].noise_deviation);
        Self { values: values.collect(), noise_deviation: first.hypot(second) }
    }

    /// The mean, so shortened that the square of its length is without the bias of the noise.
    pub(crate) fn without_bias(&self) -> DVector<f64> {
        let mean = DVector::from_column_slice(&self.values);
        let square = mean.norm_squared();
        let noise = self.values.len() as f64 * self.noise_deviation.powi(2);
        if square > noise { mean * (1.0 - noise / square).sqrt() } else { mean * 0.0 }
    }
}

impl Covariance {
    /// Debiases all reports of one task.
    ///
    /// # Errors
    /// [`CovarianceError`] for another task or an empty aggregate.
    pub fn estimate(aggregate: &Aggregate, task: &Task) -> Result<Self, CovarianceError> {
        Self::of_folds(Reports::one(aggregate, task), |_| true)
    }

    fn of_parts(parts: &[TaskSum<'_>], each: Vec<OneReport>) -> Result<Self, CovarianceError> {
        let Some(&TaskSum { task, mechanism, .. }) = parts.first() else { return Err(CovarianceError::Empty) };
        let (bounding, of_first) = (task.bounding(), mechanism.entry_deviation());
        let of_part = |part: &TaskSum<'_>| precision(part.sum.records(), part.mechanism.entry_deviation(), of_first);
        let precisions: Vec<f64> = parts.iter().map(of_part).collect();
        let total: f64 = precisions.iter().sum();
        let mut members = Vec::with_capacity(parts.len());
        for (part, precision) in parts.iter().zip(precisions) {
            let law = NoiseLaw::new(part.mechanism, bounding, part.sum.records());
            members.push((precision / total, law.map_err(|_no_records| CovarianceError::Empty)?));
        }
        let moments_law = WeightedLaw { members };
        let noise_law = moments_law.law().ok_or(CovarianceError::Empty)?;
        let bounded = Self {
            matrix: mean_of(parts, &moments_law),
            mean: None,
            records: parts.iter().map(|part| part.sum.records()).sum(),
            noise_deviation: deviation_of(parts, &moments_law, Mechanism::entry_deviation),
            noise_edge: match parts {
                [only] => mechanism.noise_edge(only.sum.records()),
                _ => noise_law.bulk(0.0, mechanism.state_dimension()).edge() / bounding.covariance_scale(),
            },
            noise_factor: 1.0,
            noise_law,
            lift: lift_of(parts, &moments_law),
            moments_law,
            each,
        };
        let Some(centring) = task.centring() else { return Ok(bounded.in_units_of(bounding)) };
        let of_one = |mechanism: &Mechanism| centring.mean_factor() * mechanism.deviation_beside(centring.weight());
        let deviation = deviation_of(parts, &bounded.moments_law, of_one);
        Ok(bounded.centred(centring, deviation).in_units_of(bounding))
    }

    /// The covariance and the mean of x from the second moments of its extended y (see [`crate::centring`]).
    /// The noise has this `deviation` in an entry of the mean.
    fn centred(self, centring: Centring, deviation: f64) -> Self {
        let dimension = self.matrix.nrows() - 1;
        let (matrix, values) = centring.centre(&self.matrix, deviation);
        let mean = Mean { values, noise_deviation: deviation };

        // Noise makes the square of the mean's length too large rather than too small. The mean of bounded records is
        // no longer than 1.
        let squared_length = mean.values.iter().map(|value| value * value).sum::<f64>().min(1.0);
        let noise_deviation = centring.entry_deviation(self.noise_deviation, deviation, squared_length, dimension);
        Self {
            matrix,
            noise_deviation,
            // The correction for the noise in the mean raises all directions but one.
            noise_edge: self.noise_edge * centring.edge_factor(squared_length) + deviation.powi(2),
            noise_factor: noise_deviation / self.noise_deviation,
            noise_law: self.noise_law.about_mean(centring, mean.without_bias().norm_squared().min(1.0)),
            mean: Some(mean),
            ..self
        }
    }

    /// Converts the estimate from the units of bounded records to those of encoded features.
    fn in_units_of(mut self, bounding: Bounding) -> Self {
        let scale = bounding.covariance_scale();
        self.matrix *= scale;
        self.noise_deviation *= scale;
        self.noise_edge *= scale;
        if let Some(mean) = &mut self.mean {
            let scale = bounding.length_scale();
            mean.values.iter_mut().for_each(|value| *value *= scale);
            mean.noise_deviation *= scale;
        }
        self
    }

    /// The d × d estimate: the covariance where the task has centring, otherwise the second moments.
    #[must_use]
    pub fn matrix(&self) -> &DMatrix<f64> {
        &self.matrix
    }

    /// The unbiased estimate of `E[x x^T]` (d × d), also for a task with centring.
    #[must_use]
    pub fn second_moment(&self) -> DMatrix<f64> {
        let mut moment = self.matrix.clone();
        if let Some(mean) = &self.mean {
            add_mean_square(&mut moment, &mean.values, mean.noise_deviation, 1.0);
        }
        moment
    }

    /// The estimate of the mean, where the task has [centring](crate::centring).
    #[must_use]
    pub fn mean(&self) -> Option<&Mean> {
        self.mean.as_ref()
    }

    /// The number of reports it is the mean of.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Standard deviation tau that the mechanism gives to one off-diagonal entry of [`Covariance::matrix`]; the
    /// sampling of the records comes on top. With centring, entries have different deviations, and this is their root
    /// mean square for a mean as long as the estimated one.
    #[must_use]
    pub fn noise_deviation(&self) -> f64 {
        self.noise_deviation
    }

    /// The largest eigenvalue that noise alone would give. A component whose variance is not above it cannot be
    /// distinguished from noise: more reports, or a larger epsilon, are needed. With centring it holds to first order
    /// in the noise, for many more reports than features.
    #[must_use]
    pub fn noise_edge(&self) -> f64 {
        self.noise_edge
    }

    /// The cost of centring: [`Covariance::noise_deviation`] as a multiple of its value without centring, 1 where there
    /// is none. The square of this factor times the reports restores the old deviation.
    #[must_use]
    pub fn noise_factor(&self) -> f64 {
        self.noise_factor
    }

    /// The trace of `E[x x^T]`, which is the mean square of the lengths of bounded records, and a bound on its standard
    /// error, whatever the population is.
    pub(crate) fn mean_square(&self, task: &Task) -> (f64, f64) {
        let scale = task.bounding().covariance_scale();
        // What was randomized has this part of it.
        let part = 1.0 - task.centring().map_or(0.0, Centring::weight);
        let (square, form) = match self.lift {
            Some(lift) => {
                let value = scale * lift;
                let form = LinearForm { squared_norm: 1.0, trace: 1.0, value, energy: value };
                (scale - value / part, form)
            }
            None => {
                let (rows, square) = (self.matrix.nrows() as f64, self.second_moment().trace());
                let value = part * square;
                (square, LinearForm { squared_norm: rows, trace: rows, value, energy: value })
            }
        };
        (square, self.moments_law.form_variance(&form).max(0.0).sqrt() / part)
    }

    /// The laws of the tasks' estimates, which bound the variance of linear functions of the estimate; none about an
    /// estimated mean.
    pub(crate) fn moments_law(&self) -> Option<&WeightedLaw> {
        self.mean.is_none().then_some(&self.moments_law)
    }
}

/// What our own crates need and others do not.
#[doc(hidden)]
impl Covariance {
    /// Debiases those folds together that `chosen` accepts, of one task or of a family, whose estimates are weighted by
    /// the inverse variance of their noise in these folds. It does not depend on the reports of other folds.
    ///
    /// # Errors
    /// [`CovarianceError`] for an aggregate of another task, or when these folds have no reports.
    pub fn of_folds(reports: Reports<'_>, chosen: impl Fn(usize) -> bool) -> Result<Self, CovarianceError> {
        let (mut parts, mut each) = (vec![], vec![]);
        for (aggregate, task) in reports.members() {
            aggregate.check_task(task.digest())?;
            if task.refinement().is_some() {
                return Err(AggregateError::Refinement.into());
            }
            let mechanism = task.moments()?;
            if aggregate.records() > 0 {
                let (deviation, pull) = (mechanism.entry_deviation(), mechanism.pull());
                each.push(OneReport { task: task.digest(), deviation, pull });
            }
            let folds = aggregate.folds().iter().enumerate();
            let mut folds = folds.filter(|(index, _)| chosen(*index)).map(|(_, sum)| sum);
            let mut sum = Cow::Borrowed(folds.next().ok_or(CovarianceError::Empty)?);
            folds.for_each(|other| sum.to_mut().add(other));
            if sum.records() > 0 {
                parts.push(TaskSum { sum, task, mechanism });
            }
        }
        Self::of_parts(&parts, each)
    }

    /// How far any `hostile` of the reports that this is the estimate of can have moved an eigenvalue of
    /// [`Covariance::matrix`], by the statement of [`Pull`], for the worst choice of tasks in a family.
    ///
    /// With centring the statement is about the second moments of the extended records, and the mean is the one that
    /// was estimated.
    #[must_use]
    pub fn pull(&self, reports: Reports<'_>, hostile: u64) -> Pull {
        let (task, bounded) = (reports.task(), reports.pull(&self.each, hostile));
        let bounding = task.bounding();
        let Some((centring, mean)) = task.centring().zip(self.mean.as_ref()) else {
            return bounded.scaled(bounding.covariance_scale());
        };
        let squared_length: f64 = mean.values.iter().map(|value| (value / bounding.length_scale()).powi(2)).sum();
        // For the roundings of this sum and of the mean's length.
        let units = bounding.covariance_scale() * (1.0 + 1e-9);
        bounded.map(|pull| centring.pull(pull, squared_length.sqrt()) * units)
    }

    /// The law of the estimate's scatter about the truth: to predict its error, denoise it, or draw it again. With
    /// centring it is that about the estimated mean.
    #[must_use]
    pub fn noise_law(&self) -> NoiseLaw {
        self.noise_law
    }
}

/// The weighted mean of the debiased second moments.
fn mean_of(parts: &[TaskSum<'_>], law: &WeightedLaw) -> DMatrix<f64> {
    let mut parts = parts.iter().zip(&law.members).map(|(TaskSum { sum, mechanism, .. }, (weight, _))| {
        let mut matrix = mechanism.debias(sum.sums(), sum.records());
        if *weight != 1.0 {
            matrix *= *weight;
        }
        matrix
    });
    let first = parts.next().unwrap_or_default();
    parts.fold(first, |sum, part| sum + part)
}

/// The weighted mean square of the lift; none for mechanisms that do not lift.
fn lift_of(parts: &[TaskSum<'_>], law: &WeightedLaw) -> Option<f64> {
    let lift = |(TaskSum { sum, mechanism, .. }, (weight, _)): (&TaskSum<'_>, &(f64, _))| match mechanism {
        Mechanism::DoubleCap(mechanism) => Some(weight * mechanism.lift(sum.sums(), sum.records())),
        _ => None,
    };
    parts.iter().zip(&law.members).map(lift).sum()
}

/// The standard deviation of a number in the weighted mean that has this one in one report.
fn deviation_of(parts: &[TaskSum<'_>], law: &WeightedLaw, of_one: impl Fn(&Mechanism) -> f64) -> f64 {
    let of_part = |part: &TaskSum<'_>| of_one(part.mechanism) / (part.sum.records() as f64).sqrt();
    match parts {
        [only] => of_part(only),
        parts => {
            let weighted = parts.iter().zip(&law.members).map(|(part, (weight, _))| weight * of_part(part));
            weighted.map(|deviation| deviation * deviation).sum::<f64>().sqrt()
        }
    }
}

/// Why there is no estimate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CovarianceError {
    /// Nothing was collected.
    #[error("there are no reports to estimate from: collect some first")]
    Empty,
    /// Another task.
    #[error(transparent)]
    Aggregate(#[from] AggregateError),
    /// Reports that are not about second moments.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
}

#[cfg(test)]
pub(crate) mod tests {
    use core::num::NonZeroUsize;

    use super::*;
    use crate::linalg::symmetric_eigenvalues;
    use crate::mechanism::{MechanismSpec, Summable};
    use crate::report::Report;
    use crate::tests::{clip, double_cap, gaussian, reports, sum};
    use chacha20::ChaCha20Rng;
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;

    const RADIUS: f64 = 3.0;
    const WEIGHT: f64 = 0.2;

    /// What an aggregator reads from one report alone.
    pub(crate) fn of_report(report: &Report, task: &Task) -> Result<Covariance, CovarianceError> {
        let mut aggregate = Aggregate::empty(task);
        aggregate.accumulate(task, core::slice::from_ref(report))?;
        Covariance::estimate(&aggregate, task)
    }

    fn of_fold(aggregate: &Aggregate, task: &Task, fold: usize) -> Result<Covariance, CovarianceError> {
        Covariance::of_folds(Reports::one(aggregate, task), |index| index == fold)
    }

    fn without_fold(aggregate: &Aggregate, task: &Task, fold: usize) -> Result<Covariance, CovarianceError> {
        Covariance::of_folds(Reports::one(aggregate, task), |index| index != fold)
    }

    fn mechanisms() -> [MechanismSpec; 2] {
        [double_cap(4.0, 64, 8), gaussian(4.0)]
    }

    /// A task with three features, clipped to the radius, centred with the weight or not.
    fn task(mechanism: MechanismSpec, centred: bool, folds: u32) -> Task {
        let centring = centred.then(|| Centring::new(WEIGHT).unwrap());
        crate::tests::centred(crate::tests::task(3, clip(RADIUS), mechanism, folds), centring)
    }

    /// Possible sums of this many reports in the one fold of a task, with some tags.
    fn made_up(task: &Task, records: u64, mut sum: impl FnMut(usize, usize) -> i64) -> Aggregate {
        let rows = task.moments().unwrap().state_dimension();
        let mut bytes = [&b"LDPA\x01"[..], task.digest().as_bytes(), &records.to_le_bytes()].concat();
        for row in 0..rows {
            bytes.extend((row..rows).flat_map(|column| sum(row, column).to_le_bytes()));
        }
        for place in 0..records.min(1024) as u32 {
            bytes.extend(place.to_be_bytes());
            bytes.extend([0; 16]);
        }
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        Aggregate::from_bytes(&bytes, task).unwrap()
    }

    /// The module's formulas, written down once more from the variances of one report's entries: for means of every
    /// length, and numbers of reports from one on.
    #[test]
    fn printed_noise_is_that_of_the_formulas_for_means_of_every_length() {
        for mechanism in mechanisms() {
            let task = task(mechanism, true, 1);
            let one_report = task.moments().unwrap();
            let (mut short, mut long) = (0, 0);
            for records in [1u64, 2, 20, 1000, 1_000_000] {
                for share in [0, 1, 3, 10, 40] {
                    let most = i64::from(one_report.largest_entry()) * records.cast_signed();
                    let aggregate =
                        made_up(
                            &task,
                            records,
                            |row, column| if (row, column) == (1, 3) { most * share / 200 } else { 0 },
                        );
                    let estimate = Covariance::estimate(&aggregate, &task).unwrap();
                    let mean = estimate.mean().unwrap();
                    let squared = mean.values().iter().map(|value| (value / RADIUS).powi(2)).sum::<f64>();
                    (short, long) = (short + u32::from(squared < 0.5), long + u32::from(squared > 1.0));
                    let squared = if squared > 1.0 { 1.0 } else { squared };
                    // Variances of an entry of M, beside the constant and elsewhere, in the mean of all reports.
                    let n = records as f64;
                    let elsewhere = one_report.entry_deviation().powi(2) / n;
                    let beside = one_report.deviation_beside(WEIGHT).powi(2) / n;
                    let of_mean = beside / (WEIGHT * (1.0 - WEIGHT));
                    let of_entry = elsewhere / (1.0 - WEIGHT).powi(2)
                        + 2.0 / 3.0 * squared * elsewhere / (WEIGHT * (1.0 - WEIGHT))
                        + of_mean * of_mean;
                    let excess = squared * (1.0 - WEIGHT) / WEIGHT;
                    let magnified = if excess > 1.0 { (1.0 + excess) / (2.0 * excess.sqrt()) } else { 1.0 };
                    let edge = one_report.noise_edge(records) * magnified / (1.0 - WEIGHT) + of_mean;
                    let area = RADIUS * RADIUS;
                    for (printed, expected) in [
                        (mean.noise_deviation(), RADIUS * of_mean.sqrt()),
                        (estimate.noise_deviation(), area * of_entry.sqrt()),
                        (estimate.noise_edge(), area * edge),
                        (estimate.noise_factor(), (of_entry / elsewhere).sqrt()),
                    ] {
                        assert!(
                            (printed / expected - 1.0).abs() < 1e-12,
                            "{mechanism:?} {records} {share} {printed} {expected}"
                        );
                    }
                    let law = estimate.noise_law();
                    assert_eq!((estimate.records(), law.records(), law.dimension()), (records, records, 3));
                }
            }
            assert!(short >= 5 && long >= 5, "{short} {long}");
            let plain = self::task(mechanism, false, 1);
            let estimate = Covariance::estimate(&made_up(&plain, 20, |_, _| 0), &plain).unwrap();
            let deviation = plain.moments().unwrap().entry_deviation() / 20f64.sqrt();
            assert!((estimate.noise_deviation() / (9.0 * deviation) - 1.0).abs() < 1e-12);
            assert!((estimate.noise_edge() / (9.0 * plain.moments().unwrap().noise_edge(20)) - 1.0).abs() < 1e-12);
            assert_eq!((estimate.noise_factor(), estimate.mean()), (1.0, None));
            assert_eq!(estimate.noise_law().records(), 20);
        }
    }

    /// Normal noise on the entries of the second moments, many times over, compared with what is stated. Root mean
    /// squares of 12,000 entries are known to 0.7 %, and means to a 110th of a deviation: five of either.
    #[test]
    fn printed_noise_is_that_of_drawn_estimates_and_these_are_unbiased() {
        const DRAWS: usize = 4000;
        let task = task(gaussian(4.0), true, 1);
        let mechanism = task.moments().unwrap();
        let steps = mechanism.debias(&[1; 10], 1) - mechanism.debias(&[0; 10], 1);
        let deviation = mechanism.entry_deviation();
        let mut rng = ChaCha20Rng::from_seed([5; 32]);
        for (record, records) in
            [([0.0; 3], 100_000u64), ([0.3, -0.1, 0.2], 100_000), ([0.6, 0.0, -0.8], 100_000), ([0.0; 3], 100)]
        {
            let share = (1.0 - WEIGHT).sqrt();
            let extended = [record[0] * share, record[1] * share, record[2] * share, WEIGHT.sqrt()];
            let n = records as f64;
            let (mut squares, mut printed) = (0.0, 0.0);
            let (mut mean_squares, mut mean_printed, mut mean_sum, mut diagonal_sum, mut diagonal_squares) =
                (0.0, 0.0, 0.0, 0.0, 0.0);
            for _ in 0..DRAWS {
                let aggregate = made_up(&task, records, |row, column| {
                    let noise = deviation / n.sqrt() * rng.sample::<f64, _>(StandardNormal);
                    (((extended[row] * extended[column] + noise) / steps[(row, column)] - 0.5) * n).round() as i64
                });
                let estimate = Covariance::estimate(&aggregate, &task).unwrap();
                let (matrix, mean) = (estimate.matrix() / RADIUS.powi(2), estimate.mean().unwrap());
                squares += [(0, 1), (0, 2), (1, 2)].map(|at| matrix[at].powi(2)).iter().sum::<f64>() / 3.0;
                printed += (estimate.noise_deviation() / RADIUS.powi(2)).powi(2);
                for (value, truth) in mean.values().iter().zip(record) {
                    let error = value / RADIUS - truth;
                    (mean_sum, mean_squares) = (mean_sum + error / 3.0, mean_squares + error * error / 3.0);
                }
                mean_printed += (mean.noise_deviation() / RADIUS).powi(2);
                diagonal_sum += matrix.trace() / 3.0;
                diagonal_squares += matrix.diagonal().norm_squared() / 3.0;
            }
            // From 100 reports the square of the mean's length is overstated by its own noise, as documented.
            let (ratio, most) = ((printed / squares).sqrt(), if records == 100 { 1.5 } else { 1.035 });
            assert!(ratio > 0.965 && ratio < most, "{record:?} {records}: {ratio}");
            let ratio = (mean_printed / mean_squares).sqrt();
            assert!((ratio - 1.0).abs() < 0.035, "{record:?} {records}: {ratio}");
            let draws = DRAWS as f64;
            let errors = [(mean_sum, mean_squares), (diagonal_sum, diagonal_squares)];
            for (sum, squares) in errors {
                // The three of a draw may go together.
                assert!(
                    (sum / draws).abs() < 5.0 * (squares / draws / draws).sqrt(),
                    "{record:?} {records}: {sum} {squares}"
                );
            }
        }
    }

    /// Reports of records with nothing in them: the noise beside the constant. 1,800 entries give a deviation to 1.7 %.
    #[test]
    fn the_printed_noise_of_a_mean_of_few_reports_is_what_they_have() {
        let task = task(double_cap(4.0, 64, 8), true, 1);
        let mut rng = ChaCha20Rng::from_seed([6; 32]);
        let (mut squares, mut printed) = (0.0, 0.0);
        for _ in 0..600 {
            let of_nothing = reports(&task, 20, &mut rng, |_, _| vec![0.0; 3]);
            let estimate = Covariance::estimate(&sum(&task, &of_nothing), &task).unwrap();
            let mean = estimate.mean().unwrap();
            squares += mean.values().iter().map(|value| value * value).sum::<f64>() / 3.0;
            printed += mean.noise_deviation().powi(2);
        }
        let ratio = (printed / squares).sqrt();
        assert!((ratio - 1.0).abs() < 0.07, "{ratio}");
    }

    #[test]
    fn the_second_moment_is_what_was_debiased_with_and_without_centring() {
        for mechanism in mechanisms() {
            for centred in [false, true] {
                let task = task(mechanism, centred, 1);
                let aggregate = made_up(&task, 50, |row, column| 7 * row as i64 - 5 * (column as i64) - 3);
                let debiased = task.moments().unwrap().debias(aggregate.folds()[0].sums(), 50);
                let factor = RADIUS.powi(2) / if centred { 1.0 - WEIGHT } else { 1.0 };
                let expected = debiased.view((0, 0), (3, 3)) * factor;
                let estimate = Covariance::estimate(&aggregate, &task).unwrap();
                assert!((estimate.second_moment() - &expected).norm() < 1e-12 * expected.norm());
                let Some(mean) = estimate.mean() else {
                    assert_eq!(estimate.matrix(), &expected);
                    continue;
                };
                let scale = RADIUS / (WEIGHT * (1.0 - WEIGHT)).sqrt();
                let values = DVector::from_row_slice(mean.values());
                let last = debiased.view((0, 3), (3, 1)) * scale;
                assert!((&values - last).norm() < 1e-12 * values.norm());
                let square = &values * values.transpose() - DMatrix::identity(3, 3) * mean.noise_deviation().powi(2);
                assert!((estimate.matrix() - (&expected - &square)).norm() < 1e-12 * (expected.norm() + square.norm()));
            }
        }
    }

    /// By hand: the moments move by p, the mean by f p, and its square by f p (2 |mean| + f p).
    #[test]
    fn the_bound_on_hostile_reports_adds_up_what_moves() {
        for mechanism in mechanisms() {
            for centred in [false, true] {
                let task = task(mechanism, centred, 1);
                let most = i64::from(task.moments().unwrap().largest_entry());
                let sum = |row, column| if (row, column) == (0, 3) { most / 2 } else { 0 };
                let aggregate = made_up(&task, 50, sum);
                let (estimate, reports) =
                    (Covariance::estimate(&aggregate, &task).unwrap(), Reports::one(&aggregate, &task));
                for hostile in [0u64, 1, 7, 50, 60] {
                    let (found, alone) = (estimate.pull(reports, hostile), task.moments().unwrap().pull());
                    for (found, alone) in [(found.unchecked, alone.unchecked), (found.checked, alone.checked)] {
                        let moved = alone * hostile.min(50) as f64 / 50.0;
                        let expected = estimate.mean().map_or(moved, |mean| {
                            let length = mean.values().iter().map(|value| value * value).sum::<f64>().sqrt() / RADIUS;
                            let shift = moved / (WEIGHT * (1.0 - WEIGHT)).sqrt();
                            moved / (1.0 - WEIGHT) + shift * (2.0 * length + shift)
                        });
                        let expected = expected * RADIUS.powi(2);
                        // Rounded up, by next to nothing.
                        assert!(found >= expected && found <= expected * (1.0 + 1e-8) + 1e-300, "{found} {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_estimated_is_refused_by_name() {
        let [task, other] = [false, true].map(|centred| task(double_cap(4.0, 64, 8), centred, 2));
        let mut aggregate = Aggregate::empty(&task);
        let empty = Err(CovarianceError::Empty);
        for task in [&task, &other] {
            assert_eq!(Covariance::estimate(&Aggregate::empty(task), task), empty);
        }
        let record = task.bound(vec![1.0, -2.0, 0.0]).unwrap();
        let report = task.randomize_with_rng(&record, None, &mut ChaCha20Rng::from_seed([7; 32])).unwrap();
        aggregate.accumulate(&task, core::slice::from_ref(&report)).unwrap();
        // One of the two folds has the one report.
        let full = aggregate.folds().iter().position(|fold| fold.records() == 1).unwrap();
        let whole = Covariance::estimate(&aggregate, &task);
        assert_eq!(whole.as_ref().map(Covariance::records), Ok(1));
        assert_eq!(of_report(&report, &task), whole);
        assert_eq!(of_fold(&aggregate, &task, full), whole);
        assert_eq!(without_fold(&aggregate, &task, 1 - full), whole);
        assert_eq!(of_fold(&aggregate, &task, 1 - full), empty);
        assert_eq!(without_fold(&aggregate, &task, full), empty);
        assert_eq!(of_fold(&aggregate, &task, 2), empty, "there is no such fold");
        let single = self::task(double_cap(4.0, 64, 8), false, 1);
        assert_eq!(without_fold(&Aggregate::empty(&single), &single, 0), empty);
        let foreign = AggregateError::OtherTask { expected: other.digest(), found: task.digest() };
        let foreign = Err(CovarianceError::Aggregate(foreign));
        assert_eq!(Covariance::estimate(&aggregate, &other), foreign);
        assert_eq!(of_fold(&aggregate, &other, full), foreign);
        let answer = CovarianceError::Aggregate(AggregateError::OtherReport(report.id()));
        assert_eq!(of_report(&report, &other), Err(answer));
    }

    #[test]
    fn estimates_are_linear_in_the_reports_and_in_the_folds() {
        for (mechanism, centred) in mechanisms().into_iter().flat_map(|spec| [(spec, false), (spec, true)]) {
            let task = task(mechanism, centred, 3);
            let reports = reports(&task, 30, &mut ChaCha20Rng::from_seed([7; 32]), |_, _| vec![1.0, -2.0, 0.5]);
            let aggregate = sum(&task, &reports);
            let mean = |estimate: &Covariance| estimate.mean().map(|mean| DVector::from_row_slice(mean.values()));
            let whole = Covariance::estimate(&aggregate, &task).unwrap();
            let is_whole = |parts: Vec<Covariance>| {
                let share = |part: &Covariance| part.records() as f64 / 30.0;
                let moments: DMatrix<f64> = parts.iter().map(|part| part.second_moment() * share(part)).sum();
                assert_eq!(parts.iter().map(Covariance::records).sum::<u64>(), 30);
                assert!((moments - whole.second_moment()).norm() < 1e-10 * whole.second_moment().norm());
                if let Some(expected) = mean(&whole) {
                    let found: DVector<f64> = parts.iter().map(|part| mean(part).unwrap() * share(part)).sum();
                    assert!((&found - &expected).norm() < 1e-10 * expected.norm(), "{found} {expected}");
                }
            };
            is_whole(reports.iter().map(|report| of_report(report, &task).unwrap()).collect());
            for fold in 0..3 {
                let parts = [of_fold(&aggregate, &task, fold), without_fold(&aggregate, &task, fold)];
                is_whole(parts.map(Result::unwrap).to_vec());
            }
        }
    }

    /// Three of 300 reports are replaced by another one: no eigenvalue moves beyond the bound, which is that of any two
    /// reports with double-cap, and the worst moves some of it. With centring the bound adds up what happens to the
    /// moments and to the mean.
    #[test]
    fn hostile_reports_move_no_eigenvalue_beyond_the_bound_with_centring_and_radius() {
        let plain = crate::tests::task(2, clip(RADIUS), double_cap(2.0, 64, 8), 1);
        let centred = plain.clone().with_centring(Centring::new(0.25).unwrap()).unwrap();
        for (task, nearly) in [(plain, 0.1), (centred, 0.02)] {
            let (record, mut rng) = (task.bound(vec![1.0, -2.0]).unwrap(), ChaCha20Rng::from_seed([9; 32]));
            let mut reports = reports(&task, 300, &mut rng, |_, _| vec![1.0, -2.0]);
            let estimate = |reports: &[Report]| {
                let mut aggregate = Aggregate::empty(&task);
                aggregate.accumulate_with_repeats(&task, reports, NonZeroUsize::MIN).unwrap();
                let covariance = Covariance::estimate(&aggregate, &task).unwrap();
                (aggregate, covariance)
            };
            let (_, honest) = estimate(&reports);
            let values = |covariance: &Covariance| symmetric_eigenvalues(covariance.matrix()).unwrap();
            // The worst of 500, tried one after the other.
            let (mut moved, mut bound) = (0.0f64, 0.0);
            for _ in 0..500 {
                let hostile = task.randomize_with_rng(&record, None, &mut rng).unwrap();
                reports[..3].fill(hostile);
                let (aggregate, attacked) = estimate(&reports);
                let change = (values(&attacked) - values(&honest)).amax();
                let allowed = attacked.pull(Reports::one(&aggregate, &task), 3).unchecked;
                assert!(change <= allowed, "{change} {allowed}");
                if change > moved {
                    (moved, bound) = (change, allowed);
                }
            }
            assert!(moved > nearly * bound, "{:?} {moved} {bound}", task.centring());
        }
    }
}
