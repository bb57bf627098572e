//! Cross-validation of the penalty: its components are scored on reports that they were not found from.

use std::ops::ControlFlow;

use fantope::{PathError, Sequence};
use serde::Serialize;

use super::PenaltyError;
use crate::covariance::Covariance;
use crate::family::Reports;
use crate::linalg::sorted_descending;
use crate::recovery::held_out::{Fit, scatter, score};
use crate::recovery::{Method, Penalty, Rank, SequenceProgress, SolverSettings, default_penalty};

/// One penalty over all folds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CrossValidationPoint {
    /// The factor `c`.
    pub factor: f64,
    /// `c τ √(ln d)` at the noise level `τ` of all reports together, in the units of the covariance.
    pub penalty: Penalty,
    /// Mean of the scores.
    pub mean_score: f64,
    /// Standard error of the mean difference from the chosen penalty's scores, fold by fold; 0 for the chosen one.
    ///
    /// The noise of a fold moves all its scores together, so differences are known better than the scores.
    pub standard_error: f64,
    /// Mean size of the support over the folds.
    pub mean_support: f64,
    /// Per fold, the variance that the components found without it capture in it, in the units of the covariance.
    pub scores: Vec<f64>,
    /// Whether it has the largest mean score, and of tied ones the largest penalty.
    pub chosen: bool,
}

/// Scores penalties by cross-validation over the folds of the reports of one task or of a family: one point per factor,
/// largest penalty first. One of them is chosen.
///
/// For each fold the sparse problem is solved on the sum of all others, and the projector `V Vᵀ` of its components is
/// scored on the fold's own estimate:
///
/// ```text
/// score = ⟨S_fold, V Vᵀ⟩
/// ```
///
/// Reports are split by their ids, and every report has its own noise: given the components, the score is an
/// unbiased estimate of the variance they capture in the population. Penalties are given as factors `c` of
/// [`default_penalty`]: the estimate without a fold has more noise than the whole one, and its penalty is larger in the
/// same proportion. (One penalty in the units of the covariance would be too small for the whole or too large for the
/// parts.)
///
/// The largest mean score wins. The one-standard-error rule (the sparsest within a standard error of the best) is for
/// choosing a small model, not for the smallest error of the subspace; [`CrossValidationPoint::standard_error`] allows
/// it.
///
/// `progress` is called whenever the solver certifies its gap, and may stop everything.
///
/// # Errors
///
/// [`PenaltyError::TooFewFolds`], [`PenaltyError::EmptyFold`], [`PenaltyError::Path`] without a factor or when
/// cancelled; [`PenaltyError::Covariance`] for an aggregate of another task or without reports;
/// [`PenaltyError::Recovery`] for a factor that is not a finite number of at least 0, or a rank above the dimension.
pub fn cross_validate(
    reports: Reports<'_>,
    rank: Rank,
    factors: &[f64],
    settings: &SolverSettings,
    progress: &mut dyn FnMut(&SequenceProgress) -> ControlFlow<()>,
) -> Result<Vec<CrossValidationPoint>, PenaltyError> {
    let folds = reports.folds();
    if folds < 2 {
        return Err(PenaltyError::TooFewFolds { folds });
    }
    let noise = Covariance::of_folds(reports, |_| true)?.noise_deviation();
    if let Some(fold) = (0..folds).find(|&fold| reports.records_of_fold(fold) == 0) {
        return Err(PenaltyError::EmptyFold { fold, folds });
    }
    let dimension = reports.task().dimension();
    let factors = sorted_descending(factors.to_vec(), |factor| *factor);
    let penalties = factors.iter().map(|&factor| Ok(default_penalty(noise, dimension, factor)?));
    let penalties = penalties.collect::<Result<Vec<_>, PenaltyError>>()?;
    let fits: Vec<Fit> = factors.iter().map(|&factor| Fit { method: Method::Fantope, factor }).collect();
    let mut sequence = Sequence { settings, progress, solved: 0, total: folds * fits.len() };
    let scores = score(reports, rank, &fits, &mut sequence)?;
    let points = scores.into_iter().zip(penalties).map(|(score, penalty)| {
        let scores = score.captured.iter().map(|form| form.value).collect();
        CrossValidationPoint::of(score.fit.factor, penalty, scores, score.mean_support)
    });
    compare(points.collect())
}

impl CrossValidationPoint {
    fn of(factor: f64, penalty: Penalty, scores: Vec<f64>, mean_support: f64) -> Self {
        let (mean_score, standard_error, chosen) = (mean(&scores), 0.0, false);
        Self { factor, penalty, mean_score, standard_error, mean_support, scores, chosen }
    }
}

fn compare(mut points: Vec<CrossValidationPoint>) -> Result<Vec<CrossValidationPoint>, PenaltyError> {
    let better = |best: usize, at: usize| if points[at].mean_score > points[best].mean_score { at } else { best };
    let chosen = (0..points.len()).reduce(better).ok_or(PathError::NoPenalties)?;
    let best = points[chosen].scores.clone();
    let shares = vec![1.0 / best.len() as f64; best.len()];
    for point in &mut points {
        let differences: Vec<f64> = best.iter().zip(&point.scores).map(|(best, score)| best - score).collect();
        point.standard_error = scatter(differences.iter().copied(), &shares, mean(&differences));
    }
    points[chosen].chosen = true;
    Ok(points)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use ldp_pca_simulation::SpikedModel;
    use rand::SeedableRng;

    use super::*;
    use crate::aggregate::Aggregate;
    use crate::covariance::CovarianceError;
    use crate::record::Bounding;
    use crate::recovery::{FantopeError, FantopeProblem, PenaltyChoice, RecoveryError};
    use crate::task::Task;
    use crate::tests::{self, double_cap, rank, sum};

    fn task(dimension: usize, folds: u32) -> Task {
        tests::task(dimension, Bounding::UnitNorm, double_cap(4.0, 32, 2), folds)
    }

    /// One spike on 3 of the coordinates, from this many reports.
    fn collected(task: &Task, records: usize) -> Aggregate {
        let mut rng = ChaCha20Rng::seed_from_u64(11);
        let one = 1usize.try_into().unwrap();
        let model = SpikedModel::draw(task.dimension(), one, 20.0, Some(3), &mut rng).unwrap();
        sum(task, &tests::reports(task, records, &mut rng, |_, rng| model.record(rng)))
    }

    fn validate(
        aggregate: &Aggregate,
        task: &Task,
        factors: &[f64],
    ) -> Result<Vec<CrossValidationPoint>, PenaltyError> {
        let settings = SolverSettings { tolerance: 1e-5, ..SolverSettings::default() };
        let reports = Reports::one(aggregate, task);
        cross_validate(reports, rank(1), factors, &settings, &mut |_| ControlFlow::Continue(()))
    }

    fn chosen(points: &[CrossValidationPoint]) -> &CrossValidationPoint {
        let [chosen] = points.iter().filter(|point| point.chosen).collect::<Vec<_>>()[..] else { panic!("{points:?}") };
        chosen
    }

    #[test]
    fn scores_are_of_the_folds_left_out_and_the_best_mean_is_chosen() {
        let task = task(12, 3);
        let aggregate = collected(&task, 3000);
        let result = validate(&aggregate, &task, &[0.25, 40.0, 1.0]).unwrap();
        let factors: Vec<f64> = result.iter().map(|point| point.factor).collect();
        assert_eq!(factors, [40.0, 1.0, 0.25]);
        for point in &result {
            assert_eq!(point.scores.len(), 3);
            assert!((point.mean_score - mean(&point.scores)).abs() < 1e-15);
            assert!(point.mean_score <= chosen(&result).mean_score);
        }
        // A factor of 40 leaves one coordinate of the three that make the component.
        assert_eq!(result[0].mean_support, 1.0);
        assert!(chosen(&result).factor < 40.0 && result[0].standard_error > 0.0);
        assert_eq!(chosen(&result).standard_error, 0.0);
        // The first score, from its definition.
        let reports = Reports::one(&aggregate, &task);
        let training = Covariance::of_folds(reports, |fold| fold != 0).unwrap();
        let held_out = Covariance::of_folds(reports, |fold| fold == 0).unwrap();
        let row = training.matrix().diagonal().imax();
        assert!((result[0].scores[0] - held_out.matrix()[(row, row)]).abs() < 1e-12);
        // And a factor for which the penalty of two thirds of the reports decides, not that of all.
        let score = |noise| {
            let penalty = default_penalty(noise, 12, 1.0).unwrap();
            let problem = FantopeProblem::new(training.matrix(), rank(1), penalty).unwrap();
            let solver = crate::recovery::FantopeSolver::new(SolverSettings::default()).unwrap();
            let solution = solver.solve(&problem).unwrap();
            solution.components.dot(&(held_out.matrix() * &solution.components))
        };
        let all = Covariance::estimate(&aggregate, &task).unwrap();
        let (own, other) = (score(training.noise_deviation()), score(all.noise_deviation()));
        let found = result[1].scores[0];
        assert!((found - own).abs() < 0.1 * (found - other).abs(), "{found} {own} {other}");
        // The penalty is for all reports, whose noise is less than that of two thirds of them.
        let covariance = Covariance::estimate(&aggregate, &task).unwrap();
        let choice = PenaltyChoice::CrossValidated { factors: vec![1.0] };
        let settings = SolverSettings::default();
        let (penalty, scores) =
            choice.select(&covariance, reports, rank(1), &settings, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(penalty, default_penalty(covariance.noise_deviation(), 12, 1.0).unwrap());
        assert_eq!(scores.unwrap().len(), 1);
    }

    /// By hand: differences of 0, 1 and 2 about 1 have squares that sum to 2, over three times two.
    #[test]
    fn the_error_of_a_difference_is_that_of_the_folds() {
        let point = |factor, scores: [f64; 3]| {
            CrossValidationPoint::of(factor, Penalty::new(factor).unwrap(), scores.to_vec(), 0.0)
        };
        let points = vec![
            point(3.0, [4.0, 5.0, 6.0]),
            point(2.0, [5.0, 7.0, 6.0]),
            point(1.0, [5.0, 6.0, 4.0]),
            point(0.0, [6.0, 6.0, 6.0]),
        ];
        let result = compare(points).unwrap();
        // The last is as good as the second, and has the smaller penalty.
        assert_eq!(chosen(&result).factor, 2.0);
        let means: Vec<f64> = result.iter().map(|point| point.mean_score).collect();
        assert_eq!(means, [5.0, 6.0, 5.0, 6.0]);
        let errors: Vec<f64> = result.iter().map(|point| point.standard_error).collect();
        let expected = [1.0 / 3.0, 0.0, 1.0 / 3.0, 1.0 / 3.0].map(f64::sqrt);
        assert!(errors.iter().zip(expected).all(|(error, expected)| (error - expected).abs() < 1e-15), "{errors:?}");
        assert_eq!(compare(vec![]), Err(PenaltyError::Path(PathError::NoPenalties)));
    }

    #[test]
    fn ties_go_to_the_largest_penalty() {
        // In one dimension every penalty is 0 and every score the same.
        let task = task(1, 2);
        let reports = tests::reports(&task, 50, &mut ChaCha20Rng::seed_from_u64(12), |_, _| vec![1.0]);
        let result = validate(&sum(&task, &reports), &task, &[0.5, 2.0, 1.0]).unwrap();
        assert_eq!((chosen(&result).factor, chosen(&result).penalty), (2.0, Penalty::ZERO));
    }

    #[test]
    fn what_cannot_be_validated_is_refused_with_the_remedy() {
        let single = task(4, 1);
        let error = validate(&collected(&single, 20), &single, &[1.0]).unwrap_err();
        assert_eq!(error, PenaltyError::TooFewFolds { folds: 1 });
        assert!(error.to_string().contains("a task with several folds"), "{error}");

        // Two reports cannot fill eight folds.
        let many = task(4, 8);
        let error = validate(&collected(&many, 2), &many, &[1.0]).unwrap_err();
        assert!(matches!(error, PenaltyError::EmptyFold { folds: 8, .. }), "{error}");
        assert!(error.to_string().contains("a task with fewer folds"), "{error}");

        let empty = validate(&Aggregate::empty(&many), &many, &[1.0]);
        assert_eq!(empty, Err(PenaltyError::Covariance(CovarianceError::Empty)));
        let task = task(4, 2);
        let aggregate = collected(&task, 40);
        assert_eq!(validate(&aggregate, &task, &[]), Err(PenaltyError::Path(PathError::NoPenalties)));
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let refused = validate(&aggregate, &task, &[1.0, bad]);
            let Err(PenaltyError::Recovery(RecoveryError::Fantope(error))) = refused else { panic!("{bad}") };
            assert!(matches!(error, FantopeError::InvalidSetting { .. }), "{bad}");
        }
        assert!(matches!(validate(&aggregate, &many, &[1.0]), Err(PenaltyError::Covariance(_))));
    }

    #[test]
    fn the_callback_can_end_it() {
        let task = task(12, 2);
        let aggregate = collected(&task, 500);
        let (reports, settings) = (Reports::one(&aggregate, &task), SolverSettings::default());
        let stopped = cross_validate(reports, rank(2), &[0.25], &settings, &mut |_| ControlFlow::Break(()));
        assert_eq!(stopped, Err(PenaltyError::Path(PathError::Cancelled { solved: 0, total: 2 })));
    }
}
