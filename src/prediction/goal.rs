//! All predictions about one collection at once, for every interface.

use serde::Serialize;

use super::optimum::Optimum;
use super::{Batches, Planner, Prediction, PredictionError, alone};
use crate::mechanism::{HostilePull, LocalRandomizer, Moments, Pull};
use crate::privacy::{Delta, Epsilon, Guarantee};
use crate::record::Bounding;

/// What is wanted of a collection, beyond what its [`Planner`] knows. All is optional: thresholds are always given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goal {
    /// A number of reports, to predict their error.
    pub records: Option<u64>,
    /// An error `||sin Theta||_F^2`, to find the number of reports it takes, and with `records` the epsilon.
    pub target: Option<f64>,
    /// A [share](crate::subspace::share_found) of the structure, to find the number of reports it takes.
    pub share: Option<f64>,
    /// Batches in which reports are shuffled before anybody sees them, to answer for these as well: epsilon is then
    /// that of one batch.
    pub shuffled: Option<Batches>,
    /// A number of hostile reports, to bound how far they can move an eigenvalue.
    pub hostile: Option<u64>,
}

/// The answers for a [`Goal`]. An answer that was not asked for is `None`, and left out of the serialized form; one
/// without a finite value is `Some(None)`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Plan {
    /// The number of features, d.
    pub dimension: usize,
    /// The number of components, k.
    pub rank: usize,
    /// The eigenvalues above the bulk, descending: of the second moments or, with centring, of the covariance.
    pub signals: Vec<f64>,
    /// Every other eigenvalue.
    pub bulk: f64,
    /// The planned epsilon: of one report, or of each shuffled batch.
    pub epsilon: Epsilon,
    /// The guarantee of one report at that epsilon.
    pub guarantee: Guarantee,
    /// [`Planner::uninformed`].
    pub uninformed: f64,
    /// The threshold of the strongest component.
    pub threshold_records: Option<u64>,
    /// [`Planner::threshold_records`], for each of the leading components.
    pub threshold_records_per_component: Vec<Option<u64>>,
    /// As in the goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// As in the goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
    /// As in the goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// For reports by themselves.
    #[serde(flatten)]
    pub answers: Answers,
    /// The answers for a collection that is released in anonymised batches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shuffled: Option<ShuffledPlan>,
    /// How many of these people other unbiased reports would need; `None` for a delta above 0, with clipping or
    /// centring, and for anonymised batches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimum: Option<Optimum>,
    /// The most that one hostile report can move an eigenvalue of the covariance estimate, times the number of reports;
    /// `None` with centring, where the number of reports matters beyond that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull: Option<Pull>,
    /// The most that one hostile report, and all of them, can move an eigenvalue of the covariance estimate, for the
    /// `records` or for as many as the `target` or else the `share` takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostile: Option<HostilePull>,
}

/// What a [`Goal`] asks about reports; `None` and `Some(None)` as in [`Plan`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Answers {
    /// [`Planner::predict`], for the `records`.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "alone")]
    pub predicted: Option<Prediction>,
    /// [`Planner::records_for`], for the `target`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records_for_target: Option<Option<u64>>,
    /// The least number of reports from which on they are predicted to find the `share`; `None` when 2^53 do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records_for_share: Option<Option<u64>>,
    /// [`Planner::epsilon_for`], for the `records` and the `target`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon_for_target: Option<Option<Epsilon>>,
}

/// The answers for shuffled reports of which each batch of `honest_reports` keeps `epsilon` with `delta`, however many
/// batches there are; `None` and `Some(None)` as in [`Plan`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ShuffledPlan {
    /// The epsilon of one batch.
    pub epsilon: Epsilon,
    /// The delta of one batch.
    pub delta: Delta,
    /// The honest reports in one batch.
    pub honest_reports: u64,
    /// The largest epsilon of one report with which each batch keeps `epsilon`, to a ten-thousandth, rounded down.
    pub local_epsilon: Option<Epsilon>,
    /// At that epsilon, for those of the `records` that fill a batch, since others are not released, and for numbers of
    /// reports that are whole batches; nothing is predicted where there is no such epsilon. The epsilon for the target
    /// is that of one batch, for the least epsilon of a report with which these reports reach it.
    #[serde(flatten)]
    pub answers: Answers,
}

impl Planner {
    /// All that the goal asks for, with reports at `epsilon`.
    ///
    /// # Errors
    /// As the methods that [`Plan`] and [`ShuffledPlan`] name: [`PredictionError::Target`], [`PredictionError::Share`],
    /// [`PredictionError::Noise`] without records, [`PredictionError::Batch`], [`PredictionError::Mechanism`],
    /// [`PredictionError::Privacy`].
    pub fn plan(&self, epsilon: Epsilon, goal: &Goal) -> Result<Plan, PredictionError> {
        let &Goal { records, target, share, shuffled, hostile } = goal;
        let (spectrum, mechanism) = (&self.spectrum, self.mechanism(epsilon)?);
        let thresholds = self.threshold_records(epsilon)?;
        let enough = |(records, target)| self.epsilon_for(records, target);
        let answers = Answers {
            predicted: records.map(|records| self.predict(epsilon, records)).transpose()?,
            records_for_target: target.map(|target| self.records_for(epsilon, target)).transpose()?,
            records_for_share: share.map(|share| self.records_for_share(epsilon, share)).transpose()?,
            epsilon_for_target: records.zip(target).map(enough).transpose()?,
        };
        // About an estimated mean it is not proportional to the share of hostile reports.
        let pull = hostile.filter(|_| self.centring().is_none());
        let pull = pull.map(|_| mechanism.pull().scaled(self.bounding.covariance_scale()));
        let planned = records.or(answers.records_for_target.flatten()).or(answers.records_for_share.flatten());
        let of_unit_vectors = self.bounding == Bounding::UnitNorm && self.centring().is_none() && shuffled.is_none();
        Ok(Plan {
            dimension: spectrum.dimension(),
            rank: self.rank.value(),
            signals: spectrum.signals().to_vec(),
            bulk: spectrum.bulk(),
            epsilon,
            guarantee: mechanism.guarantee(),
            uninformed: self.uninformed(),
            threshold_records: thresholds.first().copied().flatten(),
            threshold_records_per_component: thresholds,
            records,
            target,
            share,
            answers,
            shuffled: shuffled.map(|batches| self.plan_shuffled(epsilon, batches, goal)).transpose()?,
            optimum: if of_unit_vectors { Optimum::of(&mechanism) } else { None },
            pull,
            hostile: hostile.zip(planned).map(|(count, records)| {
                HostilePull::new(count, records, |hostile| self.pull(&mechanism, hostile, records))
            }),
        })
    }

    fn plan_shuffled(
        &self,
        central: Epsilon,
        batches: Batches,
        &Goal { records, target, share, .. }: &Goal,
    ) -> Result<ShuffledPlan, PredictionError> {
        let Batches { honest_reports, delta } = batches;
        if let Some(records) = records.filter(|&records| records < honest_reports) {
            return Err(PredictionError::Batch { records, honest_reports });
        }
        let local = self.local_epsilon(central, batches)?;
        let whole = |records: &dyn Fn(Epsilon) -> Result<Option<u64>, PredictionError>| {
            let records = local.map(records).transpose()?.flatten();
            Ok::<_, PredictionError>(records.map(|records| batches.whole(records)))
        };
        let for_target = |target| whole(&|local| self.records_for(local, target));
        let for_share = |share| whole(&|local| self.records_for_share(local, share));
        let released = records.map(|records| batches.released(records));
        let predicted = released.zip(local).map(|(released, local)| self.predict(local, released));
        let kept = records.zip(target).map(|(records, target)| self.shuffled_epsilon_for(records, batches, target));
        Ok(ShuffledPlan {
            epsilon: central,
            delta,
            honest_reports,
            local_epsilon: local,
            answers: Answers {
                predicted: predicted.transpose()?,
                records_for_target: target.map(for_target).transpose()?,
                records_for_share: share.map(for_share).transpose()?,
                epsilon_for_target: kept.transpose()?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use fantope::Rank;

    use super::*;
    use crate::mechanism::MechanismFamily;
    use crate::prediction::Spectrum;
    use crate::privacy::amplification::amplify;
    use crate::privacy::tests::{delta, epsilon};
    use crate::record::Bounding;

    const DOUBLE_CAP: MechanismFamily = MechanismFamily::DoubleCap { candidates: None, cap: None };

    fn planner(signals: Vec<f64>, family: MechanismFamily) -> Planner {
        let spectrum = Spectrum::of_unit_trace(40, signals).unwrap();
        Planner::new(spectrum, Rank::new(1).unwrap(), family, Bounding::UnitNorm).unwrap()
    }

    #[test]
    fn every_answer_is_that_of_the_method_it_names() {
        let planner = planner(vec![0.3], DOUBLE_CAP);
        let (epsilon, batches) = (epsilon(1.0), Batches { honest_reports: 5000, delta: delta(1e-8) });
        let (records, target, share) = (Some(20_000), Some(0.1), Some(0.8));
        let goal = Goal { records, target, share, shuffled: Some(batches), hostile: Some(300) };
        let plan = planner.plan(epsilon, &goal).unwrap();
        let local = planner.local_epsilon(epsilon, batches).unwrap().unwrap();
        let mechanism = planner.mechanism(epsilon).unwrap();
        let thresholds = planner.threshold_records(epsilon).unwrap();
        let whole_batches = |records: u64| records.next_multiple_of(5000);
        let pull = mechanism.pull().scaled(1.0);
        let expected = Plan {
            dimension: 40,
            rank: 1,
            signals: vec![0.3],
            bulk: planner.spectrum.bulk(),
            epsilon,
            guarantee: mechanism.guarantee(),
            uninformed: planner.uninformed(),
            threshold_records: thresholds[0],
            threshold_records_per_component: thresholds,
            records,
            target,
            share,
            answers: Answers {
                predicted: Some(planner.predict(epsilon, 20_000).unwrap()),
                records_for_target: Some(planner.records_for(epsilon, 0.1).unwrap()),
                records_for_share: Some(planner.records_for_share(epsilon, 0.8).unwrap()),
                epsilon_for_target: Some(planner.epsilon_for(20_000, 0.1).unwrap()),
            },
            shuffled: Some(ShuffledPlan {
                epsilon,
                delta: delta(1e-8),
                honest_reports: 5000,
                local_epsilon: Some(local),
                answers: Answers {
                    predicted: Some(planner.predict(local, 20_000).unwrap()),
                    records_for_target: Some(planner.records_for(local, 0.1).unwrap().map(whole_batches)),
                    records_for_share: Some(planner.records_for_share(local, 0.8).unwrap().map(whole_batches)),
                    epsilon_for_target: Some(planner.shuffled_epsilon_for(20_000, batches, 0.1).unwrap()),
                },
            }),
            optimum: None,
            pull: Some(pull),
            hostile: Some(HostilePull::new(300, 20_000, |hostile| pull.of(hostile, 20_000))),
        };
        assert_eq!(plan, expected);
        // None of them is another's.
        let (shuffled, plan) = (plan.shuffled.unwrap().answers, plan.answers);
        assert!(shuffled.predicted.unwrap().sin_theta_squared < plan.predicted.unwrap().sin_theta_squared);
        assert!(shuffled.records_for_target < plan.records_for_target);
        assert!(shuffled.records_for_share < plan.records_for_share);
        assert!(shuffled.epsilon_for_target.flatten().unwrap().value() < epsilon.value());
    }

    #[test]
    fn questions_that_were_not_asked_have_no_answer_and_unanswerable_ones_say_so() {
        let tied = planner(vec![0.3, 0.3], DOUBLE_CAP);
        let answer = |goal| tied.plan(epsilon(1.0), &goal).unwrap();
        let nothing = answer(Goal::default());
        assert_eq!(nothing.threshold_records_per_component.len(), 1);
        assert_eq!((nothing.answers.predicted, nothing.shuffled), (None, None));
        assert_eq!((nothing.pull, nothing.hostile), (None, None));
        assert_eq!((nothing.answers.records_for_target, nothing.answers.epsilon_for_target), (None, None));
        // Without a number of reports there is no epsilon to look for, and half of either component is all there is.
        let batches = Batches { honest_reports: 1000, delta: delta(1e-6) };
        let goal = Goal { target: Some(0.1), shuffled: Some(batches), ..Goal::default() };
        let plan = answer(goal);
        assert_eq!((plan.answers.records_for_target, plan.answers.epsilon_for_target), (Some(None), None));
        let shuffled = plan.shuffled.unwrap();
        assert!(shuffled.local_epsilon.is_some() && shuffled.answers.predicted.is_none());
        assert_eq!((shuffled.answers.records_for_target, shuffled.answers.epsilon_for_target), (Some(None), None));
        assert_eq!(shuffled.answers.records_for_share, None);
        // No number of reports reaches it: only what one of n does is known.
        let pulled = answer(Goal { hostile: Some(1), ..goal });
        assert!(pulled.pull.is_some() && pulled.hostile.is_none());
        let plan = answer(Goal { records: Some(1000), ..goal });
        assert_eq!(plan.answers.epsilon_for_target, Some(None));
        assert_eq!(plan.shuffled.unwrap().answers.epsilon_for_target, Some(None));
    }

    #[test]
    fn a_batch_that_no_local_epsilon_suits_has_no_prediction() {
        // One report hides among no others, and has a larger delta than the batch may have.
        let planner = planner(vec![0.3], MechanismFamily::Gaussian { delta: delta(1e-4) });
        let batches = Batches { honest_reports: 1, delta: delta(1e-9) };
        let goal = Goal { records: Some(1), shuffled: Some(batches), ..Goal::default() };
        let plan = planner.plan(epsilon(1.0), &goal).unwrap();
        let shuffled = plan.shuffled.unwrap();
        assert_eq!((shuffled.local_epsilon, shuffled.answers.predicted), (None, None));
        assert!(plan.answers.predicted.is_some());
    }

    #[test]
    fn questions_that_make_no_sense_are_refused() {
        let planner = planner(vec![0.3], DOUBLE_CAP);
        let refused = |goal| planner.plan(epsilon(1.0), &goal).unwrap_err();
        let goal = Goal { target: Some(0.0), ..Goal::default() };
        assert!(matches!(refused(goal), PredictionError::Target { .. }));
        let goal = Goal { share: Some(1.0), ..Goal::default() };
        assert_eq!(refused(goal), PredictionError::Share(1.0));
        let goal = Goal { records: Some(0), ..Goal::default() };
        assert!(matches!(refused(goal), PredictionError::Noise(_)));
        let batches = Batches { honest_reports: 1001, delta: delta(1e-6) };
        let goal = Goal { records: Some(1000), shuffled: Some(batches), ..Goal::default() };
        assert_eq!(refused(goal), PredictionError::Batch { records: 1000, honest_reports: 1001 });
    }

    /// A million reports in one batch could have 5.73 each; in batches of 20,000 that is an epsilon of 0.807, not 0.1.
    #[test]
    fn the_planned_epsilon_is_that_of_one_batch_whatever_the_collection() {
        let planner = planner(vec![0.3], DOUBLE_CAP);
        let batches = |honest_reports| Batches { honest_reports, delta: delta(1e-8) };
        let planned = |honest_reports| {
            let shuffled = Some(batches(honest_reports));
            let goal = Goal { records: Some(1_000_000), target: Some(0.1), shuffled, ..Goal::default() };
            planner.plan(epsilon(0.1), &goal).unwrap().shuffled.unwrap()
        };
        let kept = |local: Epsilon, reports| {
            let loss = planner.mechanism(local).unwrap().privacy_loss();
            amplify(loss, reports, delta(1e-8)).unwrap().epsilon.value()
        };
        let (whole, one) = (planned(1_000_000), planned(20_000));
        let (of_all, of_one) = (whole.local_epsilon.unwrap(), one.local_epsilon.unwrap());
        assert!((of_all.value() - 5.73).abs() < 0.01 && (kept(of_all, 20_000) - 0.807).abs() < 0.002, "{of_all}");
        assert!(kept(of_one, 20_000) <= 0.1 * (1.0 + 1e-6) && kept(of_one, 20_000) > 0.099, "{of_one}");
        assert_eq!(planner.local_epsilon(epsilon(0.1), batches(20_000)), Ok(Some(of_one)));
        // The least epsilon that reaches the target hides as well as 20,000 reports hide it.
        let least = planner.epsilon_for(1_000_000, 0.1).unwrap().unwrap();
        assert_eq!(one.answers.epsilon_for_target.flatten().unwrap().value(), kept(least, 20_000));
    }
}
