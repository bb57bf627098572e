//! Every part of an answer equals that of the function it comes from, and a stop ends all the work.

use std::ops::ControlFlow;

use chacha20::ChaCha20Rng;
use ldp_pca_simulation::{SecondMoment, SpikedModel};
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

use super::*;
use crate::aggregate::Aggregate;
use crate::centring::Centring;
use crate::mechanism::HostilePull;
use crate::mechanism::MechanismSpec;
use crate::privacy::tests::epsilon;
use crate::record::Bounding;
use crate::recovery::bootstrap::{SubspaceEstimate, bootstrap};
use crate::recovery::denoise::{Denoised, Denoising, project_psd};
use crate::recovery::{FantopeProblem, FantopeSolver, Method, PathError, Penalty, PenaltyChoice, default_penalty};
use crate::tests::{self, clip, double_cap, gaussian, rank, sum, task};

const DIMENSION: usize = 8;

/// One spike on 3 of the features, from 2,000 reports.
pub(in crate::recovery) struct Collected {
    pub(in crate::recovery) task: Task,
    pub(in crate::recovery) aggregate: Aggregate,
    pub(in crate::recovery) covariance: Covariance,
}

impl Collected {
    pub(in crate::recovery) fn new(centring: Option<Centring>) -> Self {
        Self::of(Bounding::UnitNorm, centring)
    }

    /// Of a task whose features may be selected.
    fn clipped() -> Self {
        Self::of(clip(1.0), Some(Centring::new(0.25).unwrap()))
    }

    fn of(bounding: Bounding, centring: Option<Centring>) -> Self {
        let task = tests::centred(task(DIMENSION, bounding, double_cap(4.0, 32, 2), 3), centring);
        let mut rng = ChaCha20Rng::seed_from_u64(11);
        let model = SpikedModel::draw(DIMENSION, 1usize.try_into().unwrap(), 20.0, Some(3), &mut rng).unwrap();
        let aggregate = sum(&task, &tests::reports(&task, 2000, &mut rng, |_, rng| model.record(rng)));
        let covariance = Covariance::estimate(&aggregate, &task).unwrap();
        Self { task, aggregate, covariance }
    }

    fn reports(&self) -> Reports<'_> {
        Reports::one(&self.aggregate, &self.task)
    }

    fn answer(&self, question: &Question) -> Result<Answer, AnswerError> {
        self.watched(question, &mut |_| ControlFlow::Continue(()))
    }

    fn watched(&self, question: &Question, watch: &mut Watch<'_>) -> Result<Answer, AnswerError> {
        answer(question, self.reports(), &self.covariance, watch)
    }
}

fn sparse(choice: PenaltyChoice) -> Question {
    Question { penalty: Some(choice), ..Question::new(rank(1)) }
}

#[test]
fn plain_components_come_with_what_was_asked() {
    let collected = Collected::new(None);
    let covariance = &collected.covariance;
    let question = Question { predict: true, hostile: Some(9), bootstrap: Some(20), ..Question::new(rank(2)) };
    let found = collected.answer(&question).unwrap();
    let plain = principal_components(covariance.matrix(), rank(2)).unwrap();
    assert_eq!(found.vectors(), plain.vectors);
    assert_eq!(DVector::from_vec(found.found.eigenvalues.clone()), plain.values);
    assert_eq!((found.found.spectrum.as_deref(), found.found.gap), (Some(plain.all_values.as_slice()), plain.gap()));
    assert_eq!((found.asked.records, found.asked.rank, found.asked.method), (2000, 2, Method::Pca));
    assert_eq!(found.trust.predicted, Some(predict_from_estimate(covariance, rank(2)).unwrap()));
    let pull = HostilePull::new(9, 2000, |hostile| covariance.pull(collected.reports(), hostile));
    assert_eq!(found.trust.hostile, Some(pull));
    assert!((found.found.leverages.iter().sum::<f64>() - 2.0).abs() < 1e-12);
    let confidence = found.trust.confidence.as_ref().unwrap();
    assert_eq!((confidence.replicates, confidence.components.len()), (20, 2));
    assert_eq!((confidence.loading_errors.len(), confidence.loading_errors[0].len()), (2, DIMENSION));

    let bare = collected.answer(&Question::new(rank(2))).unwrap();
    let mut without = found.clone();
    (without.trust.predicted, without.trust.hostile, without.trust.confidence) = (None, None, None);
    assert_eq!(bare, without);
    let tested = collected.answer(&Question { test_rank: true, ..Question::new(rank(2)) }).unwrap();
    assert_eq!(tested.trust.rank_test, Some(RankTest::new(covariance.matrix(), &covariance.noise_law()).unwrap()));
    assert_eq!(collected.answer(&Question::new(rank(DIMENSION))).unwrap().found.gap, None);
}

#[test]
fn no_more_components_stand_out_than_their_test_finds() {
    let question = Question { test_rank: true, ..Question::new(rank(2)) };
    let mut found = Collected::new(None).answer(&question).unwrap();
    found.found.variances = Some(vec![Some(0.5); 2]);
    assert_eq!((found.standing_out(), found.buried()), (vec![0], 1));
    // One feature alone may be the mean, if it is no noise.
    found.found.components[0] = (0..DIMENSION).map(|row| if row == 0 { 1.0 } else { 0.0 }).collect();
    assert!(!found.marks_of_mean().is_empty());
    found.trust.rank_test.as_mut().unwrap().components[0].p_value = 0.5;
    assert!(found.standing_out().is_empty() && found.marks_of_mean().is_empty());
    found.trust.rank_test.as_mut().unwrap().components.clear();
    assert_eq!((found.standing_out(), found.buried()), (vec![0, 1], 0));
    (found.found.variances, found.trust.noise_edge) = (None, f64::MAX);
    assert_eq!(found.buried(), 2);
}

/// One statement in the variances, the count and the warning, whatever the penalty leaves of the variance.
#[test]
fn sparse_components_are_noise_only_where_the_test_of_plain_ones_says_so() {
    let collected = Collected::new(None);
    let law = collected.covariance.noise_law();
    let question = Question { test_rank: true, ..sparse(PenaltyChoice::Value(Penalty::new(0.02).unwrap())) };
    let tested = collected.answer(&question).unwrap();
    let test = tested.trust.rank_test.clone().unwrap();
    assert_eq!((test.standing_out(), test.components.len()), (1, 2));
    let (mut none, mut first) = (test.clone(), test.clone());
    none.components[0].p_value = 0.5;
    first.components.truncate(1);
    for (eigenvalue, test, stands) in [
        // Below every edge, and above.
        (1e-6, Some(&test), true),
        (1e-6, Some(&first), true),
        (1e-6, Some(&none), false),
        (1e-6, None, false),
        (0.9, Some(&test), true),
        (0.9, Some(&none), false),
        (0.9, None, true),
    ] {
        let mut found = tested.clone();
        (found.found.eigenvalues, found.trust.rank_test) = (vec![eigenvalue], test.cloned());
        let found = found.without_noise(&law, &[]);
        let variance = found.found.variances.as_ref().unwrap()[0];
        assert_eq!((variance.is_some(), found.standing_out().len()), (stands, usize::from(stands)));
        assert_eq!(found.trust.variance_errors.as_ref().unwrap()[0].is_some(), stands);
        assert!(variance.is_none_or(|variance| variance <= eigenvalue), "{variance:?}");
    }
    // From reports to the answer, with one feature left too.
    for penalty in [0.02, 0.3] {
        let choice = PenaltyChoice::Value(Penalty::new(penalty).unwrap());
        let found = collected.answer(&Question { find_rank: true, ..sparse(choice) }).unwrap();
        assert_eq!((found.asked.rank, found.standing_out(), found.buried()), (1, vec![0], 0), "{penalty}");
        assert!(found.found.variances.unwrap()[0].is_some(), "{penalty}");
    }
}

/// The test is made once, and what follows is the answer to the rank that was given.
#[test]
fn where_nothing_stands_out_there_is_what_was_given_and_no_share_is_predicted() {
    let task = task(DIMENSION, Bounding::UnitNorm, double_cap(4.0, 32, 2), 3);
    let mut rng = ChaCha20Rng::seed_from_u64(13);
    let drawn = |_| {
        let reports = tests::reports(&task, 200, &mut rng, |_, rng| {
            (0..DIMENSION).map(|_| rng.sample::<f64, _>(StandardNormal)).collect()
        });
        let aggregate = sum(&task, &reports);
        let covariance = Covariance::estimate(&aggregate, &task).unwrap();
        Collected { task: task.clone(), aggregate, covariance }
    };
    let held_out = HeldOutUse::Measure;
    let question = Question { find_rank: true, predict: true, held_out, ..Question::new(rank(2)) };
    let is_refused = |collected: &Collected| {
        let refused = collected.answer(&question);
        matches!(refused, Err(AnswerError::Recovery(RecoveryError::NoComponent { .. })))
    };
    // In 5 % of collections one does.
    let collected = (0..4).map(drawn).find(is_refused).unwrap();
    let mut tested = 0;
    let watch = &mut |step: &Step| {
        tested += u32::from(*step == Step::Beginning(Part::Rank));
        ControlFlow::Continue(())
    };
    let given = |test: &RankTest| Ok(test.rank().unwrap_or(question.rank));
    let found = answer_by(&question, collected.reports(), &collected.covariance, watch, given).unwrap();
    assert_eq!((tested, found.asked.rank, found.buried()), (1, 2, 2));
    assert_eq!(found.trust.predicted.as_ref().unwrap().share_found, None);
    let expected = Question { find_rank: false, test_rank: true, ..question.clone() };
    assert_eq!(found, collected.answer(&expected).unwrap());
}

#[test]
fn sparse_components_come_with_scores_path_and_simpler_methods() {
    let collected = Collected::new(None);
    let covariance = &collected.covariance;
    let question = Question { path: Some(4), ..sparse(PenaltyChoice::cross_validated()) };
    let found = collected.answer(&question).unwrap();
    let solved = found.found.sparse.as_ref().unwrap();
    let chosen: Vec<f64> = (solved.cross_validation.iter().flatten())
        .filter_map(|point| point.chosen.then_some(point.penalty.value()))
        .collect();
    assert_eq!(chosen, [solved.penalty]);
    assert_eq!((solved.penalty_choice, &solved.baselines), ("cv", &None));
    let path = found.found.path.as_ref().unwrap();
    let last = default_penalty(covariance.noise_deviation(), DIMENSION, 0.125).unwrap();
    assert_eq!((path.len(), path[3].penalty), (4, last));

    let question = Question { baselines: When::Quick, ..sparse(PenaltyChoice::Value(Penalty::new(0.02).unwrap())) };
    let mut found = collected.answer(&question).unwrap();
    assert_eq!((found.asked.method, found.found.status()), (Method::Fantope, SolverStatus::Optimal));
    let problem = FantopeProblem::new(covariance.matrix(), rank(1), Penalty::new(0.02).unwrap()).unwrap();
    let (solver, noise) = (FantopeSolver::default(), covariance.noise_deviation());
    let solution = solver.solve_within_noise(&problem, noise, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(found.vectors(), solution.components);
    assert_eq!(found.found.eigenvalues, solution.variances.as_slice());
    assert_eq!(found.found.spectrum.as_ref().map(Vec::len), Some(DIMENSION));
    found.compare(covariance.matrix(), 1).unwrap();
    let compared = found.trust.compared.clone().unwrap();
    assert!(matches!(found.compare_components(&DMatrix::identity(DIMENSION, 2)), Err(AnswerError::Subspace(_))));
    let solved = found.found.sparse.unwrap();
    let baselines = solved.baselines.unwrap();
    // The reference is the estimate, whose own components are one of the simpler methods.
    assert!(baselines.pca.sin_theta_squared.unwrap() < 1e-12);
    assert!((compared.sin_theta_squared - baselines.pca.distance).abs() < 1e-12);
    let reference = &compared.reference;
    assert!(reference.captured_variance <= reference.largest_captured_variance);
    let beyond_random = |share: f64| share - found.asked.rank as f64 / DIMENSION as f64;
    let share = beyond_random(reference.captured_variance) / beyond_random(reference.largest_captured_variance);
    assert!((reference.share_found.unwrap() - share).abs() < 1e-9, "{reference:?}");
    assert_eq!(solved.support, solved.rows.iter().map(|row| format!("c{}", row + 1)).collect::<Vec<_>>());
}

#[test]
fn who_stops_the_solver_gets_what_it_has_and_why() {
    let collected = Collected::new(None);
    let question = Question {
        tolerance: Some(1e-300),
        predict: true,
        ..sparse(PenaltyChoice::Value(Penalty::new(1e-4).unwrap()))
    };
    let stopped = |stop| collected.watched(&question, &mut |_| ControlFlow::Break(stop)).unwrap();
    let late = stopped(Stop::OutOfTime);
    assert_eq!((late.found.status(), late.trust.predicted.is_some()), (SolverStatus::BudgetExhausted, true));
    let cancelled = stopped(Stop::Cancelled);
    assert_eq!((cancelled.found.status(), cancelled.trust.predicted.is_some()), (SolverStatus::Cancelled, false));
    assert_eq!(cancelled.found.components, late.found.components);
    let path = Question { path: Some(3), ..question.clone() };
    let refused = collected.watched(&path, &mut |step| match step {
        Step::Done { part: Part::Path, .. } => ControlFlow::Break(Stop::Cancelled),
        _ => ControlFlow::Continue(()),
    });
    assert!(matches!(refused, Err(AnswerError::Penalty(PenaltyError::Path(PathError::Cancelled { .. })))));
}

/// The parts that are missing when time is up at the first step that `late` says.
fn in_time(question: &Question, mut late: impl FnMut(&Step) -> bool) -> (Answer, Vec<(Part, u64, u64)>) {
    let collected = Collected::new(None);
    let found = collected.watched(question, &mut |step| {
        if late(step) { ControlFlow::Break(Stop::OutOfTime) } else { ControlFlow::Continue(()) }
    });
    let found = found.unwrap();
    let missing = found.missing.unfinished.iter().map(|part| (part.part, part.done, part.of.unwrap())).collect();
    (found, missing)
}

#[test]
fn time_that_is_up_leaves_the_best_answer_and_says_what_is_missing() {
    let everything = Question {
        tolerance: Some(0.0),
        path: Some(3),
        baselines: When::Quick,
        predict: true,
        bootstrap: Some(40),
        ..sparse(PenaltyChoice::cross_validated())
    };
    let (found, missing) = in_time(&everything, |_| true);
    let [penalty, solution, rest @ ..] = missing.as_slice() else { panic!("{missing:?}") };
    assert_eq!((*penalty, solution.0), ((Part::Penalty, 0, 27), Part::Solution));
    assert_eq!(rest, [(Part::Path, 0, 3), (Part::Baselines, 0, 2), (Part::Bootstrap, 0, 40)]);
    assert_eq!((found.found.components.len(), found.trust.predicted.is_some()), (1, true));
    assert_eq!((&found.found.path, &found.trust.confidence), (&None, &None));
    let solved = found.found.sparse.unwrap();
    assert_eq!((solved.penalty_choice, solved.status, solved.baselines), ("auto", SolverStatus::BudgetExhausted, None));
    assert!(solved.relative_gap.is_finite() && solved.cross_validation.is_none());
    let auto = default_penalty(Collected::new(None).covariance.noise_deviation(), DIMENSION, 0.5).unwrap();
    assert_eq!(solved.penalty, auto.value());

    // The same without a limit has everything, and nothing is missing.
    let question = Question { tolerance: None, ..everything.clone() };
    let (whole, missing) = in_time(&question, |_| false);
    assert_eq!((missing.as_slice(), whole.found.path.unwrap().len()), (&[][..], 3));
    // A path is what was solved of it.
    let (found, missing) = in_time(&question, |step| matches!(step, Step::Done { part: Part::Path, done: 2, .. }));
    assert_eq!((missing.as_slice(), found.found.path.unwrap().len()), (&[(Part::Path, 2, 3)][..], 2));
    assert!(
        found.found.sparse.unwrap().baselines.is_some() && found.trust.confidence.is_some(),
        "later parts ask again"
    );
}

/// Whether so many replicates are drawn.
fn is_drawn(step: &Step, count: usize) -> bool {
    matches!(step, Step::Done { part: Part::Bootstrap, done, .. } if *done >= count)
}

#[test]
fn an_interval_is_of_the_replicates_in_time_and_none_of_too_few() {
    let plain = Question { bootstrap: Some(60), ..Question::new(rank(1)) };
    let solved = Question { bootstrap: Some(60), ..sparse(PenaltyChoice::Value(Penalty::new(0.02).unwrap())) };
    for question in [plain, solved] {
        let until = |most| in_time(&question, move |step| is_drawn(step, most));
        let (found, missing) = until(30);
        assert_eq!(
            (found.trust.confidence.unwrap().replicates, missing.as_slice()),
            (30, &[(Part::Bootstrap, 30, 60)][..])
        );
        let (found, missing) = until(19);
        assert_eq!((found.trust.confidence, missing.as_slice()), (None, &[(Part::Bootstrap, 19, 60)][..]));
    }
    // Within a replicate, too: the estimate itself is solved again first.
    let question = Question { bootstrap: Some(60), ..sparse(PenaltyChoice::Value(Penalty::new(1e-4).unwrap())) };
    let (found, missing) = in_time(&question, |step| is_drawn(step, 0));
    assert_eq!((found.trust.confidence, missing.as_slice()), (None, &[(Part::Bootstrap, 0, 60)][..]));
}

#[test]
fn an_answer_says_what_its_components_are_about() {
    let plain = Collected::new(None).answer(&Question::new(rank(1))).unwrap();
    assert_eq!((plain.asked.centred, plain.found.mean), (false, None));
    let collected = Collected::new(Some(Centring::new(0.25).unwrap()));
    let centred = collected.answer(&Question::new(rank(1))).unwrap();
    assert!(centred.asked.centred);
    // The population has mean 0, of which the squared noise makes nothing.
    let share = centred.found.mean.unwrap().share.unwrap();
    assert!((0.0..0.2).contains(&share), "{share}");
}

#[test]
fn components_about_a_mean_come_with_their_error_and_its_interval() {
    let collected = Collected::new(Some(Centring::new(0.25).unwrap()));
    let question = Question { predict: true, bootstrap: Some(40), ..Question::new(rank(1)) };
    let found = collected.answer(&question).unwrap();
    let predicted = predict_from_estimate(&collected.covariance, rank(1)).unwrap();
    assert!(predicted.sin_theta_squared < 0.5 * predicted.uninformed, "{predicted:?}");
    let confidence = found.trust.confidence.unwrap();
    let interval = confidence.interval;
    let (share, interval_of_share) = (predicted.share_found.unwrap(), confidence.share_found.unwrap());
    assert!(interval_of_share.lower < share && share < interval_of_share.upper, "{interval_of_share:?} {share}");
    assert!(
        interval.lower < predicted.sin_theta_squared && predicted.sin_theta_squared < interval.upper,
        "{interval:?}"
    );
    assert_eq!(found.trust.predicted, Some(predicted));
}

#[test]
fn the_intervals_of_two_models_hold_those_of_each() {
    let covariance = Collected::new(None).covariance;
    let components = DMatrix::from_fn(DIMENSION, 1, |row, _| if row == DIMENSION - 1 { 1.0 } else { 0.0 });
    let second = SubspaceEstimate { components, support: (0..DIMENSION).collect() };
    let (estimate, law, rng) = (covariance.matrix(), covariance.noise_law(), &mut ChaCha20Rng::seed_from_u64(1));
    let plain = |matrix: &DMatrix<f64>| Ok(Some(principal_components(matrix, rank(1))?.into()));
    let drawn = bootstrap(estimate, (&law, &[]), 20, plain, Some(&second), rng, |_| ControlFlow::Continue(()));
    let (first, second) = drawn.unwrap();
    let second = second.unwrap();
    let found = Confidence::of(&first, Some(&second));
    let [one, other] = [&first, &second].map(|model| model.interval(0.95));
    assert_eq!((found.interval.lower, found.interval.upper), (one.lower.min(other.lower), one.upper.max(other.upper)));
    let [one, other] = [&first, &second].map(|model| model.share_found(0.95).unwrap());
    let share = found.share_found.unwrap();
    assert_eq!((share.lower, share.upper), (one.lower.min(other.lower), one.upper.max(other.upper)));
    let [one, other] = [&first, &second].map(|model| model.components[0].interval(0.95));
    let interval = found.components[0].interval;
    assert_eq!((interval.lower, interval.upper), (one.lower.min(other.lower), one.upper.max(other.upper)));
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let collected = Collected::new(None);
    let mut plain = collected.answer(&Question::new(rank(1))).unwrap();
    let empty = plain.compare(&DMatrix::identity(DIMENSION, DIMENSION), 0);
    assert_eq!(empty, Err(AnswerError::EmptyReference));
    assert!(matches!(collected.answer(&Question::new(rank(DIMENSION + 1))), Err(AnswerError::Recovery(_))));
}

/// The parts of an answer are for programs in Rust: as a document it is flat.
#[test]
fn an_answer_is_one_flat_document() {
    let collected = Collected::clipped();
    let question = Question { predict: true, bootstrap: Some(20), select: Some(0.1), ..Question::new(rank(1)) };
    let mut found = collected.answer(&question).unwrap();
    found.compare(collected.covariance.matrix(), 1).unwrap();
    found.missing.unfinished.push(Unfinished { part: Part::Other, done: 3, of: Some(4) });
    let document = serde_json::to_value(&found).unwrap();
    assert_eq!(
        (&document["method"], &document["records"], &document["rank"]),
        (&"pca".into(), &2000.into(), &1.into())
    );
    assert_eq!(document["components"][0].as_array().unwrap().len(), DIMENSION);
    assert_eq!(document["noise_edge"], collected.covariance.noise_edge());
    assert_eq!(document["confidence"]["replicates"], 20);
    assert_eq!(document["sin_theta_squared"], found.trust.compared.as_ref().unwrap().sin_theta_squared);
    assert_eq!((&document["reference"]["records"], &document["selection"]["rate"]), (&1.into(), &0.1.into()));
    assert_eq!(document["unfinished"][0]["part"], "other");
    for absent in ["asked", "found", "trust", "missing", "compared", "alone", "spectrum", "sparse", "rank_test"] {
        assert!(document.get(absent).is_none(), "{absent}");
    }
}

#[test]
fn an_answer_has_as_many_components_as_stand_out() {
    let collected = Collected::clipped();
    let (reports, covariance) = (collected.reports(), &collected.covariance);
    let question = Question { find_rank: true, select: Some(0.2), ..Question::new(rank(5)) };
    let confirmed = collected.answer(&Question { held_out: HeldOutUse::Measure, ..question.clone() }).unwrap();
    let found = collected.answer(&question).unwrap();
    let mut test = RankTest::new(covariance.matrix(), &covariance.noise_law()).unwrap();
    let expected = Question { rank: test.rank().unwrap(), find_rank: false, ..question };
    assert_eq!(found.trust.rank_test.as_ref(), Some(&test), "no report is held out where none is wanted");
    test.confirm(reports, covariance, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(confirmed.trust.rank_test, Some(test));
    let mut without = found.clone();
    without.trust.rank_test = None;
    assert_eq!(without, collected.answer(&expected).unwrap());
    let features = FeatureTest::new(covariance, expected.rank).unwrap();
    let selected = found.found.selection.unwrap();
    let names: Vec<String> = features.selected(0.2).iter().map(|row| format!("c{}", row + 1)).collect();
    assert_eq!((selected.rate, selected.features, selected.test), (0.2, names, features));
}

#[test]
fn features_are_selected_by_a_rate_from_reports_that_say_what_covaries_alone() {
    let centring = Some(Centring::new(0.25).unwrap());
    let select = |rate| Question { select: Some(rate), ..Question::new(rank(1)) };
    for collected in [Collected::new(None), Collected::new(centring)] {
        assert!(matches!(collected.answer(&select(0.1)), Err(AnswerError::Selection(_))));
    }
    for rate in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(matches!(Collected::clipped().answer(&select(rate)), Err(AnswerError::Rate(_))), "{rate}");
    }
    // A wrong question costs nothing.
    let question = Question { find_rank: true, ..select(0.0) };
    let refused = Collected::clipped().watched(&question, &mut |step| panic!("{step:?}"));
    assert!(matches!(refused, Err(AnswerError::Rate(_))));
}

#[test]
fn questions_are_kept_as_documents() {
    let question = Question { path: Some(20), baselines: When::Always, ..sparse(PenaltyChoice::cross_validated()) };
    let text = serde_json::to_string(&question).unwrap();
    // Those that were kept before the rank could be left to a test have no word of it.
    for text in [&text, &text.replacen(r#""find_rank":false,"#, "", 1)] {
        assert_eq!(serde_json::from_str::<Question>(text).unwrap(), question);
    }
    assert!(serde_json::from_str::<Question>(&text.replacen('{', r#"{"more": 1,"#, 1)).is_err());
}

#[test]
fn a_covariance_is_denoised_as_asked_and_shrunk_by_a_law_alone() {
    let covariance = Collected::new(None).covariance;
    let (estimate, law) = (covariance.matrix(), covariance.noise_law());
    for denoising in [Denoising::Frobenius, Denoising::Operator] {
        let (found, expected) = (denoising.apply(&covariance).unwrap(), denoising.shrink(estimate, &law).unwrap());
        assert_eq!((found.denoising, found.bulk), (denoising, Some(expected.bulk())));
        assert_eq!(found.eigenvalues.as_deref(), Some(expected.variances().as_slice()));
        assert_eq!(found.matrix, expected.matrix());
    }
    let centred = Collected::new(Some(Centring::new(0.25).unwrap())).covariance;
    for covariance in [&covariance, &centred] {
        let estimate = covariance.matrix();
        for (denoising, matrix) in
            [(Denoising::Psd, project_psd(estimate).unwrap()), (Denoising::None, estimate.clone())]
        {
            let expected = Denoised { denoising, eigenvalues: None, bulk: None, matrix };
            assert_eq!(denoising.apply(covariance), Ok(expected));
        }
    }
    assert_eq!(Denoising::Frobenius.apply(&centred), Err(RecoveryError::NoLaw));
}

/// The share of records of zeros alone, in 200 collections of each share: the mean is right, to 5 of its standard
/// errors, at least 180 intervals of two bounds hold it, and the bound is no more than twice the scatter. Of intervals
/// of 95.4 %, 191 hold it on average, and fewer than 180 in one of 2,000 such tests.
#[test]
fn the_share_of_records_of_zeros_is_estimated() {
    for spec in [MechanismSpec::double_cap(epsilon(4.0)), gaussian(8.0)] {
        for (dimension, centring, share) in [(3, None, 0.0), (3, Some(0.25), 0.46), (30, None, 0.22), (30, None, 1.0)] {
            let centring = centring.map(|weight| Centring::new(weight).unwrap());
            let task = tests::centred(task(dimension, Bounding::UnitNorm, spec, 1), centring);
            let mut rng = ChaCha20Rng::seed_from_u64(13);
            let found: Vec<[f64; 2]> = (0..200)
                .map(|_| {
                    let reports = tests::reports(&task, 300, &mut rng, |_, rng| {
                        let length = f64::from(u8::from(rng.random::<f64>() >= share));
                        // Skewed answers, far from their offsets.
                        (0..dimension).map(|_| length * rng.sample::<f64, _>(StandardNormal).exp()).collect()
                    });
                    let aggregate = sum(&task, &reports);
                    let covariance = Covariance::estimate(&aggregate, &task).unwrap();
                    let source = Source { reports: Reports::one(&aggregate, &task), covariance: &covariance };
                    let facts = Answer::facts(source);
                    [facts.found.empty_share.unwrap(), facts.trust.empty_share_error.unwrap()]
                })
                .collect();
            let mean = found.iter().map(|[found, _]| found).sum::<f64>() / 200.0;
            let scatter = (found.iter().map(|[found, _]| (found - mean).powi(2)).sum::<f64>() / 200.0).sqrt();
            let told = format!("{spec:?} {dimension} {centring:?} {share}: {mean} {scatter} {}", found[0][1]);
            assert!((mean - share).abs() < 5.0 * scatter / 200f64.sqrt(), "{told}");
            let held = found.iter().filter(|[found, error]| (found - share).abs() < 2.0 * error).count();
            assert!(held >= 180, "{told}: {held}");
            assert!(found[0][1] < 2.0 * scatter, "{told}");
        }
    }
}

/// Skewed answers, half of them zeros, through the real mechanisms: at least 93 of 100 intervals of two standard errors
/// hold the variance that the population has along its first component.
#[test]
fn variances_come_with_their_errors() {
    let record = |rng: &mut ChaCha20Rng| {
        let common: f64 = rng.sample(StandardNormal);
        let answer = |feature: usize, rng: &mut ChaCha20Rng| {
            let value = rng.sample::<f64, _>(StandardNormal) + if feature < 3 { 2.0 * common } else { 0.0 };
            if value > 0.0 { value.exp() } else { 0.0 }
        };
        (0..DIMENSION).map(|feature| answer(feature, rng)).collect::<Vec<f64>>()
    };
    for (spec, centring) in [
        (MechanismSpec::double_cap(epsilon(4.0)), None),
        (MechanismSpec::double_cap(epsilon(4.0)), Some(Centring::default())),
        (gaussian(8.0), None),
    ] {
        let task = tests::centred(task(DIMENSION, Bounding::UnitNorm, spec, 1), centring);
        let mut rng = ChaCha20Rng::seed_from_u64(14);
        let mut moments = SecondMoment::new(DIMENSION, task.bounding().covariance_scale());
        (0..100_000).for_each(|_| moments.add_coordinates(task.bound(record(&mut rng)).unwrap().coordinates()));
        let reference = if task.centring().is_some() { moments.covariance() } else { moments.matrix() };
        let truth = crate::linalg::symmetric_eigenvalues(&reference).unwrap();
        let (mut held, mut known) = (0, 0);
        for _ in 0..100 {
            let aggregate = sum(&task, &tests::reports(&task, 1500, &mut rng, |_, rng| record(rng)));
            let covariance = Covariance::estimate(&aggregate, &task).unwrap();
            let reports = Reports::one(&aggregate, &task);
            let found = components(&Question::new(rank(1)), reports, &covariance, &mut |_| ControlFlow::Continue(()));
            let found = found.unwrap();
            let (variances, errors) = (found.found.variances.unwrap(), found.trust.variance_errors.unwrap());
            let Some((variance, error)) = variances[0].zip(errors[0]) else { continue };
            known += 1;
            held += u32::from((variance - truth[0]).abs() < 2.0 * error);
        }
        assert!(known >= 90 && held >= known - 7, "{spec:?} {centring:?}: {held} of {known}, {truth}");
    }
}

/// Records of eight features with no component, or nothing at all, in 200 collections each: a first component stands
/// out in 5 % of them at most. 10 are expected then, and 23 or more have a probability of 2e-4.
#[test]
fn noise_is_taken_for_a_component_in_5_percent_of_collections_at_most() {
    let task = task(DIMENSION, Bounding::UnitNorm, MechanismSpec::double_cap(epsilon(4.0)), 1);
    for (records, length) in [(200, 1.0), (1000, 1.0), (1000, 0.0)] {
        let mut rng = ChaCha20Rng::seed_from_u64(12);
        let above = (0..200).filter(|_| {
            let reports = tests::reports(&task, records, &mut rng, |_, rng| {
                (0..DIMENSION).map(|_| length * rng.sample::<f64, _>(StandardNormal)).collect()
            });
            let aggregate = sum(&task, &reports);
            let covariance = Covariance::estimate(&aggregate, &task).unwrap();
            let reports = Reports::one(&aggregate, &task);
            let found = components(&Question::new(rank(1)), reports, &covariance, &mut |_| ControlFlow::Continue(()));
            let found = found.unwrap();
            found.found.variances.unwrap()[0].is_some()
        });
        let above = above.count();
        assert!(above < 23, "{records} {length}: {above}");
    }
}
