//! DP-PCA: Oja's algorithm on minibatches with private means that adapt to the gradients' range (Liu, Kong, Jain & Oh
//! 2022, Algorithms 3 to 5).
//!
//! ```text
//! w_0 uniform on the unit sphere
//! for t = 1..T, T = floor(n / B):
//!     Lambda_t = private top eigenvalue of the first half of batch t's gradients A_i w_{t-1}         Algorithm 4
//!     g_t      = private mean of the second half's, in a range of 2 Lambda_t                         Algorithm 5
//!     w' = w_{t-1} + eta_t g_t,   w_t = w' / |w'|
//! return w_T
//! ```
//!
//! `A_i` is `x x^T` of a record ([`SubspaceEstimator::estimate`]), or any matrix
//! ([`DpPca::estimate_of_matrices`]). Records of any length are taken: nothing here needs the unit ball.
//!
//! Algorithms 4 and 5 stand in appendices E.2 and E.3, which are not in the text that was at hand. Their steps here are
//! ours: what Theorem 6.1, Lemma 6.2 and equation (14) say of them is met.
//!
//! # Guarantee
//! *Relation*: one record replaced among n, and n, T and B are public. The paper's Definition 2.3 is about one record
//! more or less. But batches are sets of positions, and removing one record moves every later record to another
//! position or batch.
//!
//! *Argument*: the batches, and the halves of each, are disjoint. A replaced record is in one half of one batch (the
//! random order does not depend on records). That half's answer is (epsilon, delta)-private given all earlier answers,
//! and every later answer is a function of it and of other records (parallel composition with adaptive choices). So the
//! run is as private as one call of Algorithm 4 or of Algorithm 5. Their files have the proofs.
//!
//! *Printed* ([`Accounting::Printed`]): each gets (epsilon/2, delta/2), and Theorem 5.1 claims the sum, for epsilon <
//! 0.9 (the Gaussian mechanism of Lemma 2.4 at epsilon/4). Because the halves are disjoint, the proof gives (epsilon/2,
//! delta/2).
//!
//! *Tight* ([`Accounting::Tight`], the default): each gets the whole budget, and Algorithm 5's histograms and mean are
//! one composed Gaussian answer with the analytic scale, for every epsilon.
//!
//! # Too few records
//! Algorithm 4 needs k = O(log(1 / (delta zeta)) / epsilon) values to bring one above its threshold, and Algorithm 5
//! needs enough gradients for its own histograms. With fewer in half a batch, the method would return its start, so it
//! refuses and names Theorem 6.1 and Lemma 6.2. If a batch still shows nothing, which is an answer of the private
//! histogram, it is skipped and counted in the diagnostics.
//!
//! # Step sizes
//! Theorem 5.1 lets `eta_t` depend on lambda_1 and the gap. [`StepSizes::Relative`] is `c_1 / (c_2 + t)` in units of
//! `1 / |g_t|`, which is already private and about `1 / lambda_1` near the end. It needs no knowledge of the law.
//! [`StepSizes::Search`] is the search that section 5 describes; its file lists the details that the paper leaves open.
//!
//! *As printed* ([`DpPca::wholly_printed`]): the proof of Theorem 5.1 applies Theorem 2.2 to the batches, so
//! `eta_t = alpha / ((lambda_1 - lambda_2)(xi + t))` with that theorem's xi, and T = n / B = (log n)^2 / c_1 of them.
//! The appendix with Eq. (67), which has the choice of eta_t, is not in the text that was at hand, and the paper gives
//! no value for c_1: here it is 1. At zeta = 0.01 xi is above 50,000 for every alpha > 1/2, and Theorem 2.2 asks for T
//! > xi, which is log n > 223. With as few steps as there are, the iterate hardly leaves its start.
//!
//! # Rank r
//! QR: gradients are d × r matrices, read as vectors of d r entries. Deflation: each component has its own part of the
//! records, and so the whole budget; its gradients are taken orthogonally to the earlier components.

mod calibration;
mod eigenvalue;
mod histogram;
mod mean;
mod search;

use nalgebra::{DMatrix, DMatrixViewMut};
use rand::rand_core::CryptoRng;

pub use self::calibration::SPREAD;

use self::calibration::Calibration;
use self::eigenvalue::private_eigenvalue;
use self::mean::{PrivateMean, mean_in_ball, mean_in_box};
use super::matrices::Matrices;
use super::oja::{RankExtension, Theorem22, restore};
use super::orthonormal::uniform_start;
use super::private_oja::permutation;
use super::{Adjacency, BaselineError, EpsilonDelta, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::Subspace;

/// Constants of the noise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accounting {
    /// The paper's, for epsilon < 0.9.
    Printed,
    /// The smallest ones that are proved here, for every epsilon.
    #[default]
    Tight,
}

/// The set to which gradients are clipped before they are averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Range {
    /// A cube by coordinates, from the top eigenvalue: Algorithms 4 and 5.
    #[default]
    Box,
    /// A ball, from mean squares: the same idea with less noise, not in the paper. Its accounting is always tight.
    Ball,
}

/// K and a of Assumption A.4, which bound the tails of gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// K.
    pub constant: f64,
    /// a: 1/2 for gradients with Gaussian tails, 1 for products of Gaussians.
    pub exponent: f64,
}

/// `eta_t`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepSizes {
    /// `c_1 / ((c_2 + t) |g_t|)`, the norm of the private gradient being the mean square of its columns'.
    Relative(f64, f64),
    /// `c_1 / (c_2 + t)`.
    Absolute(f64, f64),
    /// Section 5's search among `c_1 / (c_2 + t)`.
    Search {
        /// The most rounds. Round 1 tries one pair, round i > 1 tries 8 (i - 1) pairs.
        rounds: u32,
        /// The search ends with a round that captures less than this fraction more than the earlier rounds.
        improvement: f64,
    },
}

/// DP-PCA.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DpPca {
    /// The bound on the privacy loss.
    pub epsilon: Epsilon,
    /// The guarantee's delta, added to every probability.
    pub delta: Delta,
    /// T; `None` for [`DpPca::default_batches`], or for fewer if there are not enough records.
    pub batches: Option<usize>,
    /// zeta, the probability with which the private ranges may miss. The guarantee does not depend on it.
    pub failure: f64,
    /// The reach of a box.
    pub tail: Tail,
    /// The reach of a ball, in units of the root mean square distance of a gradient from its centre.
    pub radius: f64,
    /// The step sizes.
    pub steps: StepSizes,
    /// Box or ball.
    pub range: Range,
    /// The constants of the noise.
    pub accounting: Accounting,
    /// The extension to more than one component.
    pub extension: RankExtension,
}

/// The fewest batches with which the method runs.
const FEWEST_BATCHES: usize = 2;

impl DpPca {
    /// Algorithms 3 to 5 with tight accounting.
    ///
    /// zeta = 0.01; K = 0.3 and a = 1/2, with which a box reaches about four standard deviations and cuts a few
    /// products of Gaussians in a thousand. With a K at which nothing is cut, the noise is several times as large.
    #[must_use]
    pub fn new(epsilon: Epsilon, delta: Delta) -> Self {
        Self {
            epsilon,
            delta,
            batches: None,
            failure: 0.01,
            tail: Tail { constant: 0.3, exponent: 0.5 },
            radius: 1.5,
            steps: StepSizes::Relative(12.0, 0.0),
            range: Range::Box,
            accounting: Accounting::Tight,
            extension: RankExtension::Qr,
        }
    }

    /// Algorithms 3 to 5 with the noise of the paper's constants; K = 4 and a = 1 are those for Gaussian records
    /// (Remark 3.4).
    #[must_use]
    pub fn printed(epsilon: Epsilon, delta: Delta) -> Self {
        let tail = Tail { constant: 4.0, exponent: 1.0 };
        Self { accounting: Accounting::Printed, tail, ..Self::new(epsilon, delta) }
    }

    /// Algorithms 3 to 5 with the paper's constants, its number of batches for this many records, and its step sizes,
    /// for a law that is known.
    #[must_use]
    pub fn wholly_printed(epsilon: Epsilon, delta: Delta, records: u64, law: &Theorem22) -> Self {
        let (batches, steps) = (Some(Self::printed_batches(records)), Self::printed_steps(law));
        Self { batches, steps, ..Self::printed(epsilon, delta) }
    }

    /// `floor((log n)^2)`: T of Theorem 5.1 with c_1 = 1.
    #[must_use]
    pub fn printed_batches(records: u64) -> usize {
        libm::log(records as f64).powi(2) as usize
    }

    /// `alpha / ((lambda_1 - lambda_2)(xi + t))` of Theorem 2.2 with alpha = 1.
    #[must_use]
    pub fn printed_steps(law: &Theorem22) -> StepSizes {
        StepSizes::Absolute(1.0 / law.gap, law.offset(1.0))
    }

    /// The fewest records of one of `batches` batches with which its private ranges succeed.
    ///
    /// # Errors
    /// [`BaselineError::Privacy`] for a budget below double precision.
    pub fn smallest_batch(&self, dimension: usize, rank: Rank, batches: usize) -> Result<usize, BaselineError> {
        let (columns, _) = self.extension.split(rank);
        Ok(Calibration::new(self, (self.epsilon, self.delta), (dimension, columns), batches)?.batch)
    }

    /// Algorithms 3 to 5 with tight accounting and balls as ranges, which need less noise and fewer records than boxes.
    #[must_use]
    pub fn in_balls(epsilon: Epsilon, delta: Delta) -> Self {
        Self { range: Range::Ball, ..Self::new(epsilon, delta) }
    }

    /// `ceil(log d) + 3`. This is a small number, because each batch has its own noise; the paper's `T = O(log^2 n)` is
    /// above 100.
    #[must_use]
    pub fn default_batches(dimension: usize) -> usize {
        libm::log(dimension as f64).ceil() as usize + 3
    }

    fn printed_constants(&self) -> bool {
        self.accounting == Accounting::Printed && self.range == Range::Box
    }

    fn outside(
        &self,
        parameter: &'static str,
        value: f64,
        theorem: &'static str,
        remedy: &'static str,
    ) -> BaselineError {
        BaselineError::OutsideTheorem { method: self.name(), parameter, value, theorem, remedy }
    }

    fn check(&self) -> Result<(), BaselineError> {
        let definition = "Algorithms 3 to 5 of Liu, Kong, Jain & Oh (2022)";
        let (first, second) = match self.steps {
            StepSizes::Relative(first, second) | StepSizes::Absolute(first, second) => (first, second),
            StepSizes::Search { rounds, improvement } => (f64::from(rounds), improvement),
        };
        for (parameter, value, may_be_zero) in [
            ("K of the tail", self.tail.constant, false),
            ("the radius", self.radius, false),
            ("the step's c_1, or the search's rounds", first, false),
            ("a of the tail", self.tail.exponent, true),
            ("the step's c_2, or the search's improvement", second, true),
        ] {
            let remedy = if may_be_zero {
                "it must be a finite number of at least 0"
            } else {
                "it must be a finite number above 0"
            };
            if !(value.is_finite() && (value > 0.0 || may_be_zero && value == 0.0)) {
                return Err(self.outside(parameter, value, definition, remedy));
            }
        }
        if !(self.failure > 0.0 && self.failure < 1.0) {
            return Err(self.outside("zeta", self.failure, definition, "it must be inside (0, 1)"));
        }
        if self.printed_constants() && self.epsilon.value() >= 0.9 {
            return Err(self.outside(
                "epsilon",
                self.epsilon.value(),
                "Theorem 5.1 of Liu, Kong, Jain & Oh (2022)",
                "it must be below 0.9 with the printed constants: take those of the tight accounting, which hold for \
                    all",
            ));
        }
        Ok(())
    }

    /// How the records are split, and the noise of each batch, at `budget`.
    fn plan(&self, shape: Shape, budget: (Epsilon, Delta)) -> Result<Plan, BaselineError> {
        let (columns, runs) = self.extension.split(shape.rank);
        let wanted = self.batches.unwrap_or_else(|| Self::default_batches(shape.dimension));
        let calibration = Calibration::new(self, budget, (shape.dimension, columns), wanted.max(1))?;
        let part = shape.records as usize / runs;
        let affordable = part / calibration.batch;
        let batches = if self.batches.is_some() { wanted } else { wanted.min(affordable) };
        if affordable < batches || batches < self.batches.map_or(FEWEST_BATCHES, |_| 1) {
            return Err(self.outside(
                "the number of records",
                shape.records as f64,
                "Theorem 6.1 and Lemma 6.2 of Liu, Kong, Jain & Oh (2022), which ask for batches of the order of d \
                 log(1/delta) / epsilon and sqrt(d log(1/delta)) / epsilon records, up to logarithms and with \
                 constants of ours",
                "a batch is too small for its private range: give more records, a larger epsilon or fewer batches \
                 (at least 1), or DP-PCA, in balls, which needs fewest",
            ));
        }
        Ok(Plan { columns, part, batches, size: part / batches, calibration })
    }

    /// Estimates the leading components of the mean of any d × d matrices `A_i` (Assumption 1), which are the records:
    /// the guarantee is about one matrix replaced.
    ///
    /// # Errors
    /// As [`SubspaceEstimator::estimate`].
    pub fn estimate_of_matrices(
        &self,
        matrices: Matrices<'_>,
        rank: Rank,
        rng: &mut dyn CryptoRng,
    ) -> Result<Outcome, BaselineError> {
        rank.check(matrices.dimension())?;
        self.check()?;
        let shape = Shape { records: matrices.count() as u64, dimension: matrices.dimension(), rank };
        let (run, batches) = match self.steps {
            StepSizes::Search { rounds, improvement } => {
                search::search(self, matrices, shape, rounds, improvement, rng)?
            }
            StepSizes::Relative(numerator, offset) | StepSizes::Absolute(numerator, offset) => {
                let step = Step { numerator, offset, relative: matches!(self.steps, StepSizes::Relative(..)) };
                let plan = self.plan(shape, (self.epsilon, self.delta))?;
                (self.run(matrices, rank, &plan, step, rng)?, plan.batches)
            }
        };
        let diagnostics = vec![
            ("batches", batches as f64),
            ("skipped batches", run.skipped as f64),
            ("private scale", run.scale),
            ("noise of the private mean", run.noise),
            ("locations not seen", run.unseen as f64),
        ];
        Ok(Outcome { subspace: Subspace::new(&run.basis)?, diagnostics })
    }

    /// One estimate with the step sizes `step` from all records: Algorithm 3 on each part, orthogonally to the
    /// components found from earlier parts.
    fn run(
        &self,
        matrices: Matrices<'_>,
        rank: Rank,
        plan: &Plan,
        step: Step,
        rng: &mut dyn CryptoRng,
    ) -> Result<Run, BaselineError> {
        let order = permutation(matrices.count(), rng);
        let mut run = Run { basis: DMatrix::zeros(matrices.dimension(), 0), ..Run::default() };
        for part in order.chunks_exact(plan.part).take(rank.value() / plan.columns) {
            let mut basis = uniform_start(matrices.dimension(), plan.columns, rng);
            restore(&run.basis, &mut basis, self.name())?;
            let mut skipped = 0;
            for (index, batch) in part.chunks_exact(plan.size).take(plan.batches).enumerate() {
                let gradients = |indices: &[usize]| gradients(matrices, indices, &run.basis, &basis);
                let Some(mean) = self.private_gradient(batch, gradients, &basis, &plan.calibration, rng)? else {
                    skipped += 1;
                    continue;
                };
                (run.scale, run.noise, run.unseen) = (mean.scale, mean.noise, run.unseen + mean.unseen);
                basis += &mean.value * step.size(index + 1, &mean.value);
                restore(&run.basis, &mut basis, self.name())?;
            }
            if skipped == plan.batches {
                let what = "no batch showed its range: the gradients' spread differs too much; give more records";
                return Err(BaselineError::Failed { method: self.name(), what });
            }
            run.skipped += skipped;
            run.basis.extend(basis.iter().copied());
        }
        Ok(run)
    }

    /// Lines 3 and 4 of Algorithm 3; `None` where the private range shows nothing.
    fn private_gradient(
        &self,
        batch: &[usize],
        gradients: impl Fn(&[usize]) -> DMatrix<f64>,
        basis: &DMatrix<f64>,
        calibration: &Calibration,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<PrivateMean>, BaselineError> {
        match self.range {
            Range::Box => {
                let (first, second) = batch.split_at(batch.len() / 2);
                let scale = private_eigenvalue(&gradients(first), self.accounting, calibration, rng)?;
                Ok(scale.map(|scale| mean_in_box(gradients(second), basis.ncols(), scale, self, calibration, rng)))
            }
            Range::Ball => Ok(mean_in_ball(batch, gradients, basis, self.radius, calibration, rng)),
        }
    }
}

/// How the records are split.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// The number of columns iterated together.
    columns: usize,
    /// The number of records of one run.
    part: usize,
    batches: usize,
    /// B.
    size: usize,
    calibration: Calibration,
}

/// The result of one estimate. Diagnostics are those of the last batch, or sums.
#[derive(Clone, Debug, Default)]
struct Run {
    basis: DMatrix<f64>,
    scale: f64,
    noise: f64,
    skipped: usize,
    unseen: usize,
}

/// `c_1 / (c_2 + t)`, in units of the private gradient or not.
#[derive(Clone, Copy, Debug)]
struct Step {
    numerator: f64,
    offset: f64,
    relative: bool,
}

impl Step {
    fn size(self, step: usize, gradient: &DMatrix<f64>) -> f64 {
        let size = self.numerator / (self.offset + step as f64);
        let norm = gradient.norm() / (gradient.ncols() as f64).sqrt();
        if self.relative && norm > 0.0 { size / norm } else { size }
    }
}

/// `(I - F F^T) A_i W` of the matrices at `indices`, one per column, the columns of each one under the other.
fn gradients(matrices: Matrices<'_>, indices: &[usize], found: &DMatrix<f64>, basis: &DMatrix<f64>) -> DMatrix<f64> {
    let (rows, columns) = basis.shape();
    let mut all = DMatrix::zeros(rows * columns, indices.len());
    for (mut gradient, &index) in all.column_iter_mut().zip(indices) {
        let mut entries = DMatrixViewMut::from_slice(gradient.as_mut_slice(), rows, columns);
        matrices.gradient(index, basis).add_to(entries.as_view_mut(), 1.0);
        let inside = found.tr_mul(&entries);
        entries.gemm(-1.0, found, &inside, 1.0);
        // A record may be so long that its gradient is not a number. A failure of the whole answer would reveal it.
        if !gradient.iter().all(|value| value.is_finite()) {
            gradient.fill(0.0);
        }
    }
    all
}

impl SubspaceEstimator for DpPca {
    fn name(&self) -> &'static str {
        match (self.range, self.accounting) {
            (Range::Box, Accounting::Tight) => "DP-PCA",
            (Range::Box, Accounting::Printed) => "DP-PCA, printed constants",
            (Range::Ball, _) => "DP-PCA, in balls",
        }
    }

    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        self.check()?;
        match self.steps {
            StepSizes::Search { rounds, .. } => search::check(self, shape, rounds)?,
            StepSizes::Relative(..) | StepSizes::Absolute(..) => {
                self.plan(shape, (self.epsilon, self.delta))?;
            }
        }
        let claimed = EpsilonDelta::approximate(self.epsilon, self.delta);
        let (proved, argument) = match self.steps {
            StepSizes::Search { .. } => (
                claimed,
                "each candidate's run and its evaluation have shares of the budget that add up to it (basic \
                    composition)",
            ),
            _ if self.printed_constants() => (
                EpsilonDelta::approximate(
                    Epsilon::new(self.epsilon.value() / 2.0)?,
                    Delta::new(self.delta.value() / 2.0)?,
                ),
                "halves of disjoint batches: a record is in one answer of half the budget, where the paper adds up two",
            ),
            _ => (
                claimed,
                "parts of disjoint batches: a record is in one private histogram, or in one composed Gaussian answer",
            ),
        };
        Ok(Some(MethodGuarantee { claimed, proved: Some(proved), adjacency: Adjacency::ReplaceOne, argument }))
    }

    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        self.estimate_of_matrices(Matrices::of_records(sample.columns(self.name())?), rank, rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn method(range: Range) -> DpPca {
        let new = DpPca::new(Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        DpPca { range, ..new }
    }

    fn shape(records: u64, rank: usize) -> Shape {
        Shape { records, dimension: 10, rank: Rank::new(rank).unwrap() }
    }

    #[test]
    fn batches_too_small_for_their_range_are_refused_with_the_theorem() {
        let message = method(Range::Box).guarantee(shape(500, 1)).unwrap_err().to_string();
        assert!(message.contains("the number of records is 500, outside Theorem 6.1 and Lemma 6.2"), "{message}");
        let many = DpPca { batches: Some(1000), ..method(Range::Ball) };
        assert!(many.guarantee(shape(10_000, 1)).is_err());
        assert!(method(Range::Ball).guarantee(shape(10_000, 1)).is_ok());
    }

    #[test]
    fn the_printed_constants_are_for_epsilon_below_0_9_and_give_twice_what_they_claim() {
        let printed = |epsilon| DpPca::printed(Epsilon::new(epsilon).unwrap(), Delta::new(1e-6).unwrap());
        let message = printed(0.9).guarantee(shape(10_000_000, 1)).unwrap_err().to_string();
        assert!(message.contains("epsilon is 0.9, outside Theorem 5.1"), "{message}");
        let guarantee = printed(0.8).guarantee(shape(10_000_000, 1)).unwrap().unwrap();
        assert_eq!(guarantee.proved.unwrap().epsilon.value(), 0.4);
        assert_eq!(guarantee.claimed.epsilon.value(), 0.8);
    }

    #[test]
    fn the_printed_steps_are_those_of_theorem_2_2_and_their_number_that_of_theorem_5_1() {
        let (epsilon, delta) = (Epsilon::new(0.8).unwrap(), Delta::new(1e-6).unwrap());
        let law = Theorem22 { largest: 1.0, gap: 0.5, bound: 0.0, variance: 0.0, failure: 0.01 };
        let printed = DpPca::wholly_printed(epsilon, delta, 1_000_000, &law);
        // (ln 10^6)^2 = 190.9.
        assert_eq!(printed.batches, Some(190));
        let StepSizes::Absolute(numerator, offset) = printed.steps else { panic!("{:?}", printed.steps) };
        // kappa^2 = 4, and ln(1 + 10^-4) is 10^-4 up to half of its square.
        assert!(numerator == 2.0 && (offset / 8e5 - 1.0).abs() < 1e-4, "{offset}");
        // A batch has 5,263 records, which is too few for its private range.
        let needed = printed.smallest_batch(10, Rank::new(1).unwrap(), 190).unwrap();
        assert!(needed > 5_263, "{needed}");
        let message = printed.guarantee(shape(1_000_000, 1)).unwrap_err().to_string();
        assert!(message.contains("the number of records is 1000000, outside Theorem 6.1"), "{message}");
        let enough = 400 * needed as u64;
        assert!(DpPca::wholly_printed(epsilon, delta, enough, &law).guarantee(shape(enough, 1)).is_ok());
    }

    #[test]
    fn gradients_are_the_matrices_times_the_iterate_outside_what_is_found() {
        let records = DMatrix::from_column_slice(3, 2, &[1.0, 2.0, 3.0, -1.0, 0.5, 2.0]);
        let basis = DMatrix::from_column_slice(3, 2, &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        let found = DMatrix::from_column_slice(3, 1, &[1.0, 0.0, 0.0]);
        let all = gradients(Matrices::of_records(records.as_view()), &[1], &found, &basis);
        // x = (-1, 1/2, 2) without its first entry, times 1/2 and times 2.
        assert_eq!(all.as_slice(), [0.0, 0.25, 1.0, 0.0, 1.0, 4.0]);
    }
}
