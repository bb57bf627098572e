//! Private Oja: Oja's algorithm with clipped gradients, Gaussian noise and amplification by shuffling (Liu, Kong, Jain
//! & Oh 2022, Algorithm 2).
//!
//! ```text
//! permute the records at random; w_0 uniform on the unit sphere
//! alpha = C' log(n / delta) / (epsilon sqrt(n)),   beta = C lambda_1 sqrt(d) (K gamma log^a(n d / zeta) + 1)
//! for t = 1..n:  w' = w_{t-1} + eta_t clip_beta(A_t w_{t-1}) + 2 eta_t beta alpha z_t,   z_t ~ N(0, I_d)
//!                w_t = w' / |w'|                                        clip_beta(x) = x min(1, beta / |x|)
//! return w_n
//! ```
//!
//! # Guarantee
//! *Relation*: one record replaced among n. The paper's Definition 2.3 is about one record more or less. But the
//! shuffling theorem that it uses (Feldman, McMillan & Talwar 2021, Theorem III.1) is about replacement, and n steps
//! for n records also fix n.
//!
//! *One step*: two clipped gradients are at most 2 beta apart and the noise has standard deviation 2 beta alpha, so
//! step t is a local randomizer with the privacy of Gaussian noise of standard deviation alpha at sensitivity 1, chosen
//! by the steps before it. This holds for every record, because clipping bounds the gradient, not the law of the
//! records.
//!
//! *Shuffled* ([`Amplification::Shuffling`]): Theorem III.1 holds for local randomizers that are chosen adaptively,
//! over a random permutation; approximate ones are covered as argued in
//! [`amplification`](ldp_pca::privacy::amplification).
//!
//! - C' and the constant of the range `epsilon = O(sqrt(log(n / delta) / n))` are not given in the paper.
//!   [`Multiplier::Proved`] takes the smallest alpha for which the crate's accounting proves (epsilon, delta);
//!   [`Multiplier::Printed`] takes a C' and reports what that proves.
//! - The range is enforced: epsilon may be at most what Theorem III.1 gives for a local epsilon of 1
//!   ([`PrivateOja::largest_epsilon`]), about `6 sqrt(log(4 / delta) / n)`. Up to there amplification has the
//!   square-root form that Lemma 3.1 is about.
//!
//! *Not shuffled* ([`Amplification::None`], ours): every record is read in only one step, so one replaced record
//! changes one Gaussian answer of sensitivity 2 beta, and all later steps are functions of it and of other records. The
//! analytic Gaussian scale at sensitivity 1 is then enough for the whole run, and for every epsilon: not
//! `O(log(n/delta)/epsilon)`, as section 3 of the paper says of a run without shuffling, but
//! `O(sqrt(log(1/delta))/epsilon)`.
//!
//! *Minibatches* ([`Amplification::Minibatches`], equation (7)): a step averages the clipped gradients of
//! `B = floor(n / T)` records that no other step reads (with deflation, n is that of a component's part), in
//! `floor(n / B)` steps, which are T or a few more,
//!
//! ```text
//! w' = w_{t-1} + eta_t / B sum clip_beta(A_i w_{t-1}) + 2 eta_t beta alpha / B z_t,   T = O(log^2 n)
//! ```
//!
//! so a replaced record changes one Gaussian answer of sensitivity 2 beta / B, as above: the same alpha is enough. The
//! paper composes T answers, "with the serial composition (Lemma B.3)", as if every step read every record, and gives
//! no constant. [`Multiplier::Composed`] does so for Gaussian answers, where it costs a factor of sqrt(T).
//!
//! The guarantee is about the subspace, not about the diagnostics, and about real numbers: rounding, of the noise and
//! of a batch's sum, is left out, as for all methods that are compared here.
//!
//! # Rank r
//! QR: the gradient is the d × r matrix `A_t W`, clipped and perturbed in Frobenius norm. Deflation: each component has
//! its own part of the permuted records. A replaced record is in one of the parts, so each part has the whole budget.
//! Only the records of the part count for amplification.

use nalgebra::DMatrix;
use rand::RngExt;
use rand::rand_core::CryptoRng;
use rand_distr::{Distribution, StandardNormal};

use super::matrices::Matrices;
use super::oja::{RankExtension, restore};
use super::orthonormal::uniform_start;
use super::{Adjacency, BaselineError, EpsilonDelta, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator};
use ldp_pca::internal::privacy::calibration::{analytic_gaussian_sigma, gaussian_rho};
use ldp_pca::internal::privacy::{TotalVariation, keeps};
use ldp_pca::privacy::amplification::amplify;
use ldp_pca::privacy::composition::PrivacyLoss;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::Subspace;

const NAME: &str = "Private Oja";

/// The theorem behind the range of epsilon.
const THEOREM: &str = "Lemma 3.1 of Liu, Kong, Jain & Oh (2022; amplification by shuffling, Feldman, McMillan & Talwar \
    2021, Theorem III.1, at a local epsilon of at most 1)";

/// Whether the guarantee uses the random permutation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Amplification {
    /// As printed, with the range of epsilon that amplification allows.
    #[default]
    Shuffling,
    /// Every step is private on its own: any epsilon.
    None,
    /// Equation (7) with T minibatches. Every step is private on its own: any epsilon.
    Minibatches(usize),
}

/// alpha, the noise in units of twice the clipping threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Multiplier {
    /// The smallest for which the guarantee is proved.
    #[default]
    Proved,
    /// `C' log(n / delta) / (epsilon sqrt(n))` with this C'; only shuffled.
    Printed(f64),
    /// T times the privacy loss of one step, as section 4 counts it: sqrt(T) times the proved one; only in minibatches.
    Composed,
}

/// Private Oja.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrivateOja {
    /// The bound on the privacy loss.
    pub epsilon: Epsilon,
    /// The guarantee's delta, added to every probability.
    pub delta: Delta,
    /// Whether shuffling amplifies the guarantee.
    pub amplification: Amplification,
    /// The noise.
    pub multiplier: Multiplier,
    /// beta. 1 clips nothing in the unit ball; [`PrivateOja::printed_threshold`] for a law that is known.
    pub threshold: f64,
    /// The value that the step sizes use for `lambda_r - lambda_{r+1}`, in units of the threshold: a guess, not from
    /// the records.
    pub gap: f64,
    /// The extension to more than one component.
    pub extension: RankExtension,
}

impl PrivateOja {
    /// Algorithm 2 with the smallest noise that is proved, for records in the unit ball with a gap of about 1/4.
    #[must_use]
    pub fn new(epsilon: Epsilon, delta: Delta) -> Self {
        Self {
            epsilon,
            delta,
            amplification: Amplification::Shuffling,
            multiplier: Multiplier::Proved,
            threshold: 1.0,
            gap: 0.25,
            extension: RankExtension::Qr,
        }
    }

    /// Algorithm 2 without amplification, for any epsilon; otherwise as [`PrivateOja::new`].
    #[must_use]
    pub fn unshuffled(epsilon: Epsilon, delta: Delta) -> Self {
        Self { amplification: Amplification::None, ..Self::new(epsilon, delta) }
    }

    /// Equation (7) with T minibatches, for any epsilon.
    #[must_use]
    pub fn in_minibatches(epsilon: Epsilon, delta: Delta, batches: usize) -> Self {
        Self { amplification: Amplification::Minibatches(batches), ..Self::new(epsilon, delta) }
    }

    /// `lambda_1 sqrt(d) (K gamma log^a(n d / zeta) + 1)`: beta of Lemma 3.2 with C = 1.
    #[must_use]
    pub fn printed_threshold(shape: Shape, largest: f64, tail: (f64, f64), gamma: f64, failure: f64) -> f64 {
        let logarithm = libm::log(shape.records as f64 * shape.dimension as f64 / failure);
        largest * (shape.dimension as f64).sqrt() * (tail.0 * gamma * libm::pow(logarithm, tail.1) + 1.0)
    }

    /// The largest epsilon within Lemma 3.1's range for `records` records; `None` where there are too few for any.
    #[must_use]
    pub fn largest_epsilon(records: u64, delta: Delta) -> Option<Epsilon> {
        closed_form_epsilon(Epsilon::new(1.0).ok()?, records, delta)
    }

    /// The number of records from which one component is computed.
    fn part(&self, shape: Shape) -> u64 {
        shape.records / self.extension.split(shape.rank).1 as u64
    }

    fn outside(parameter: &'static str, value: f64, remedy: &'static str) -> BaselineError {
        BaselineError::OutsideTheorem { method: NAME, parameter, value, theorem: THEOREM, remedy }
    }

    fn check(&self, shape: Shape) -> Result<(), BaselineError> {
        for (parameter, value) in [("the clipping threshold", self.threshold), ("the gap", self.gap)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Self::outside(parameter, value, "it must be a finite number above 0"));
            }
        }
        if self.part(shape) == 0 {
            let remedy = "deflation needs at least one record for each component";
            return Err(Self::outside("the number of records", shape.records as f64, remedy));
        }
        match self.amplification {
            Amplification::Shuffling => {}
            Amplification::None => return Ok(()),
            Amplification::Minibatches(batches) if batches > 0 && batches as u64 <= self.part(shape) => return Ok(()),
            Amplification::Minibatches(batches) => {
                let remedy = "there must be at least one, and a record for each";
                return Err(Self::outside("the number of minibatches", batches as f64, remedy));
            }
        }
        let Some(largest) = Self::largest_epsilon(self.part(shape), self.delta) else {
            let remedy = "a local epsilon of 1 asks for n >= 16 e log(4/delta): give more records, or take Private \
                Oja, not shuffled";
            return Err(Self::outside("the number of records", shape.records as f64, remedy));
        };
        if self.epsilon > largest {
            let remedy = "it must be O(sqrt(log(n/delta)/n)): lower it, or take DP-PCA, or Private Oja, not shuffled";
            return Err(Self::outside("epsilon", self.epsilon.value(), remedy));
        }
        Ok(())
    }

    /// alpha.
    ///
    /// # Errors
    /// [`BaselineError::OutsideTheorem`] outside the range of epsilon.
    pub fn noise_multiplier(&self, shape: Shape) -> Result<f64, BaselineError> {
        self.check(shape)?;
        let alone = analytic_gaussian_sigma(self.epsilon, self.delta, 1.0)?;
        match (self.amplification, self.multiplier) {
            (Amplification::Shuffling, _) => {}
            (Amplification::Minibatches(batches), Multiplier::Composed) => return Ok(alone * (batches as f64).sqrt()),
            (Amplification::None | Amplification::Minibatches(_), _) => return Ok(alone),
        }
        let part = self.part(shape);
        if let Multiplier::Printed(constant) = self.multiplier {
            if !(constant.is_finite() && constant > 0.0) {
                return Err(Self::outside("C'", constant, "it must be a finite number above 0"));
            }
            let n = part as f64;
            return Ok(constant * libm::log(n / self.delta.value()) / (self.epsilon.value() * n.sqrt()));
        }
        let enough =
            |alpha: f64| -> Result<bool, BaselineError> { Ok(keeps(loss(alpha)?, part, self.epsilon, self.delta)?) };
        // The scale without amplification suffices, and no scale below a thousandth of it does.
        let (mut low, mut high) = (1e-3 * alone, alone);
        for _ in 0..30 {
            let middle = 0.5 * (low + high);
            if enough(middle)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(high)
    }

    /// Estimates the leading components of the mean of any d × d matrices `A_t` (Assumption 1), which are the records:
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
        let dimension = matrices.dimension();
        rank.check(dimension)?;
        let shape = Shape { records: matrices.count() as u64, dimension, rank };
        let multiplier = self.noise_multiplier(shape)?;
        let order = permutation(matrices.count(), rng);
        let batch = match self.amplification {
            Amplification::Minibatches(batches) => self.part(shape) as usize / batches,
            Amplification::Shuffling | Amplification::None => 1,
        };
        let run = Run {
            threshold: self.threshold,
            batch,
            noise: 2.0 * self.threshold * multiplier / batch as f64,
            step: self.step(multiplier, shape),
        };
        let (together, times) = self.extension.split(rank);
        let mut found = DMatrix::zeros(dimension, 0);
        let mut clipped = 0;
        for part in order.chunks_exact(self.part(shape) as usize).take(times) {
            let mut basis = uniform_start(dimension, together, rng);
            clipped += run.pass(matrices, part, &found, &mut basis, rng)?;
            found.extend(basis.iter().copied());
        }
        let diagnostics = vec![("noise multiplier", multiplier), ("clipped records", f64::from(clipped))];
        Ok(Outcome { subspace: Subspace::new(&found)?, diagnostics })
    }

    /// `eta_t = 2 / (gap (xi + t))`: Theorem 2.2 with alpha = 2 for the matrices `A_t + 2 beta alpha G_t` of Theorem
    /// 3.3's proof, whose `V + 1` is about `1 + d (2 beta alpha / gap)^2`. The theorem's factor
    /// `20 / log(1 + zeta / 100)` is left out: only its proof needs it. xi is at most an eighth of the records, because
    /// a run of few records would otherwise stay at its start. For the same reason the few steps of minibatches are
    /// `12 / (gap t)`, as long as those of DP-PCA.
    fn step(&self, multiplier: f64, shape: Shape) -> (f64, f64) {
        let gap = self.gap * self.threshold;
        if let Amplification::Minibatches(_) = self.amplification {
            return (12.0 / gap, 0.0);
        }
        let noise = 2.0 * self.threshold * multiplier / gap;
        let offset = 4.0 / self.gap + 4.0 * shape.dimension as f64 * noise * noise;
        (2.0 / gap, offset.min(self.part(shape) as f64 / 8.0))
    }
}

fn loss(alpha: f64) -> Result<PrivacyLoss, BaselineError> {
    Ok(PrivacyLoss::Gaussian { rho: gaussian_rho(alpha, 1.0)?, total_variation: TotalVariation::ZERO })
}

impl SubspaceEstimator for PrivateOja {
    fn name(&self) -> &'static str {
        match self.amplification {
            Amplification::Shuffling => NAME,
            Amplification::None => "Private Oja, not shuffled",
            Amplification::Minibatches(_) => "Private Oja, in minibatches",
        }
    }

    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        let claimed = EpsilonDelta::approximate(self.epsilon, self.delta);
        let alpha = self.noise_multiplier(shape)?;
        let (proved, argument) = match (self.amplification, self.multiplier) {
            (Amplification::None, _) => (
                Some(claimed),
                "each record is read in one Gaussian step of clipped sensitivity, and later steps are functions of it",
            ),
            (Amplification::Minibatches(_), _) => (
                Some(claimed),
                "minibatches are disjoint: each record is in one Gaussian answer of clipped sensitivity, and later \
                 steps are functions of it",
            ),
            (Amplification::Shuffling, Multiplier::Proved | Multiplier::Composed) => (
                Some(claimed),
                "n clipped Gaussian steps over a random permutation, amplified by shuffling (Feldman, McMillan & \
                 Talwar 2021, Theorem III.1); the noise is the smallest that this proves",
            ),
            (Amplification::Shuffling, Multiplier::Printed(_)) => (
                amplify(loss(alpha)?, self.part(shape), self.delta)
                    .ok()
                    .map(|batch| EpsilonDelta::approximate(batch.epsilon, batch.delta)),
                "the paper leaves the constant of its noise open; what this one proves by amplification by shuffling \
                 is computed",
            ),
        };
        Ok(Some(MethodGuarantee { claimed, proved, adjacency: Adjacency::ReplaceOne, argument }))
    }

    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        self.estimate_of_matrices(Matrices::of_records(sample.columns(self.name())?), rank, rng)
    }
}

/// A uniformly random order of `count` records (Fisher & Yates).
pub(super) fn permutation(count: usize, rng: &mut dyn CryptoRng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, rng.random_range(0..=last));
    }
    order
}

/// The common parameters of all steps of one run.
struct Run {
    threshold: f64,
    /// B, the number of records of a step.
    batch: usize,
    /// Standard deviation of the noise on the entries of a step's mean gradient.
    noise: f64,
    /// c_1 and c_2 of `eta_t = c_1 / (c_2 + t)`.
    step: (f64, f64),
}

impl Run {
    /// One pass over the matrices at `order`, orthogonally to `found`; the number of clipped gradients.
    fn pass(
        &self,
        matrices: Matrices<'_>,
        order: &[usize],
        found: &DMatrix<f64>,
        basis: &mut DMatrix<f64>,
        rng: &mut dyn CryptoRng,
    ) -> Result<u32, BaselineError> {
        restore(found, basis, NAME)?;
        let mut clipped = 0;
        let mut mean = basis.clone();
        for (step, batch) in order.chunks_exact(self.batch).enumerate() {
            mean.fill(0.0);
            for &index in batch {
                let gradient = matrices.gradient(index, basis);
                let norm = gradient.norm();
                let factor = if norm > self.threshold { self.threshold / norm } else { 1.0 };
                clipped += u32::from(factor < 1.0);
                // A gradient whose norm overflows counts as 0, so that a failed answer does not reveal it.
                // A subnormal weight is rounded so coarsely that the gradient could be longer than the threshold.
                let weight = factor / self.batch as f64;
                if norm.is_finite() && weight.is_normal() {
                    gradient.add_to(mean.as_view_mut(), weight);
                }
            }
            let size = self.step.0 / (self.step.1 + (step + 1) as f64);
            for (entry, gradient) in basis.iter_mut().zip(mean.iter()) {
                let noise: f64 = StandardNormal.sample(rng);
                *entry += size * (gradient + self.noise * noise);
            }
            restore(found, basis, NAME)?;
        }
        Ok(clipped)
    }
}

/// The closed form for every `local`-private randomizer, or `None` where its condition
/// `eps0 <= log(n / (16 log(4 / delta)))` fails.
///
/// ```text
/// epsilon = log(1 + (1 - e^-eps0) a / (1 + e^-eps0 / (1 + a))),   a = 8 sqrt(e^eps0 log(4 / delta) / n) + 8 e^eps0 / n
/// ```
///
/// as in the authors' own program (Feldman, McMillan & Talwar 2021; repository `apple/ml-shuffling-amplification`).
/// It is never below the printed Theorem III.1, which has `(1 - e^-eps0) / (1 + e^-eps0)` before a and asks for
/// `log(2 / delta)` only. Rounded up. Neighbours differ in one record, and the reports come in random order.
fn closed_form_epsilon(local: Epsilon, reports: u64, delta: Delta) -> Option<Epsilon> {
    const ROUNDING: f64 = 1e-13;
    let (n, logarithm) = (reports as f64, libm::log(4.0 / delta.value()));
    // Without reports the right side is -inf.
    if local.value() > libm::log(n / (16.0 * logarithm) * (1.0 - ROUNDING)) {
        return None;
    }
    let up = libm::exp(local.value());
    let a = 8.0 * (up * logarithm / n).sqrt() + 8.0 * up / n;
    let factor = -libm::expm1(-local.value()) / (1.0 + libm::exp(-local.value()) / (1.0 + a));
    Epsilon::new((libm::log1p(factor * a) * (1.0 + ROUNDING)).min(local.value())).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::*;

    fn at(epsilon: f64, batches: usize) -> PrivateOja {
        PrivateOja::in_minibatches(Epsilon::new(epsilon).unwrap(), Delta::new(1e-6).unwrap(), batches)
    }

    /// The cases are inputs and the two doubles around the true result, 0 where the condition fails; and the example
    /// that the authors publish.
    #[test]
    fn the_closed_form_is_that_of_a_hundred_digits_or_a_little_more() {
        let of = |local, reports, delta| {
            let (local, delta) = (Epsilon::new(local).unwrap(), Delta::new(delta).unwrap());
            closed_form_epsilon(local, reports, delta).map(Epsilon::value)
        };
        let margins = include_str!("../../../../tests/vectors/accounting/margins.json");
        let margins: HashMap<String, Vec<Vec<f64>>> = serde_json::from_str(margins).unwrap();
        for case in &margins["closed_form"] {
            let &[local, reports, delta, _, truth] = case.as_slice() else { panic!("{case:?}") };
            match of(local, reports as u64, delta) {
                Some(found) => assert!(found >= truth && found <= truth * (1.0 + 3e-13), "{case:?}: {found}"),
                None => assert_eq!(truth, 0.0, "{case:?}"),
            }
        }
        // At the next double above the largest local epsilon nothing is proved; a little below it, something is.
        for case in &margins["closed_form_limit"] {
            let &[reports, delta, down, up] = case.as_slice() else { panic!("{case:?}") };
            assert_eq!(of(up.max(down.next_up()), reports as u64, delta), None, "{case:?}");
            let below = down - 3e-13 * (1.0 + down);
            assert!(below <= 0.0 || of(below, reports as u64, delta).is_some(), "{case:?}");
        }
        let published = include_str!("../../../../tests/vectors/accounting/published.json");
        let published: serde_json::Value = serde_json::from_str(published).unwrap();
        let number = |key: &str| published[key].as_f64().unwrap();
        let found = of(number("epsilon0"), number("reports") as u64, number("delta")).unwrap();
        assert!((-1e-15..1e-12).contains(&(found / number("closed_form") - 1.0)), "{found}");
    }

    #[test]
    fn minibatches_have_the_noise_of_one_answer_and_composition_that_of_t() {
        let shape = Shape { records: 1000, dimension: 3, rank: Rank::new(1).unwrap() };
        let one = analytic_gaussian_sigma(Epsilon::new(3.0).unwrap(), Delta::new(1e-6).unwrap(), 1.0).unwrap();
        assert_eq!(at(3.0, 16).noise_multiplier(shape).unwrap(), one);
        let composed = PrivateOja { multiplier: Multiplier::Composed, ..at(3.0, 16) };
        assert_eq!(composed.noise_multiplier(shape).unwrap(), 4.0 * one);
        for batches in [0, 1001] {
            let message = at(3.0, batches).guarantee(shape).unwrap_err().to_string();
            assert!(message.contains("the number of minibatches"), "{message}");
        }
        assert!(at(3.0, 1000).guarantee(shape).unwrap().unwrap().proved.is_some());
    }

    /// A clip whose weight is subnormal could be longer than the threshold: such gradients count as zero.
    #[test]
    fn a_gradient_whose_weight_cannot_be_represented_is_left_out() {
        let records = DMatrix::from_column_slice(2, 2, &[9.0e151, 4.49e153, 0.0, 0.0]);
        let run = Run { threshold: 1e-15, batch: 2, noise: 0.0, step: (1e15, 0.0) };
        let mut basis = DMatrix::from_column_slice(2, 1, &[1.0, 0.0]);
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        run.pass(Matrices::of_records(records.as_view()), &[0, 1], &DMatrix::zeros(2, 0), &mut basis, &mut rng)
            .unwrap();
        assert_eq!(basis, DMatrix::from_column_slice(2, 1, &[1.0, 0.0]));
    }

    /// Without noise to speak of, the steps go to the component, and a gradient beyond the threshold is cut to it.
    #[test]
    fn a_step_is_the_mean_of_clipped_gradients() {
        let records = DMatrix::from_column_slice(2, 4, &[2.0, 0.0, 0.5, 0.0, 0.0, 1.0, 0.0, 0.0]);
        let run = Run { threshold: 1.0, batch: 4, noise: 0.0, step: (1.0, 0.0) };
        let mut basis = DMatrix::from_column_slice(2, 1, &[0.6, 0.8]);
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        let clipped = run
            .pass(Matrices::of_records(records.as_view()), &[0, 1, 2, 3], &DMatrix::zeros(2, 0), &mut basis, &mut rng)
            .unwrap();
        // Gradients (2.4, 0), cut to (1, 0), then (0.15, 0), (0, 0.8) and 0.
        let expected = nalgebra::Vector2::new(0.6 + 1.15 / 4.0, 0.8 + 0.2).normalize();
        assert_eq!(clipped, 1);
        assert!((basis - expected).amax() < 1e-15);
    }
}
