//! Whether two collections come from one population.
//!
//! *The distance of the components.* `||sin Theta||_F^2` between the plain components of two estimates has no mean of
//! zero where the populations are equal: noise turns both. How far is known, because the noise is. It depends on the
//! spectrum of the population, hardly on its directions, so a model of one population has the mean of the spectra that
//! belong to both estimates (weighted by the inverse variances of their noise), and the directions of the one with less
//! noise. (The spectrum of both estimates together would not do: components that have turned are blurred in it, as if
//! they had no direction, and the largest change would be the one that such a population explains.) Every replicate
//! draws eigenvalues that could have led to those observed ([`bootstrap`](super::bootstrap::bootstrap())), then both
//! estimates, each from its own law and number of reports, and measures their distance. With T of B replicates no
//! closer than the collections are, `p = (T + 1) / (B + 1)` (Davison & Hinkley 1997, section 4.2).
//!
//! *Assumptions*: those of [`NoiseLaw`](crate::law::NoiseLaw) and [`Denoising`](super::denoise::Denoising): a
//! population that is isotropic except for components above the noise, and many features.
//!
//! *Without a model of the population.* Two differences have the mean zero for any one population, if the components
//! are found without the reports that measure them. With S and S' the estimates of a fold of each collection, V and V'
//! the components that the other folds of each give, and W those of the other folds of both together, they are
//!
//! ```text
//! captured   tr(W^T (S - S') W)                   a change of strength
//! own        <V V^T - V' V'^T, S - S'> / 2        a change of direction
//! ```
//!
//! The second is the variance that a collection's own components capture, less what those of the other one capture,
//! the mean over both: where components turn it is positive, whereas the first may stay near zero, because W is then
//! between both.
//!
//! The error follows from the mechanisms ([`held_out`](super::held_out)). The folds err independently in `captured`,
//! to first order: W changes with the weighted sum of the noises of both collections, which is uncorrelated with their
//! difference for weights that are inverse to the variances. In `own` the projectors differ by noise alone where the
//! populations are equal, which doubles the variance.

use core::iter;
use core::ops::ControlFlow;

use nalgebra::{DMatrix, DVector};
use rand::Rng;
use serde::Serialize;

use super::bootstrap::{FEWEST_REPLICATES, Model, quantile};
use super::held_out::{LEVEL, Measured, Projection};
use super::{BootstrapError, Rank, RecoveryError, principal_components};
use crate::aggregate::{Aggregate, AggregateError};
use crate::covariance::{Covariance, CovarianceError, Mean};
use crate::family::Reports;
use crate::law::{LinearForm, NoiseError, SpikedCovariance};
use crate::linalg::sort_ascending;
use crate::record::Bounding;
use crate::schema::{ColumnKind, Schema};
use crate::subspace::{Subspace, SubspaceError, sin_theta_squared};
use crate::task::Task;

/// Two collections compared ([`change()`]).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The number of reports of the second collection.
    pub records: u64,
    /// `||sin Theta||_F^2` between the plain components of the two, from 0 to k.
    pub sin_theta_squared: f64,
    /// The level of `quantile`, 0.95.
    pub level: f64,
    /// The distance that this share of pairs of collections from one population stay below; none where fewer than 20
    /// replicates were drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// The probability that two collections from one population are as far apart as these; none as above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
    /// The pairs of collections that were drawn.
    pub replicates: usize,
    /// What needs no model of the population; none where a task has one fold, or a fold has no reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOutChange>,
}

/// What components capture in each of two collections, found without the reports that measure it. One population
/// gives 0 up to the error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldOutChange {
    /// The number of folds: each was held out once.
    pub folds: usize,
    /// The nominal coverage of each interval.
    pub level: f64,
    /// The variance that the components of both together capture in the first collection, less that in the second, in
    /// the units of the covariance.
    pub captured: Measured,
    /// The variance that a collection's own components capture in it, less what those of the other one capture, the
    /// mean over both: above 0 where components have turned.
    pub own: Measured,
}

/// Compares two collections of reports of the same features: does one population explain the difference between their
/// plain components? See the fields of [`Change`] for what is measured.
///
/// The tasks may differ in mechanism, budget, folds and period. The number of `replicates` is at least 20, better 200;
/// the callback, which is called after each with the number done, may stop them.
///
/// The p-value takes the population to be isotropic except for components above the noise, and the records to be
/// independent draws from it. The measures on reports held out take the second alone.
///
/// # Errors
/// [`ChangeError`]. Tasks that cannot be compared, and reports in both collections, are refused before any work.
pub fn change<R: Rng + ?Sized>(
    first: (&Aggregate, &Task),
    second: (&Aggregate, &Task),
    rank: Rank,
    replicates: usize,
    rng: &mut R,
    progress: impl FnMut(usize) -> ControlFlow<()>,
) -> Result<Change, ChangeError> {
    check_change(first, second)?;
    rank.check(first.1.dimension())?;
    if replicates < FEWEST_REPLICATES {
        return Err(BootstrapError::Replicates(replicates).into());
    }
    let pair = Pair::new(first, second)?;
    let [ours, theirs] = &pair.estimates;
    let (ours, theirs) = (plain(ours.matrix(), rank)?, plain(theirs.matrix(), rank)?);
    let distance = sin_theta_squared(&ours, &theirs)?;
    let mut drawn = pair.distances(rank, replicates, rng, progress)?;
    sort_ascending(&mut drawn);
    let enough = drawn.len() >= FEWEST_REPLICATES;
    let farther = drawn.len() - drawn.partition_point(|&drawn| drawn < distance);
    Ok(Change {
        records: pair.estimates[1].records(),
        sin_theta_squared: distance,
        level: LEVEL,
        quantile: enough.then(|| quantile(&drawn, LEVEL)),
        p_value: enough.then(|| (farther + 1) as f64 / (drawn.len() + 1) as f64),
        replicates: drawn.len(),
        held_out: pair.held_out(rank)?,
    })
}

/// Refuses, before any work, what [`change()`] cannot compare.
///
/// # Errors
/// [`ChangeError`], for tasks of other features and for reports in both collections.
pub fn check_change(first: (&Aggregate, &Task), second: (&Aggregate, &Task)) -> Result<(), ChangeError> {
    let ((sums, task), (other_sums, other)) = (first, second);
    if task.dimension() != other.dimension() {
        return Err(ChangeError::Dimension { first: task.dimension(), second: other.dimension() });
    }
    check_schemas(task.schema(), other.schema())?;
    if task.bounding() != other.bounding() {
        return Err(ChangeError::Bounding { first: task.bounding(), second: other.bounding() });
    }
    if task.centring().is_some() != other.centring().is_some() {
        return Err(ChangeError::Centring);
    }
    if task == other { check_disjoint(sums, other_sums) } else { Ok(()) }
}

/// Two collections with their estimates.
struct Pair<'a> {
    collections: [(&'a Aggregate, &'a Task); 2],
    estimates: [Covariance; 2],
    /// Inverse to the variances of the noise; their sum is 1.
    weights: [f64; 2],
}

impl<'a> Pair<'a> {
    fn new(first: (&'a Aggregate, &'a Task), second: (&'a Aggregate, &'a Task)) -> Result<Self, ChangeError> {
        let estimates = [Covariance::estimate(first.0, first.1)?, Covariance::estimate(second.0, second.1)?];
        let [ours, theirs] = estimates.each_ref().map(|estimate| estimate.noise_deviation().powi(2));
        let weights = [theirs / (ours + theirs), ours / (ours + theirs)];
        Ok(Self { collections: [first, second], estimates, weights })
    }

    fn pooled(&self, estimates: &[Covariance; 2]) -> DMatrix<f64> {
        estimates[0].matrix() * self.weights[0] + estimates[1].matrix() * self.weights[1]
    }

    /// The distances of pairs of collections that one population could have given.
    fn distances<R: Rng + ?Sized>(
        &self,
        rank: Rank,
        replicates: usize,
        rng: &mut R,
        mut progress: impl FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Vec<f64>, ChangeError> {
        let mean = match self.estimates.each_ref().map(Covariance::mean) {
            [Some(ours), Some(theirs)] => Mean::pooled([ours, theirs], self.weights).without_bias().as_slice().to_vec(),
            _ => vec![],
        };
        let fit = |estimate: &Covariance| -> Result<Model, ChangeError> {
            let found = principal_components(estimate.matrix(), rank)?.into();
            Ok(Model::fit(estimate.matrix(), &estimate.noise_law(), &mean, &found)?)
        };
        let models = [fit(&self.estimates[0])?, fit(&self.estimates[1])?];
        let mut distances = Vec::with_capacity(replicates.min(1 << 16));
        for done in 1..=replicates {
            let truth = self.common([models[0].perturbed(rng)?, models[1].perturbed(rng)?]);
            let mut draw = |estimate: &Covariance| -> Result<Subspace, ChangeError> {
                plain(&estimate.noise_law().draw_about_with_rng(&truth, &mean, rng)?, rank)
            };
            let [ours, theirs] = &self.estimates;
            distances.push(sin_theta_squared(&draw(ours)?, &draw(theirs)?)?);
            if progress(done).is_break() {
                break;
            }
        }
        Ok(distances)
    }

    /// One population with the mean of both spectra, and the directions of the collection with less noise.
    fn common(&self, truths: [SpikedCovariance; 2]) -> SpikedCovariance {
        let [ours, theirs] = self.weights;
        let (base, other, weights) = match truths {
            [first, second] if ours >= theirs => (first, second, [ours, theirs]),
            [first, second] => (second, first, [theirs, ours]),
        };
        let mean = |value: f64, beside: f64| weights[0] * value + weights[1] * beside;
        let beside = other.variances().iter().copied().chain(iter::repeat(other.bulk()));
        let variances = base.variances().iter().zip(beside).map(|(&value, beside)| mean(value, beside));
        let variances = DVector::from_iterator(base.variances().len(), variances);
        SpikedCovariance::from_parts(base.components().clone(), variances, mean(base.bulk(), other.bulk()))
    }

    /// Both differences, on reports held out. Where the tasks have different numbers of folds, those of the one with
    /// more are put together.
    fn held_out(&self, rank: Rank) -> Result<Option<HeldOutChange>, ChangeError> {
        let folds = self.collections.map(|(aggregate, _)| aggregate.folds().len());
        let groups = folds[0].min(folds[1]);
        let shares = self.collections.map(|(aggregate, _)| shares(aggregate, groups));
        if groups < 2 || shares.iter().flatten().any(|&share| share == 0.0) {
            return Ok(None);
        }
        let mut captured = [vec![], vec![]];
        let mut own = [vec![], vec![]];
        for group in 0..groups {
            let of_folds = |chosen: &dyn Fn(usize) -> bool| -> Result<[Covariance; 2], CovarianceError> {
                let [ours, theirs] = self.collections.map(|(sums, task)| Reports::one(sums, task));
                Ok([Covariance::of_folds(ours, chosen)?, Covariance::of_folds(theirs, chosen)?])
            };
            let training = of_folds(&|fold| fold % groups != group)?;
            let measuring = of_folds(&|fold| fold % groups == group)?;
            let both = plain(&self.pooled(&training), rank)?;
            let each = [plain(training[0].matrix(), rank)?, plain(training[1].matrix(), rank)?];
            for (index, estimate) in measuring.iter().enumerate() {
                let project = |found: &Subspace| Projection::new(found.basis().clone(), estimate.matrix());
                captured[index].push(project(&both).form());
                own[index].push(project(&each[0]).less(&project(&each[1])));
            }
        }
        let difference = |forms: [Vec<LinearForm>; 2], shared: f64, factor: f64| {
            let [ours, theirs] = [0, 1].map(|index| self.mean(&forms[index], &shares, index, shared));
            ours.less(theirs, factor, self.estimates[0].moments_law(), groups)
        };
        let (captured, own) = (difference(captured, 1.0, 1.0), difference(own, 2.0, 0.5));
        Ok(Some(HeldOutChange { folds: groups, level: LEVEL, captured, own }))
    }

    /// The mean over folds in one of the collections. Both have the same weights of the folds, or one population would
    /// not give the same mean in both.
    fn mean(&self, forms: &[LinearForm], shares: &[Vec<f64>; 2], index: usize, shared: f64) -> Measured {
        let weights: Vec<f64> = shares[0].iter().zip(&shares[1]).map(|(ours, theirs)| 0.5 * (ours + theirs)).collect();
        // A weight that is not the share costs variance.
        let cost: f64 = weights.iter().zip(&shares[index]).map(|(weight, share)| weight * weight / share).sum();
        Measured::of(forms, &weights, self.estimates[index].moments_law(), shared * cost)
    }
}

fn plain(estimate: &DMatrix<f64>, rank: Rank) -> Result<Subspace, ChangeError> {
    Ok(Subspace::new(&principal_components(estimate, rank)?.vectors)?)
}

/// The shares of the reports in so many groups of folds.
fn shares(aggregate: &Aggregate, groups: usize) -> Vec<f64> {
    let mut counts = vec![0; groups];
    for (index, fold) in aggregate.folds().iter().enumerate() {
        counts[index % groups] += fold.records();
    }
    counts.into_iter().map(|count| count as f64 / aggregate.records() as f64).collect()
}

/// Columns without features, and labels for people, make no difference. A schema that only numbers its columns says
/// nothing about them.
fn check_schemas(first: &Schema, second: &Schema) -> Result<(), ChangeError> {
    let numbered = Schema::numeric(first.dimension()).ok();
    if [first, second].into_iter().any(|schema| numbered.as_ref() == Some(schema)) {
        return Ok(());
    }
    let columns = |schema: &Schema| -> Vec<(String, ColumnKind)> {
        let columns = schema.columns().iter().filter(|column| column.kind != ColumnKind::Ignored);
        columns.map(|column| (column.name.clone(), column.kind.clone())).collect()
    };
    for ((first, kind), (second, other)) in columns(first).into_iter().zip(columns(second)) {
        if first != second {
            return Err(ChangeError::Column { first, second });
        }
        if kind != other {
            return Err(ChangeError::Encoding { column: first });
        }
    }
    Ok(())
}

/// Refuses collections with reports in common. Without ids, only equal sums are recognized.
fn check_disjoint(first: &Aggregate, second: &Aggregate) -> Result<(), ChangeError> {
    if first.records() > 0 && first.folds() == second.folds() {
        return Err(ChangeError::Same);
    }
    match first.check_disjoint(second) {
        Err(AggregateError::Overlap { shared, compared }) => Err(ChangeError::Overlap { shared, compared }),
        _ => Ok(()),
    }
}

/// Reasons why two collections are not compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// Other features.
    #[error(
        "one task has {first} features and the other {second}: components are compared on the same features, so give \
         two collections with the same schema"
    )]
    Dimension {
        /// The number of the first task.
        first: usize,
        /// The number of the second task.
        second: usize,
    },
    /// Other columns.
    #[error(
        "one task has the column '{first}' where the other has '{second}': components are compared on the same \
         columns in the same order, so give two collections with the same schema"
    )]
    Column {
        /// The name in the first task.
        first: String,
        /// The name in the second task.
        second: String,
    },
    /// Other features of the same column.
    #[error(
        "the tasks encode the column '{column}' differently (its type, offset, scale, values or unseen): components \
         are compared in the same units, so give two collections with the same schema"
    )]
    Encoding {
        /// The name of the column.
        column: String,
    },
    /// Other bounds of the records.
    #[error(
        "one task bounds records by {first} and the other by {second}, which gives the same people other second \
         moments: give two collections with the same bounding"
    )]
    Bounding {
        /// In the first task.
        first: Bounding,
        /// In the second task.
        second: Bounding,
    },
    /// Components about a mean and about zero.
    #[error(
        "one task has centring and the other has not, so one collection has components about its mean and the other \
         about zero: give two collections that agree on it"
    )]
    Centring,
    /// One collection, given twice.
    #[error("both are the same sums, which do not differ: give two collections of different reports")]
    Same,
    /// Reports in both.
    #[error(
        "the collections have reports in common ({shared} of {compared} ids compared), which makes them look alike: \
         give two collections of different reports"
    )]
    Overlap {
        /// Ids in both.
        shared: usize,
        /// Different ids that were compared.
        compared: usize,
    },
    /// An estimate.
    #[error(transparent)]
    Covariance(#[from] CovarianceError),
    /// The components.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// Collections from one population.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// Their law.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// Comparing subspaces.
    #[error(transparent)]
    Subspace(#[from] SubspaceError),
}

#[cfg(test)]
mod tests;
