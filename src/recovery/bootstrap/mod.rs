//! A parametric bootstrap with the known noise: how far the recovered components may be from the true ones.
//!
//! The estimate that another collection would have given can be drawn ([`NoiseLaw::draw_with_rng`]), since nothing but
//! the true second-moment matrix is unknown, and that is nearly known: the components found, the true eigenvalues that
//! belong to the observed ones ([`NoiseBulk::eigenvalue`]), and an isotropic rest. Every replicate
//!
//! 1. draws an estimate from this model and measures how far its eigenvalues are off. The model's eigenvalues may be
//!    off as far in the other direction (the *basic* bootstrap of Davison & Hinkley 1997, section 5.2). An eigenvalue
//!    that ends up inside the noise says only that the true one is below the threshold: it is drawn uniformly between
//!    bulk and threshold;
//! 2. draws an estimate from the model with the eigenvalues so corrected, recovers its components by the same method,
//!    and measures `||sin Theta||_F^2` between them and the model's, and the share of the model's structure that they
//!    find.
//!
//! The quantiles of these errors are an interval for the error of the components reported (a prediction interval: that
//! error is a random number that the collection has already drawn). Without the first step the interval would ignore
//! the uncertainty of the eigenvalues, which matters as much as that of the directions.
//!
//! Of a task with centring the model has the estimated mean too, shortened by the bias of its noise. A draw is then one
//! of the second moments of the extended records, centred as the estimate is.
//!
//! *Assumptions*: those of [`NoiseLaw`] and [`Denoising`](super::denoise::Denoising).
//!
//! A sparse method is biased by its penalty where the truth is not sparse, and a model made of its own answer would
//! certify that it is. So every replicate of a sparse method is also drawn from a second model, made of the plain
//! components of the same estimate, which is as dense as the noise makes it. The truth may be either, or between them:
//! the intervals contain those of both models.

mod model;

use core::iter;
use core::ops::ControlFlow;

use nalgebra::{DMatrix, DVector};
use rand::Rng;
use serde::Serialize;

pub(super) use self::model::Model;
use super::{Components, FantopeSolution, RecoveryError};
use crate::law::{NoiseError, NoiseLaw, SpikedCovariance};
use crate::linalg::{sort_ascending, sort_descending};
use crate::subspace::{Subspace, SubspaceError, share_of_structure};

/// The fewest replicates that are accepted: with fewer, not even a 90 % interval has a replicate outside.
pub const FEWEST_REPLICATES: usize = 20;

/// The result of a recovery method for an estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct SubspaceEstimate {
    /// Orthonormal components, `d × k`, column-major, most variance first.
    pub components: DMatrix<f64>,
    /// The rows that the method allows to be nonzero, ascending from 0; all of them for a dense method.
    pub support: Vec<usize>,
}

impl From<Components> for SubspaceEstimate {
    fn from(components: Components) -> Self {
        Self { support: (0..components.vectors.nrows()).collect(), components: components.vectors }
    }
}

impl From<FantopeSolution> for SubspaceEstimate {
    fn from(solution: FantopeSolution) -> Self {
        Self { components: solution.components, support: solution.support }
    }
}

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Interval {
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

/// The results of the replicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Bootstrap {
    /// One by one, in the order of the components.
    pub components: Vec<ComponentConfidence>,
    /// For every feature, the share of replicates that have it in the support (d numbers).
    pub support_stability: Vec<f64>,
    /// Root mean squared error of every loading (d × k), each replicate's component having the sign that fits better.
    /// Components of nearly equal variance turn into each other, and their loadings have large errors even where the
    /// subspace is certain.
    pub loading_errors: DMatrix<f64>,
    /// `||sin Theta||_F^2` of the replicates, ascending.
    errors: Vec<f64>,
    /// `||sin Theta||_F^2` of the replicates, ascending, where every component that cannot be distinguished from noise
    /// counts in full.
    largest_errors: Vec<f64>,
    /// The shares of the structure that the replicates find, ascending; none of those without structure. Nothing is
    /// found of a component that cannot be distinguished from noise.
    least_shares: Vec<f64>,
    /// The same, where that component is found as it is, or is no structure at all, whichever gives the larger share.
    most_shares: Vec<f64>,
}

/// The results of the replicates for one component.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentConfidence {
    /// Estimate of the true eigenvalue, corrected for the noise; the threshold where the observed one is within the
    /// noise. In the units of the covariance.
    pub eigenvalue: f64,
    /// Whether the observed eigenvalue is above what noise alone reaches in 95 % of all collections, on the support
    /// found (by a union bound over all supports of its size). If not, the component may be only noise, and the
    /// intervals reach up to no knowledge of it.
    pub distinguishable: bool,
    /// `1 - ||V^T v||^2` of the replicates, ascending.
    errors: Vec<f64>,
}

/// Bootstraps the components that `estimator` recovers from `estimate` (d × d), whose noise is `law`: from the model
/// that these components give, and from that of the `second` ones, if any. The population has the mean beside the law
/// (d numbers, or none for zero), where that is about an estimated one.
///
/// `estimator`, whose rank is always the same, is called once with the estimate itself and for each model once for each
/// of the `replicates`; 200 give a 95 % interval whose level is right to 1.5 percentage points, 1,000 to 0.7.
/// `progress` is called after each; `Break` ends the bootstrap with those done so far, as an estimator does that
/// returns nothing.
///
/// The intervals are for the error from the components of the population. They assume that the records are an
/// independent sample of it, that it is isotropic except for a few components, and many features, as
/// [`Denoising`](super::denoise::Denoising) does. For a sparse method they do not contain the bias of the penalty, and
/// also assume that the truth is as sparse as the answer.
///
/// # Errors
/// [`BootstrapError::Replicates`] for fewer than [`FEWEST_REPLICATES`], [`BootstrapError::Cancelled`] when `progress`
/// breaks before so many are done, [`BootstrapError::FullRank`] when as many components as features are recovered, and
/// what the estimator refuses.
pub fn bootstrap<R: Rng + ?Sized>(
    estimate: &DMatrix<f64>,
    (law, mean): (&NoiseLaw, &[f64]),
    replicates: usize,
    mut estimator: impl FnMut(&DMatrix<f64>) -> Result<Option<SubspaceEstimate>, RecoveryError>,
    second: Option<&SubspaceEstimate>,
    rng: &mut R,
    mut progress: impl FnMut(usize) -> ControlFlow<()>,
) -> Result<(Bootstrap, Option<Bootstrap>), BootstrapError> {
    if replicates < FEWEST_REPLICATES {
        return Err(BootstrapError::Replicates(replicates));
    }
    let found = estimator(estimate)?.ok_or(BootstrapError::Cancelled(0))?;
    let model = Model::fit(estimate, law, mean, &found)?;
    let second = second.map(|found| Model::fit(estimate, law, mean, found)).transpose()?;
    let (mut outcome, mut other) = (Bootstrap::start(&model), second.as_ref().map(Bootstrap::start));
    'replicates: for done in 1..=replicates {
        let models = iter::once((&model, &mut outcome)).chain(second.iter().zip(&mut other));
        for (model, outcome) in models {
            let perturbed = model.perturbed(rng)?;
            let Some(recovered) = estimator(&model.draw(&perturbed, rng)?)? else { break 'replicates };
            outcome.add(&model.components, &perturbed, &recovered)?;
        }
        if progress(done).is_break() {
            break;
        }
    }
    Ok((outcome.finish()?, other.map(Bootstrap::finish).transpose()?))
}

impl Bootstrap {
    /// The number of replicates done.
    #[must_use]
    pub fn replicates(&self) -> usize {
        self.errors.len()
    }

    /// Central interval for the error `||sin Theta||_F^2` of the components reported, with `level` (for example 0.95)
    /// coverage: the error is below it with probability `(1 - level) / 2`, and above it with the same.
    ///
    /// For components that cannot be distinguished from noise the upper end contains the whole, so it never claims
    /// knowledge of them; it is at most the trivial bound `min(k, d - k)`.
    #[must_use]
    pub fn interval(&self, level: f64) -> Interval {
        central(&self.errors, &self.largest_errors, level)
    }

    /// Central interval for the [share](crate::subspace::share_found) of the structure that the components reported
    /// find, with `level` coverage. A component that cannot be distinguished from noise may be structure that is
    /// missed, and it may be none: the lower end takes the first, the upper end whichever gives the larger share.
    /// `None` where the population may have no structure.
    #[must_use]
    pub fn share_found(&self, level: f64) -> Option<Interval> {
        (self.most_shares.len() == self.errors.len()).then(|| central(&self.least_shares, &self.most_shares, level))
    }

    /// The median of the replicates' errors: an estimate of the error of the components reported.
    #[must_use]
    pub fn median(&self) -> f64 {
        quantile(&self.errors, 0.5)
    }
}

impl ComponentConfidence {
    /// Central interval for `1 - ||V^T v||^2`, the part of the true component v that the recovered subspace V misses.
    #[must_use]
    pub fn interval(&self, level: f64) -> Interval {
        let found = central(&self.errors, &self.errors, level);
        if self.distinguishable { found } else { Interval { upper: 1.0, ..found } }
    }
}

fn central(least: &[f64], most: &[f64], level: f64) -> Interval {
    let tail = 0.5 * (1.0 - level);
    Interval { lower: quantile(least, tail), upper: quantile(most, 1.0 - tail) }
}

/// The value below which one more draw falls with probability `probability`: interpolated at rank `p (n + 1)`, and the
/// extremes beyond the first and the last.
pub(super) fn quantile(ascending: &[f64], probability: f64) -> f64 {
    let last = ascending.len() - 1;
    let rank = (probability * (ascending.len() + 1) as f64 - 1.0).clamp(0.0, last as f64);
    let below = rank.floor() as usize;
    let weight = rank - below as f64;
    ascending[below] * (1.0 - weight) + ascending[(below + 1).min(last)] * weight
}

/// While replicates are drawn, `support_stability` counts and `loading_errors` has sums of squares.
impl Bootstrap {
    fn start(model: &Model) -> Self {
        let (dimension, rank) = model.components.shape();
        let component = |index: usize| ComponentConfidence {
            eigenvalue: model.truth.variances()[index],
            distinguishable: model.distinguishable[index],
            errors: vec![],
        };
        Self {
            components: (0..rank).map(component).collect(),
            support_stability: vec![0.0; dimension],
            loading_errors: DMatrix::zeros(dimension, rank),
            errors: vec![],
            largest_errors: vec![],
            least_shares: vec![],
            most_shares: vec![],
        }
    }

    /// Adds what was recovered of the components `truth`, the first ones of the `population` drawn from.
    fn add(
        &mut self,
        truth: &DMatrix<f64>,
        population: &SpikedCovariance,
        recovered: &SubspaceEstimate,
    ) -> Result<(), BootstrapError> {
        let (dimension, rank) = truth.shape();
        let subspace = Subspace::new(&recovered.components)?;
        let outside = truth - subspace.basis() * subspace.basis().tr_mul(truth);
        let (mut error, mut largest) = (0.0, 0.0);
        for (component, column) in self.components.iter_mut().zip(outside.column_iter()) {
            let missed = column.norm_squared().min(1.0);
            component.errors.push(missed);
            error += missed;
            largest += if component.distinguishable { missed } else { 1.0 };
        }
        self.add_share(&subspace, population);
        self.errors.push(error);
        self.largest_errors.push(f64::min(largest, rank.min(dimension - rank) as f64));
        for &row in &recovered.support {
            self.support_stability[row] += 1.0;
        }
        for (index, column) in recovered.components.column_iter().enumerate() {
            let target = truth.column(index);
            let sign = if column.dot(&target) < 0.0 { -1.0 } else { 1.0 };
            let mut sums = self.loading_errors.column_mut(index);
            sums += (column * sign - target).map(|deviation| deviation * deviation);
        }
        Ok(())
    }

    /// Adds the shares of the structure of the `population` that the subspace finds, relative to the isotropic rest.
    fn add_share(&mut self, subspace: &Subspace, population: &SpikedCovariance) {
        let (dimension, rank) = subspace.basis().shape();
        let above = population.variances().map(|variance| variance - population.bulk());
        let along = subspace.basis().tr_mul(population.components());
        let captured = DVector::from_fn(above.len(), |index, _| above[index] * along.column(index).norm_squared());
        // Components beyond the rank are there only if they stand above the noise.
        let stands = |index: usize| self.components.get(index).is_none_or(|component| component.distinguishable);
        let of_standing =
            |values: &DVector<f64>| values.map_with_location(|index, _, value| if stands(index) { value } else { 0.0 });
        let share = |captured: &DVector<f64>, mut above: DVector<f64>| {
            sort_descending(above.as_mut_slice());
            let random = rank as f64 / dimension as f64 * above.sum();
            share_of_structure(captured.sum(), above.rows(0, rank).sum(), random)
        };
        let standing = of_standing(&captured);
        let (all, alone) = (share(&captured, above.clone()), share(&standing, of_standing(&above)));
        self.most_shares.extend(all.map(|all| alone.map_or(all, |alone| alone.max(all))));
        self.least_shares.extend(share(&standing, above));
    }

    fn finish(mut self) -> Result<Self, BootstrapError> {
        let replicates = self.errors.len();
        if replicates < FEWEST_REPLICATES {
            return Err(BootstrapError::Cancelled(replicates));
        }
        let by_component = self.components.iter_mut().map(|component| &mut component.errors);
        let of_all = [&mut self.errors, &mut self.largest_errors, &mut self.least_shares, &mut self.most_shares];
        for values in by_component.chain(of_all) {
            sort_ascending(values);
        }
        self.support_stability.iter_mut().for_each(|count| *count /= replicates as f64);
        self.loading_errors.apply(|sum| *sum = (*sum / replicates as f64).sqrt());
        Ok(self)
    }
}

/// Reasons why there is no bootstrap, or no interval from it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BootstrapError {
    /// Too few replicates.
    #[error("{0} replicates are too few: ask for at least {FEWEST_REPLICATES}, better 200 or more")]
    Replicates(usize),
    /// The callback asked to stop too early.
    #[error("cancelled after {0} replicates, fewer than the {FEWEST_REPLICATES} that an interval needs")]
    Cancelled(usize),
    /// Everything is recovered, without error.
    #[error("{0} components of {0} features are the whole space, which has no error: ask for fewer components")]
    FullRank(usize),
    /// Recovery failed.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// The components returned span nothing.
    #[error(transparent)]
    Subspace(#[from] SubspaceError),
    /// The law does not fit the estimate.
    #[error(transparent)]
    Noise(#[from] NoiseError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::tests::{double_cap_law, gaussian_law, unit_trace};
    use crate::recovery::{FantopeProblem, FantopeSolver, Penalty, Rank, principal_components};
    use crate::subspace::share_found;
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    /// From one model, with a law about zero.
    fn bootstrap(
        estimate: &DMatrix<f64>,
        law: &NoiseLaw,
        replicates: usize,
        mut estimator: impl FnMut(&DMatrix<f64>) -> Result<SubspaceEstimate, RecoveryError>,
        rng: &mut ChaCha12Rng,
        progress: impl FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Bootstrap, BootstrapError> {
        let estimator = |matrix: &DMatrix<f64>| estimator(matrix).map(Some);
        super::bootstrap(estimate, (law, &[]), replicates, estimator, None, rng, progress).map(|(outcome, _)| outcome)
    }

    fn pca(rank: usize) -> impl FnMut(&DMatrix<f64>) -> Result<SubspaceEstimate, RecoveryError> {
        move |matrix| Ok(principal_components(matrix, Rank::new(rank)?)?.into())
    }

    fn rng() -> ChaCha12Rng {
        ChaCha12Rng::seed_from_u64(1)
    }

    fn go(_: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    #[test]
    fn a_component_that_is_noise_leaves_everything_open() {
        let law = double_cap_law(20, 2.0, 2000);
        let estimate = law.draw_with_rng(&unit_trace(20, &[0.6], 1), &mut rng()).unwrap();
        let found = bootstrap(&estimate, &law, 40, pca(2), &mut rng(), go).unwrap();
        assert_eq!(found.components.iter().map(|one| one.distinguishable).collect::<Vec<_>>(), [true, false]);
        let (first, second) = (found.components[0].interval(0.9), found.components[1].interval(0.9));
        assert!(first.upper < 0.5 && second.upper == 1.0, "{first:?} {second:?}");
        let both = found.interval(0.9);
        assert!(both.upper >= 1.0 && both.upper < 1.0 + 2.0 * first.upper && both.lower > first.lower, "{both:?}");
        let share = found.share_found(0.9).unwrap();
        assert!(share.lower < share.upper && share.upper <= 1.0, "{share:?}");
        assert_eq!(found.support_stability, [1.0; 20]);
        let zero = bootstrap(&DMatrix::zeros(20, 20), &law, 20, pca(1), &mut rng(), go).unwrap();
        assert_eq!(zero.interval(0.95).upper, 1.0);
        assert!(zero.share_found(0.95).is_some(), "of what may be hidden");
    }

    #[test]
    fn a_sparse_method_keeps_its_support_and_the_loadings_their_signs() {
        let components = DMatrix::from_fn(30, 1, |row, _| if row < 4 { 0.5 } else { 0.0 });
        let truth = SpikedCovariance::new(components, DVector::from_element(1, 0.7), 0.01);
        let law = double_cap_law(30, 2.0, 5000);
        let estimate = law.draw_with_rng(&truth.unwrap(), &mut rng()).unwrap();
        let sparse = |matrix: &DMatrix<f64>| {
            let problem = FantopeProblem::new(matrix, Rank::new(1)?, Penalty::new(0.05)?)?;
            Ok(FantopeSolver::default().solve(&problem)?.into())
        };
        let found = bootstrap(&estimate, &law, 30, sparse, &mut rng(), go).unwrap();
        assert!(found.support_stability[..4].iter().all(|&share| share == 1.0));
        assert!(found.support_stability[4..].iter().all(|&share| share < 0.5), "{:?}", found.support_stability);
        assert!(found.components[0].distinguishable);
        assert!(found.loading_errors.amax() < 0.2, "{}", found.loading_errors);
        let dense = bootstrap(&estimate, &law, 30, pca(1), &mut rng(), go).unwrap();
        assert!(found.median() < 0.7 * dense.median(), "{} {}", found.median(), dense.median());
    }

    /// One component in an isotropic rest, and three more asked for, which are noise: of 40 collections some 38 are
    /// expected in the interval, and noise that stands out in three.
    #[test]
    fn the_share_found_is_in_its_interval_where_components_asked_for_are_noise() {
        let (law, truth, mut rng) = (gaussian_law(20, 4.0, 4000), unit_trace(20, &[0.3], 1), rng());
        let (matrix, rank) = (truth.matrix(), Rank::new(4).unwrap());
        let subspace =
            |matrix: &DMatrix<f64>| Subspace::new(&principal_components(matrix, rank).unwrap().vectors).unwrap();
        let (mut held, mut standing) = (0, 0);
        for _ in 0..40 {
            let estimate = law.draw_with_rng(&truth, &mut rng).unwrap();
            let share = share_found(&subspace(&estimate), &subspace(&matrix), &matrix).unwrap().unwrap();
            let found = bootstrap(&estimate, &law, 40, pca(4), &mut rng, go).unwrap();
            let Interval { lower, upper } = found.share_found(0.95).unwrap();
            held += u32::from((lower..=upper).contains(&share));
            standing += u32::from(found.components[1].distinguishable);
        }
        assert!(held >= 33 && standing <= 9, "{held} {standing}");
    }

    /// That of the population's matrix, whose second component is the weakest of three and hidden in the noise; or of
    /// the matrix without it.
    #[test]
    fn the_share_of_a_replicate_is_that_of_its_population_and_less_where_a_component_is_hidden() {
        let population = |hidden: f64| {
            let variances = DVector::from_vec(vec![0.4, hidden, 0.2]);
            SpikedCovariance::new(DMatrix::identity(6, 3), variances, 0.05).unwrap()
        };
        let axes = |other: usize| {
            let first_and_other = DMatrix::from_fn(6, 2, |row, column| if row == other * column { 1.0 } else { 0.0 });
            Subspace::new(&first_and_other).unwrap()
        };
        let component = |distinguishable| ComponentConfidence { eigenvalue: 0.0, distinguishable, errors: vec![] };
        let outcome_of = |found: &Subspace| {
            let mut outcome = Bootstrap {
                components: vec![component(true), component(false)],
                support_stability: vec![],
                loading_errors: DMatrix::zeros(6, 2),
                errors: vec![0.0],
                largest_errors: vec![],
                least_shares: vec![],
                most_shares: vec![],
            };
            outcome.add_share(found, &population(0.1));
            outcome
        };
        let slanted = DMatrix::from_fn(6, 2, |row, column| 1.0 / (1 + row + 7 * column) as f64);
        for (found, without_hidden) in [(Subspace::new(&slanted).unwrap(), false), (axes(3), true)] {
            let mut outcome = outcome_of(&found);
            let Interval { lower, upper } = outcome.share_found(0.95).unwrap();
            let share = |hidden| share_found(&found, &axes(2), &population(hidden).matrix()).unwrap().unwrap();
            let (with, without) = (share(0.1), share(0.05));
            assert_eq!(without > with, without_hidden, "{with} {without}");
            assert!((upper - with.max(without)).abs() < 1e-12, "{upper} {with} {without}");
            let missed = 0.05 * found.basis().row(1).norm_squared() / (0.5 - 0.55 / 3.0);
            assert!((with - lower - missed).abs() < 1e-12 && lower < upper, "{lower} {upper}");
            outcome.errors.push(0.0);
            assert_eq!(outcome.share_found(0.95), None, "one without structure");
        }
    }

    #[test]
    fn a_seed_makes_it_reproducible_and_progress_counts() {
        let law = double_cap_law(10, 2.0, 5000);
        let estimate = law.draw_with_rng(&unit_trace(10, &[0.6], 1), &mut rng()).unwrap();
        let mut seen = vec![];
        let first = bootstrap(&estimate, &law, 25, pca(1), &mut rng(), |done| {
            seen.push(done);
            ControlFlow::Continue(())
        });
        assert_eq!(first, bootstrap(&estimate, &law, 25, pca(1), &mut rng(), go));
        assert_eq!(seen, Vec::from_iter(1..=25));
        let stop_at = |last: usize| {
            bootstrap(&estimate, &law, 100, pca(1), &mut rng(), |done| {
                if done == last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
        };
        assert_eq!(stop_at(22).unwrap().replicates(), 22);
        assert_eq!(stop_at(3), Err(BootstrapError::Cancelled(3)));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let law = double_cap_law(4, 2.0, 500);
        let matrix = DMatrix::from_diagonal(&DVector::from_vec(vec![0.7, 0.1, 0.1, 0.1]));
        let run =
            |matrix: &DMatrix<f64>, rank, replicates| bootstrap(matrix, &law, replicates, pca(rank), &mut rng(), go);
        assert_eq!(run(&matrix, 1, 19), Err(BootstrapError::Replicates(19)));
        assert_eq!(run(&matrix, 4, 20), Err(BootstrapError::FullRank(4)));
        assert!(matches!(run(&matrix, 5, 20), Err(BootstrapError::Recovery(_))));
        assert!(matches!(run(&DMatrix::identity(3, 3), 1, 20), Err(BootstrapError::Recovery(_))));
        assert!(run(&matrix, 3, 20).is_ok());
        // Fewer rows than components.
        let components = DMatrix::from_fn(4, 1, |row, _| if row == 0 { 1.0 } else { 0.0 });
        let nowhere = |_: &DMatrix<f64>| Ok(SubspaceEstimate { components: components.clone(), support: vec![] });
        assert!(bootstrap(&matrix, &law, 20, nowhere, &mut rng(), go).is_ok());
    }

    /// Of 99 errors the k-th is exceeded with probability 1 - k / 100.
    #[test]
    fn intervals_are_the_quantiles_on_both_sides_which_interpolate_and_stop_at_the_extremes() {
        let of = |distinguishable| {
            let errors = (1..=99).map(f64::from).collect();
            ComponentConfidence { eigenvalue: 1.0, distinguishable, errors }
        };
        for (level, lower, upper) in [(0.9, 5.0, 95.0), (0.5, 25.0, 75.0), (0.98, 1.0, 99.0), (0.999, 1.0, 99.0)] {
            let Interval { lower: least, upper: most } = of(true).interval(level);
            assert!((least - lower).abs() < 1e-9 && (most - upper).abs() < 1e-9, "{least} {most}");
            assert_eq!(of(false).interval(level).upper, 1.0);
        }
        assert!((quantile(&of(true).errors, 0.255) - 25.5).abs() < 1e-9);
    }
}
