//! The parts of an answer that take long.

use std::cell::{Cell, RefCell};

use chacha20::ChaCha12Rng;
use nalgebra::DMatrix;
use rand::SeedableRng;

use super::super::bootstrap::{SubspaceEstimate, bootstrap};
use super::super::held_out::thresholded;
use super::super::penalty::SelectedPenalty;
use super::super::{
    BootstrapError, DECOMPOSED, FantopeProblem, FantopeSolver, Fit, HeldOut, Method, PathPoint, Penalty, PenaltyChoice,
    PenaltyError, RecoveryError, SequenceProgress, SolverSettings, SolverStatus, default_penalty,
    default_penalty_sequence, principal_components, solve_sequence,
};
use super::question::{HeldOutUse, Question, settings, solve};
use super::trust::Confidence;
use super::watch::{Part, Step, Watched};
use super::{Answer, AnswerError, Source, plain};
use crate::law::NoiseLaw;

/// Duality gap to which replicates are solved: far below their differences through noise.
const REPLICATE_TOLERANCE: f64 = 1e-4;

/// Iterations for one sparse problem of a comparison on reports held out: what is found after so many is measured as it
/// is, so that penalties far too small for the noise, whose problems are the hardest, do not take all the time.
const MOST_ITERATIONS: usize = 300;

/// A question, the reports that it is about, and who watches the work.
pub(super) struct Work<'a, 'w, 'b> {
    pub(super) question: &'a Question,
    pub(super) source: Source<'a>,
    pub(super) watch: Watched<'w, 'b>,
}

impl Work<'_, '_, '_> {
    /// The components, by the method that is asked for or chosen.
    pub(super) fn components(&mut self) -> Result<Answer, AnswerError> {
        let (question, source) = (self.question, self.source);
        let plain_ones = || plain(source.covariance.matrix(), question.rank, Answer::facts(source));
        match &question.penalty {
            Some(choice) => {
                let (choice, selection) = self.select(choice)?;
                self.sparse(choice, selection)
            }
            None if question.held_out == HeldOutUse::Choose => {
                let Some(mut held_out) = self.compare(&HeldOut::candidates())? else {
                    return plain_ones();
                };
                let mut answer = self.fitted(held_out.choose())?;
                answer.trust.held_out = Some(held_out);
                Ok(answer)
            }
            None => plain_ones(),
        }
    }

    /// The components of a method that was chosen on reports held out.
    fn fitted(&mut self, fit: Fit) -> Result<Answer, AnswerError> {
        let (matrix, facts, rank) = (self.source.covariance.matrix(), Answer::facts(self.source), self.question.rank);
        let penalty = default_penalty(facts.trust.noise_deviation, matrix.nrows(), fit.factor)?;
        match fit.method {
            Method::Pca => plain(matrix, rank, facts),
            Method::SoftThreshold => facts.with_thresholded(penalty, thresholded(matrix, penalty, rank)?, matrix),
            Method::Fantope => self.sparse("held-out", (penalty, None)),
        }
    }

    fn sparse(&mut self, choice: &'static str, selection: SelectedPenalty) -> Result<Answer, AnswerError> {
        let Self { question, source, watch } = self;
        let problem = FantopeProblem::new(source.covariance.matrix(), question.rank, selection.0)?;
        let (tolerance, noise) = (question.tolerance, Some(source.covariance.noise_deviation()));
        let solution = solve(&problem, tolerance, noise, &mut |progress| watch.flow(&Step::Solving(*progress)))?;
        if watch.is_late() && solution.status == SolverStatus::BudgetExhausted {
            watch.missing(Part::Solution, solution.iterations, settings(tolerance).max_iterations);
        }
        Ok(Answer::facts(*source).with_sparse(choice, selection, solution))
    }

    /// Measures the method of an answer, beside plain components, on reports held out.
    pub(super) fn measure(&mut self, answer: &Answer) -> Result<Option<HeldOut>, AnswerError> {
        let mut fits = vec![Fit::PLAIN];
        if let Some(penalty) = answer.found.penalty() {
            let unit = default_penalty(answer.trust.noise_deviation, answer.asked.dimension, 1.0)?.value();
            fits.push(Fit { method: answer.asked.method, factor: penalty / unit });
        }
        let mut held_out = self.compare(&fits)?;
        if let Some(last) = held_out.as_mut().and_then(|held_out| held_out.answers.last_mut()) {
            last.chosen = true;
        }
        Ok(held_out)
    }

    /// Compares methods on reports held out; nothing where there are no folds, too many features, or too little time.
    fn compare(&mut self, fits: &[Fit]) -> Result<Option<HeldOut>, AnswerError> {
        let Self { question, source: Source { reports, covariance }, watch } = self;
        // With one feature there is one answer, and no penalty has a unit.
        let is_possible = (2..=DECOMPOSED).contains(&covariance.matrix().nrows());
        if !is_possible || !watch.begin(Part::HeldOut, Some(HeldOut::problems(*reports, fits))) {
            return Ok(None);
        }
        let settings =
            SolverSettings { max_iterations: MOST_ITERATIONS, ..settings(question.tolerance).for_sequence() };
        let measured = HeldOut::measure(*reports, covariance, question.rank, fits, &settings, &mut |state| {
            watch.solved(Part::Penalty, state)
        });
        Ok(watch.in_time(Part::HeldOut, measured)?.flatten())
    }

    /// The penalty, and the name of the choice that gave it: `auto` where time did not suffice for cross-validation.
    fn select(&mut self, choice: &PenaltyChoice) -> Result<(&'static str, SelectedPenalty), AnswerError> {
        let Self { question, source, watch } = self;
        let settings = settings(question.tolerance).for_sequence();
        let select = |choice: &PenaltyChoice, watch: &mut Watched<'_, '_>| {
            choice.select(source.covariance, source.reports, question.rank, &settings, &mut |state| {
                watch.solved(Part::Penalty, state)
            })
        };
        let selection = select(choice, watch);
        if let Some(selection) = watch.in_time(Part::Penalty, selection)? {
            return Ok((choice.name(), selection));
        }
        let auto = PenaltyChoice::default();
        Ok((auto.name(), select(&auto, watch)?))
    }

    /// The points that were solved in time; none where there are none.
    pub(super) fn solve_path(&mut self, points: usize) -> Result<Option<Vec<PathPoint>>, AnswerError> {
        let Self { question, source, watch } = self;
        let matrix = source.covariance.matrix();
        let penalties = default_penalty_sequence(matrix, source.covariance.noise_deviation(), points)?;
        if !watch.begin(Part::Path, Some(penalties.len())) {
            return Ok(None);
        }
        let mut solved = Vec::with_capacity(penalties.len());
        let settings = settings(question.tolerance).for_sequence();
        let mut step = |state: &SequenceProgress| watch.solved(Part::Path, state);
        let outcome = solve_sequence(matrix, question.rank, &penalties, &settings, &mut step, &mut solved);
        watch.in_time(Part::Path, outcome.map_err(PenaltyError::from))?;
        Ok((!solved.is_empty()).then_some(solved))
    }

    /// Bootstraps the components; none where time did not suffice for an interval.
    ///
    /// The truth behind a sparse answer may be as sparse as the answer, or as dense as the plain components: nothing
    /// in the reports decides it. Each replicate is drawn from both, and the interval holds both.
    pub(super) fn confidence(
        &mut self,
        answer: &Answer,
        noise: (&NoiseLaw, &[f64]),
        replicates: usize,
    ) -> Result<Option<Confidence>, AnswerError> {
        let Self { question, source, watch } = self;
        let (matrix, rank) = (source.covariance.matrix(), question.rank);
        if !watch.begin(Part::Bootstrap, Some(replicates)) {
            return Ok(None);
        }
        let penalty = answer.found.penalty().map(Penalty::new).transpose()?;
        let is_sparse = answer.found.sparse.is_some();
        let settings = SolverSettings { tolerance: REPLICATE_TOLERANCE, ..SolverSettings::default() };
        let solver = FantopeSolver::new(settings)?;
        let (watched, last) = (RefCell::new(watch), Cell::new(0));
        let show = |done| watched.borrow_mut().step(&Step::Done { part: Part::Bootstrap, done, of: replicates });
        let plain = |matrix: &DMatrix<f64>| principal_components(matrix, rank);
        let estimator = |matrix: &DMatrix<f64>| -> Result<Option<SubspaceEstimate>, RecoveryError> {
            let problem = match penalty {
                None => return Ok(Some(plain(matrix)?.into())),
                Some(penalty) if is_sparse => FantopeProblem::new(matrix, rank, penalty)?,
                Some(penalty) => return Ok(Some(thresholded(matrix, penalty, rank)?)),
            };
            let solution = solver.solve_with(&problem, None, &mut |_| show(last.get()))?;
            // What was stopped is no replicate.
            Ok(watched.borrow().stop.is_none().then(|| solution.into()))
        };
        let dense = penalty.map(|_| plain(matrix)).transpose()?.map(SubspaceEstimate::from);
        let mut rng = ChaCha12Rng::seed_from_u64(question.bootstrap_seed);
        let outcome = bootstrap(matrix, noise, replicates, estimator, dense.as_ref(), &mut rng, |done| {
            last.set(done);
            show(done)
        });
        let (watch, done) = (watched.into_inner(), last.get());
        if watch.is_late() && done < replicates {
            watch.missing(Part::Bootstrap, done, replicates);
        }
        match outcome {
            Err(BootstrapError::Cancelled(_)) if watch.is_late() => Ok(None),
            outcome => {
                let (outcome, second) = outcome?;
                Ok(Some(Confidence::of(&outcome, second.as_ref())))
            }
        }
    }
}
