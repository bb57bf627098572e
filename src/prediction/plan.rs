//! The inverse questions: how many reports, and which epsilon, reach a target.

use fantope::Rank;

use super::{Prediction, PredictionError, Spectrum, predict};
use crate::centring::Centring;
use crate::law::NoiseLaw;
use crate::mechanism::{LocalRandomizer, Mechanism, MechanismError, MechanismFamily, Moments, Pull};
use crate::privacy::Epsilon;
use crate::record::Bounding;
use crate::task::Task;

/// The largest number of reports in an answer (2^53, up to which every language counts exactly).
const MOST_RECORDS: u64 = 1 << 53;

/// The searched range of epsilon. Below it a mechanism's arithmetic ends; above it there is no meaningful privacy.
const LEAST_EPSILON: f64 = 1e-3;
const MOST_EPSILON: f64 = 16.0;

/// The relative excess of the epsilon found over the least that reaches the target.
const EPSILON_TOLERANCE: f64 = 1e-6;

/// A population and its mechanism, with the number of reports and epsilon left open.
///
/// ```
/// use ldp_pca::prediction::{Planner, Spectrum};
/// use ldp_pca::{Rank, mechanism::MechanismFamily, privacy::Epsilon, record::Bounding};
///
/// let spectrum = Spectrum::of_unit_trace(40, vec![0.22; 3])?;
/// let family = MechanismFamily::DoubleCap { candidates: None, cap: None };
/// let planner = Planner::new(spectrum, Rank::new(3)?, family, Bounding::UnitNorm)?;
/// let epsilon = Epsilon::new(2.0)?;
/// // Below this many reports nothing is recovered.
/// assert!((400..600).contains(&planner.threshold_records(epsilon)?[0].unwrap()));
/// let records = planner.records_for(epsilon, 0.05)?.unwrap();
/// assert!((30_000..42_000).contains(&records));
/// assert!(planner.predict(epsilon, records)?.sin_theta_squared <= 0.05);
/// // And back: the epsilon that this many reports need.
/// let back = planner.epsilon_for(records, 0.05)?.unwrap();
/// assert!((back.value() - 2.0).abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Planner {
    pub(crate) spectrum: Spectrum,
    pub(crate) rank: Rank,
    family: MechanismFamily,
    pub(crate) bounding: Bounding,
    centring: Option<Centring>,
    /// For its own epsilon, where there is a collection already, whose reports showed the spectrum.
    pub(crate) own: Option<Mechanism>,
}

impl Planner {
    /// A planner for the leading `rank` components of records with this spectrum, bounded by `bounding`.
    ///
    /// # Errors
    /// [`PredictionError::Rank`] unless the rank is below the dimension.
    pub fn new(
        spectrum: Spectrum,
        rank: Rank,
        family: MechanismFamily,
        bounding: Bounding,
    ) -> Result<Self, PredictionError> {
        if rank.value() >= spectrum.dimension() {
            return Err(PredictionError::Rank { rank: rank.value(), dimension: spectrum.dimension() });
        }
        Ok(Self { spectrum, rank, family, bounding, centring: None, own: None })
    }

    /// This planner for tasks with this centring, if any: the spectrum is then that of the covariance.
    #[must_use]
    pub fn with_centring(self, centring: Option<Centring>) -> Self {
        Self { centring, ..self }
    }

    /// A planner for collections like that of `task`, about records with this spectrum in the units of its features: at
    /// the task's epsilon its own mechanism, at others the best of the same family.
    ///
    /// # Errors
    /// As [`Planner::new`].
    pub fn of_task(spectrum: Spectrum, rank: Rank, task: &Task) -> Result<Self, PredictionError> {
        let own = task.moments()?.clone();
        let planner = Self::new(spectrum, rank, MechanismFamily::from(&own), task.bounding())?;
        Ok(Self { own: Some(own), centring: task.centring(), ..planner })
    }

    /// What to know of a spectrum that was stated, in words. Of a task's estimate there is nothing to say.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let (spectrum, k) = (&self.spectrum, self.rank.value());
        if self.own.is_some() {
            return Vec::new();
        }
        let mut notes: Vec<String> = Vec::new();
        notes.extend(spectrum.rounded.map(|sum| {
            let shown = (1e6 * sum).round() / 1e6;
            format!("the eigenvalues sum to {shown}, above 1 by rounding, and were divided by that")
        }));
        notes.push(
            "the eigenvalues are taken to be those of bounded records, not of ordinary PCA: each record is divided by \
             its norm. Bound a public sample, and take those of its second moments (with centring, of its covariance)"
                .to_owned(),
        );
        // The bulk of one direction is an eigenvalue itself.
        if spectrum.signals.len() == k && spectrum.dimension > k + 1 {
            notes.push(format!(
                "an eigenvalue beyond the {k}, above {bulk:.3e}, would multiply the error: none is stated, so the next \
                 is taken to be no larger than the others. State one more. If it is nearly as large as the last one, \
                 the error is several times the predicted one",
                bulk = spectrum.bulk
            ));
        }
        notes
    }

    /// The centring of the tasks that are planned.
    #[must_use]
    pub fn centring(&self) -> Option<Centring> {
        self.centring
    }

    /// `k (1 - k/d)`: the error of a random subspace.
    #[must_use]
    pub fn uninformed(&self) -> f64 {
        let (k, d) = (self.rank.value() as f64, self.spectrum.dimension() as f64);
        k * (1.0 - k / d)
    }

    /// The mechanism at `epsilon`.
    ///
    /// # Errors
    /// [`PredictionError::Mechanism`].
    pub fn mechanism(&self, epsilon: Epsilon) -> Result<Mechanism, PredictionError> {
        match &self.own {
            Some(own) if own.guarantee().epsilon == epsilon => Ok(own.clone()),
            _ => {
                let coordinates = self.spectrum.dimension() + usize::from(self.centring.is_some());
                Ok(self.family.build(epsilon, coordinates, self.bounding)?)
            }
        }
    }

    /// The prediction for `records` reports at `epsilon`.
    ///
    /// # Errors
    /// [`PredictionError::Mechanism`], [`PredictionError::Noise`] without records.
    pub fn predict(&self, epsilon: Epsilon, records: u64) -> Result<Prediction, PredictionError> {
        predict(&self.spectrum, self.rank, &self.law(epsilon, records)?)
    }

    /// For each of the leading k components, the number of reports from which it can be recovered at all; `None` for
    /// one that is not above the bulk, or needs more than 2^53.
    ///
    /// # Errors
    /// [`PredictionError::Mechanism`].
    pub fn threshold_records(&self, epsilon: Epsilon) -> Result<Vec<Option<u64>>, PredictionError> {
        let bulk = super::bulk_of(&self.spectrum, self.rank, &self.law(epsilon, 1)?);
        let signals = self.spectrum.signals();
        Ok((0..self.rank.value())
            .map(|index| signals.get(index).and_then(|&eigenvalue| whole(bulk.records_at_threshold(eigenvalue))))
            .collect())
    }

    /// The least number of reports from which on the predicted `||sin Theta||_F^2` is at most `target`: with one fewer
    /// it is more. `None` when 2^53 are not enough.
    ///
    /// # Errors
    /// [`PredictionError::Target`] unless the target is above 0 and below k (1 - k/d); [`PredictionError::Mechanism`].
    pub fn records_for(&self, epsilon: Epsilon, target: f64) -> Result<Option<u64>, PredictionError> {
        self.check_target(target)?;
        self.records_until(epsilon, |prediction| prediction.sin_theta_squared <= target)
    }

    /// The least number of reports from which on they are predicted to find this share of the structure; `None` when
    /// 2^53 do not.
    ///
    /// # Errors
    /// [`PredictionError::Share`] unless the share is above 0 and below 1; [`PredictionError::Mechanism`].
    pub(super) fn records_for_share(&self, epsilon: Epsilon, share: f64) -> Result<Option<u64>, PredictionError> {
        if !(share > 0.0 && share < 1.0) {
            return Err(PredictionError::Share(share));
        }
        self.records_until(epsilon, |prediction| prediction.share_found.is_some_and(|found| found >= share))
    }

    /// The least number of reports from which on their prediction is `enough`.
    fn records_until(
        &self,
        epsilon: Epsilon,
        enough: impl Fn(&Prediction) -> bool,
    ) -> Result<Option<u64>, PredictionError> {
        let law = self.law(epsilon, 1)?;
        least_records(MOST_RECORDS, |records| {
            Ok(enough(&predict(&self.spectrum, self.rank, &law.with_records(records)?)?))
        })
    }

    /// The least epsilon (between 0.001 and 16, to a millionth, rounded up) from which on `records` reports reach
    /// `target`; `None` when 16 is not enough. The mechanism is rebuilt for every epsilon, with the best parameters
    /// there.
    ///
    /// # Errors
    /// [`PredictionError::Target`], [`PredictionError::Noise`] without records; [`PredictionError::Mechanism`] when the
    /// family cannot be built at any epsilon.
    pub fn epsilon_for(&self, records: u64, target: f64) -> Result<Option<Epsilon>, PredictionError> {
        self.check_target(target)?;
        let enough = |value: f64| -> Result<bool, PredictionError> {
            Ok(self.predict(epsilon(value)?, records)?.sin_theta_squared <= target)
        };
        least_epsilon(enough)?.map(epsilon).transpose()
    }

    /// The law of the estimate.
    pub(crate) fn law(&self, epsilon: Epsilon, records: u64) -> Result<NoiseLaw, PredictionError> {
        let law = NoiseLaw::new(&self.mechanism(epsilon)?, self.bounding, records)?;
        let mean_square = self.spectrum.mean_square() / self.bounding.covariance_scale();
        Ok(self.centring.map_or(law, |centring| law.about_mean(centring, mean_square)))
    }

    /// The most that `hostile` of `records` reports can move an eigenvalue of the covariance estimate.
    pub(super) fn pull(&self, mechanism: &Mechanism, hostile: u64, records: u64) -> Pull {
        let scale = self.bounding.covariance_scale();
        let Some(centring) = self.centring else { return mechanism.pull().scaled(scale).of(hostile, records) };
        let length = (self.spectrum.mean_square() / scale).sqrt();
        mechanism.pull().of(hostile, records).map(|pull| centring.pull(pull, length)).scaled(scale)
    }

    fn check_target(&self, target: f64) -> Result<(), PredictionError> {
        let uninformed = self.uninformed();
        if target > 0.0 && target < uninformed { Ok(()) } else { Err(PredictionError::Target { target, uninformed }) }
    }
}

/// The least number up to `most` from which on `enough` holds, by halving. About an estimated mean, predictions for few
/// reports or a small epsilon are no monotone function, so each search comes from above.
fn least_records(
    most: u64,
    enough: impl Fn(u64) -> Result<bool, PredictionError>,
) -> Result<Option<u64>, PredictionError> {
    if !enough(most)? {
        return Ok(None);
    }
    let (mut low, mut high) = (most / 2, most);
    while low > 0 && enough(low)? {
        (low, high) = (low / 2, low);
    }
    let middle = |low: u64, high: u64| (high - low > 1).then(|| low + (high - low) / 2);
    Ok(Some(halved((low, high), middle, enough)?.1))
}

/// The least epsilon that is searched, to a millionth and rounded up, from which on `enough` holds, by halving.
fn least_epsilon(enough: impl Fn(f64) -> Result<bool, PredictionError>) -> Result<Option<f64>, PredictionError> {
    // Where the largest epsilon's parameters do not fit the mechanism's integers, the next below does.
    let mut high = MOST_EPSILON;
    let reached = loop {
        match enough(high) {
            Err(PredictionError::Mechanism(_)) if high > 1.0 => high -= 1.0,
            result => break result?,
        }
    };
    if !reached {
        return Ok(None);
    }
    let half = |high: f64| f64::max(0.5 * high, LEAST_EPSILON);
    while enough(half(high))? {
        high = half(high);
        if high == LEAST_EPSILON {
            return Ok(Some(high));
        }
    }
    let middle = |low: f64, high: f64| (high > low * (1.0 + EPSILON_TOLERANCE)).then(|| (low * high).sqrt());
    Ok(Some(halved((half(high), high), middle, enough)?.1))
}

/// The last two ends of a range whose lower end is not enough and whose upper end is, halved until nothing is in the
/// middle.
pub(super) fn halved<T: Copy>(
    (mut low, mut high): (T, T),
    middle: impl Fn(T, T) -> Option<T>,
    enough: impl Fn(T) -> Result<bool, PredictionError>,
) -> Result<(T, T), PredictionError> {
    while let Some(middle) = middle(low, high) {
        if enough(middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok((low, high))
}

pub(super) fn epsilon(value: f64) -> Result<Epsilon, PredictionError> {
    Ok(Epsilon::new(value).map_err(MechanismError::from)?)
}

/// The first whole number above `value`.
fn whole(value: f64) -> Option<u64> {
    (value < MOST_RECORDS as f64).then(|| value.floor() as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::NoiseError;
    use crate::mechanism::MechanismSpec;
    use crate::mechanism::cap::MAX_CANDIDATES;
    use crate::prediction::Batches;
    use crate::privacy::tests::{delta, epsilon};
    use crate::tests::{double_cap, task};
    use core::cell::Cell;

    #[test]
    fn a_stated_spectrum_is_commented_and_an_estimate_is_not() {
        let of = |dimension, signals: &[f64]| of(dimension, signals, 3);
        let named = |planner: &Planner| {
            let notes = planner.notes();
            ["above 1 by rounding", "of bounded records", "State one more"]
                .map(|part| notes.iter().filter(|note| note.contains(part)).count())
        };
        let exact = of(20, &[0.3, 0.2, 0.1]);
        assert!(exact.notes()[1].contains("beyond the 3") && exact.notes()[1].contains("2.353e-2"), "{exact:?}");
        assert_eq!(named(&exact), [0, 1, 1]);
        // The bulk of one direction is that direction's eigenvalue. Of a component that has none, the plan says so.
        for (dimension, signals) in [(20, &[0.3, 0.2, 0.1, 0.09][..]), (4, &[0.3, 0.3, 0.3]), (20, &[0.3, 0.2])] {
            assert_eq!(named(&of(dimension, signals)), [0, 1, 0], "{signals:?}");
        }
        let rounded = of(20, &[0.4, 0.3, 0.2, 0.101]);
        assert_eq!(named(&rounded), [1, 1, 0]);
        assert!(rounded.notes()[0].contains("sum to 1.001,"), "{rounded:?}");
        let task = task(20, Bounding::UnitNorm, MechanismSpec::double_cap(epsilon(1.0)), 1);
        let spectrum = exact.spectrum.clone();
        assert!(Planner::of_task(spectrum, Rank::new(3).unwrap(), &task).unwrap().notes().is_empty());
    }

    fn planner(family: MechanismFamily) -> Planner {
        let spectrum = Spectrum::of_unit_trace(116, vec![0.646, 0.176, 0.088, 0.039]).unwrap();
        Planner::new(spectrum, Rank::new(3).unwrap(), family, Bounding::UnitNorm).unwrap()
    }

    const DOUBLE_CAP: MechanismFamily = MechanismFamily::DoubleCap { candidates: None, cap: None };

    /// Of unit-norm records, whose eigenvalues without signals are alike.
    fn of(dimension: usize, signals: &[f64], rank: usize) -> Planner {
        let spectrum = match signals {
            [] => Spectrum::new(dimension, vec![], 1.0 / dimension as f64),
            _ => Spectrum::of_unit_trace(dimension, signals.to_vec()),
        };
        Planner::new(spectrum.unwrap(), Rank::new(rank).unwrap(), DOUBLE_CAP, Bounding::UnitNorm).unwrap()
    }

    #[test]
    fn the_error_falls_with_every_record_and_every_epsilon() {
        for family in [DOUBLE_CAP, MechanismFamily::Gaussian { delta: delta(1e-6) }] {
            let planner = planner(family);
            let law = planner.law(epsilon(2.0), 1).unwrap();
            let mut last = f64::INFINITY;
            for step in 0..100 {
                let records = 1.2f64.powi(step).ceil() as u64;
                let law = law.with_records(records).unwrap();
                let error = predict(&planner.spectrum, planner.rank, &law).unwrap().sin_theta_squared;
                // It may rise by less than a hundredth, where a component replaces the edge of the noise.
                assert!(error < 1.01 * last, "{family:?} {records}: {error} after {last}");
                last = error;
            }
            assert!(last < 0.01);
            let errors = [0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0]
                .map(|value| planner.predict(epsilon(value), 50_000).unwrap().sin_theta_squared);
            assert!(errors.windows(2).all(|pair| pair[1] < 1.001 * pair[0]), "{errors:?}");
        }
    }

    #[test]
    fn the_number_of_records_is_the_least_and_its_epsilon_leads_back() {
        for family in [DOUBLE_CAP, MechanismFamily::Gaussian { delta: delta(1e-6) }] {
            let planner = planner(family);
            let error = |records| planner.predict(epsilon(2.0), records).unwrap().sin_theta_squared;
            for target in [0.01, 0.3, 1.5] {
                let records = planner.records_for(epsilon(2.0), target).unwrap().unwrap();
                assert!(error(records) <= target && error(records - 1) > target, "{family:?} {target} {records}");
                let back = planner.epsilon_for(records, target).unwrap().unwrap().value();
                assert!((back / 2.0 - 1.0).abs() < 2e-3, "{family:?} {target}: {back}");
            }
        }
    }

    #[test]
    fn the_number_of_records_for_a_share_is_the_least_and_ties_do_not_hinder_it() {
        let planner = planner(DOUBLE_CAP);
        let share = |records| planner.predict(epsilon(2.0), records).unwrap().share_found.unwrap();
        for wanted in [0.5, 0.9, 0.99] {
            let records = planner.records_for_share(epsilon(2.0), wanted).unwrap().unwrap();
            assert!(share(records) >= wanted && share(records - 1) < wanted, "{wanted} {records}");
        }
        let tied = of(40, &[0.3, 0.3], 1);
        assert_eq!(tied.records_for(epsilon(2.0), 0.1), Ok(None));
        assert!(tied.records_for_share(epsilon(2.0), 0.9).unwrap().is_some());
        // What one report finds is no less than what a random subspace has.
        let close = of(5, &[0.3, 0.25, 0.22], 2);
        assert_eq!(close.predict(epsilon(2.0), 1).unwrap().share_found, Some(0.0));
        let flat = of(10, &[], 2);
        assert_eq!(flat.records_for_share(epsilon(2.0), 0.5), Ok(None));
        for wanted in [0.0, 1.0, -0.5, f64::NAN] {
            assert!(matches!(planner.records_for_share(epsilon(2.0), wanted), Err(PredictionError::Share(_))));
        }
    }

    /// One report is predicted to find more than 300 are.
    #[test]
    fn about_an_estimated_mean_every_larger_number_is_enough_too() {
        let spectrum = Spectrum::of_unit_trace(20, vec![0.3, 0.29, 0.28]).unwrap().with_mean_share(0.9).unwrap();
        let planner = Planner::new(spectrum, Rank::new(1).unwrap(), DOUBLE_CAP, Bounding::UnitNorm).unwrap();
        let planner = planner.with_centring(Some(Centring::default()));
        let share = |records| planner.predict(epsilon(2.0), records).unwrap().share_found.unwrap();
        let records = planner.records_for_share(epsilon(2.0), 0.4).unwrap().unwrap();
        assert!((30_000..100_000).contains(&records) && share(records) >= 0.4 && share(records - 1) < 0.4, "{records}");
        let records = planner.records_for(epsilon(2.0), 0.8).unwrap().unwrap();
        let back = planner.epsilon_for(records, 0.8).unwrap().unwrap().value();
        assert!((back / 2.0 - 1.0).abs() < 0.05, "{back}");
    }

    #[test]
    fn thresholds_are_those_of_the_bulk() {
        let planner = planner(DOUBLE_CAP);
        let thresholds = planner.threshold_records(epsilon(2.0)).unwrap();
        for (records, signal) in thresholds.into_iter().zip(planner.spectrum.signals()) {
            let threshold = |records| planner.predict(epsilon(2.0), records).unwrap().threshold;
            let records = records.unwrap();
            assert!(threshold(records) < *signal && threshold(records - 1) >= *signal, "{records}");
        }
        let flat = of(10, &[], 2);
        assert_eq!(flat.threshold_records(epsilon(2.0)), Ok(vec![None, None]));
    }

    /// `enough` and how often it was asked, which ends a search that does not.
    fn counted<T: Copy, R>(asked: &Cell<u32>, most: u32, enough: impl Fn(T) -> R) -> impl Fn(T) -> R {
        move |value| {
            asked.set(asked.get() + 1);
            assert!(asked.get() <= most, "it asks without an end");
            enough(value)
        }
    }

    #[test]
    fn the_search_for_records_finds_the_least_and_ends() {
        let search = |most, enough: &dyn Fn(u64) -> Result<bool, PredictionError>| {
            // Every bit of the answer twice: once to double, once to halve.
            let asked = Cell::new(0);
            least_records(most, counted(&asked, 108, enough))
        };
        for most in [1, 2, 3, 10, 64, 1000, (1 << 53) - 1, MOST_RECORDS] {
            let interesting = [1, 2, 3, 4, 5, 7, 8, 9, 10, 63, 64, 65, 999, 1000, most / 3, most - 1, most];
            for least in interesting.into_iter().filter(|least| (1..=most).contains(least)) {
                assert_eq!(search(most, &|records| Ok(records >= least)), Ok(Some(least)), "{most}");
            }
            assert_eq!(search(most, &|_| Ok(false)), Ok(None));
            assert_eq!(search(most, &|records| Ok(records > most)), Ok(None));
            assert_eq!(search(most, &|_| Err(PredictionError::Sum(2.0))), Err(PredictionError::Sum(2.0)));
            // A function that rises and falls has an answer from which on it is enough.
            let (falls, rises) = (most / 8, most / 4);
            let found = search(most, &|records| Ok(records < falls || records > rises));
            assert_eq!(found, Ok(Some(rises + 1)), "{most}");
            let found = search(most, &|records| Ok(records.is_multiple_of(2))).unwrap();
            assert!(found.is_none_or(|records| records.is_multiple_of(2)), "{most} {found:?}");
        }
        // An error on the way back.
        let late = |records| if records == 12 { Err(PredictionError::Sum(2.0)) } else { Ok(records >= 16) };
        assert_eq!(search(MOST_RECORDS, &late), Err(PredictionError::Sum(2.0)));
    }

    #[test]
    fn the_search_for_epsilon_finds_the_least_and_ends() {
        let within = |most, enough: &dyn Fn(f64) -> Result<bool, PredictionError>| {
            let asked = Cell::new(0);
            least_epsilon(counted(&asked, most, enough))
        };
        // A range of 1 to 16,000 halved, and the last half on a logarithmic scale to a millionth.
        let search = |enough: &dyn Fn(f64) -> Result<bool, PredictionError>| within(1 + 14 + 20, enough);
        // And from 16 down to 1.
        let search_down = |enough: &dyn Fn(f64) -> Result<bool, PredictionError>| within(15 + 1 + 14 + 20, enough);
        for least in [0.001_000_01, 0.0011, 0.5, 1.0, 1.1, 8.0, 15.999_999, 16.0] {
            let found = search(&|epsilon| Ok(epsilon >= least)).unwrap().unwrap();
            assert!(found >= least && found <= least * (1.0 + 1e-6), "{found} {least}");
        }
        let found = search(&|epsilon| Ok(!(0.1..0.7).contains(&epsilon))).unwrap().unwrap();
        assert!((found / 0.7 - 1.0).abs() < 1e-6, "{found}");
        assert_eq!(search(&|_| Ok(true)), Ok(Some(0.001)));
        assert_eq!(search(&|epsilon| Ok(epsilon >= 0.001)), Ok(Some(0.001)));
        assert_eq!(search(&|_| Ok(false)), Ok(None));
        assert_eq!(search(&|epsilon| Ok(epsilon > 16.0)), Ok(None));
        assert_eq!(search(&|epsilon| Ok(f64::NAN * epsilon <= 1.0)), Ok(None));
        assert_eq!(search(&|_| Err(PredictionError::Sum(2.0))), Err(PredictionError::Sum(2.0)));
        // A mechanism that fits from some epsilon down is searched below it, in steps of one, and one that never does
        // is not.
        let error = || PredictionError::Mechanism(MechanismError::Dimension(0));
        for (fits, most) in [(16.0, 16.0), (15.9, 15.0), (13.2, 13.0), (2.0, 2.0), (1.9, 1.0), (1.0, 1.0)] {
            let fitting = |epsilon: f64, least| if epsilon > fits { Err(error()) } else { Ok(epsilon >= least) };
            assert!((search_down(&|epsilon| fitting(epsilon, 0.7)).unwrap().unwrap() / 0.7 - 1.0).abs() < 1e-6);
            let found = search_down(&|epsilon| fitting(epsilon, most)).unwrap().unwrap();
            assert!((found / most - 1.0).abs() < 1e-6, "{found} {fits}");
            assert_eq!(search_down(&|epsilon| fitting(epsilon, most + 1e-9)), Ok(None), "{fits}");
        }
        assert_eq!(search_down(&|_| Err(error())), Err(error()));
        assert_eq!(search_down(&|epsilon| if epsilon > 0.99 { Err(error()) } else { Ok(true) }), Err(error()));
    }

    /// The integers of many candidates with a wide cap overflow above 13.2.
    #[test]
    fn an_epsilon_is_found_where_the_largest_does_not_fit() {
        let (candidates, cap) = (Some(MAX_CANDIDATES), Some(MAX_CANDIDATES / 2));
        let family = |cap| MechanismFamily::DoubleCap { candidates, cap };
        let spectrum = || Spectrum::of_unit_trace(10, vec![0.5]).unwrap();
        let planner = |family| Planner::new(spectrum(), Rank::new(1).unwrap(), family, Bounding::UnitNorm).unwrap();
        let wide = planner(family(cap));
        assert!(matches!(
            wide.mechanism(epsilon(16.0)),
            Err(PredictionError::Mechanism(MechanismError::Weights { .. }))
        ));
        let found = wide.epsilon_for(3000, 0.05).unwrap().unwrap();
        let error = |value: f64| wide.predict(epsilon(value), 3000).unwrap().sin_theta_squared;
        assert!(error(found.value()) <= 0.05 && error(found.value() * (1.0 - 2e-6)) > 0.05, "{found}");
        // A cap that no epsilon permits.
        let none = planner(family(Some(MAX_CANDIDATES)));
        let refused = none.epsilon_for(3000, 0.05);
        assert!(matches!(refused, Err(PredictionError::Mechanism(MechanismError::Cap { .. }))), "{refused:?}");
    }

    #[test]
    fn the_first_whole_number_above_is_an_answer_up_to_the_limit() {
        assert_eq!([0.0, 0.5, 1.0, 2.999].map(whole), [Some(1), Some(1), Some(2), Some(3)]);
        assert_eq!(whole(MOST_RECORDS as f64 - 1.0), Some(MOST_RECORDS));
        assert_eq!([MOST_RECORDS as f64, f64::INFINITY, f64::NAN].map(whole), [None; 3]);
    }

    #[test]
    fn what_no_number_of_records_reaches_is_said_so() {
        let planner = of(20, &[0.3, 0.3], 1);
        let batches = Batches { honest_reports: 1000, delta: delta(1e-6) };
        assert_eq!(planner.records_for(epsilon(2.0), 0.1), Ok(None));
        assert_eq!(planner.epsilon_for(1_000_000, 0.1), Ok(None));
        for target in [0.0, -1.0, 0.95, 1.0, f64::INFINITY] {
            let error = PredictionError::Target { target, uninformed: 0.95 };
            assert_eq!(planner.records_for(epsilon(2.0), target), Err(error.clone()));
            assert_eq!(planner.epsilon_for(1000, target), Err(error.clone()));
            assert_eq!(planner.shuffled_epsilon_for(1000, batches, target), Err(error));
        }
        assert!(matches!(planner.records_for(epsilon(2.0), f64::NAN), Err(PredictionError::Target { .. })));
        // A target just below the error of a random subspace is valid, and the smallest one needs more reports than are
        // counted.
        assert!(planner.records_for(epsilon(2.0), 0.95f64.next_down()).unwrap().is_some());
        assert_eq!(planner.records_for(epsilon(2.0), f64::MIN_POSITIVE), Ok(None));
        assert_eq!(planner.epsilon_for(MOST_RECORDS, f64::MIN_POSITIVE), Ok(None));
        assert_eq!(planner.predict(epsilon(2.0), 0), Err(PredictionError::Noise(NoiseError::NoRecords)));
        assert_eq!(planner.epsilon_for(0, 0.1), Err(PredictionError::Noise(NoiseError::NoRecords)));
        // Flat: nothing can be predicted but a random subspace.
        let flat = of(20, &[], 2);
        assert_eq!(flat.records_for(epsilon(2.0), 1.7), Ok(None));
        assert_eq!(flat.epsilon_for(1000, 1.7), Ok(None));
    }

    #[test]
    fn a_planner_keeps_fewer_components_than_features_and_the_mechanism_of_its_task() {
        let spectrum = || Spectrum::of_unit_trace(4, vec![0.5]).unwrap();
        let new = |rank| Planner::new(spectrum(), Rank::new(rank).unwrap(), DOUBLE_CAP, Bounding::UnitNorm);
        assert_eq!(new(3).unwrap().uninformed(), 0.75);
        for rank in [4, 5] {
            assert_eq!(new(rank).unwrap_err(), PredictionError::Rank { rank, dimension: 4 });
        }
        let task = task(4, Bounding::UnitNorm, double_cap(2.0, 10, 5), 1);
        let planner = Planner::of_task(spectrum(), Rank::new(1).unwrap(), &task).unwrap();
        let deviation = |value: f64| planner.mechanism(epsilon(value)).unwrap().entry_deviation();
        let recommended = |value: f64| new(1).unwrap().mechanism(epsilon(value)).unwrap().entry_deviation();
        assert_eq!(deviation(2.0), task.moments().unwrap().entry_deviation());
        assert!(deviation(2.0) > 1.01 * recommended(2.0));
        assert_eq!(deviation(2.1), recommended(2.1));
        let centred = task.with_centring(Centring::default()).unwrap();
        let planner = Planner::of_task(spectrum(), Rank::new(1).unwrap(), &centred).unwrap();
        let of_task = planner.mechanism(epsilon(2.0)).unwrap();
        assert_eq!((of_task.dimension(), of_task.entry_deviation()), (5, centred.moments().unwrap().entry_deviation()));
        assert_eq!(planner.mechanism(epsilon(2.1)).unwrap().dimension(), 5);
    }

    /// Without a mean the noise of an entry is 1 / (1 - w) times that of second moments: Gaussian noise so takes the
    /// square of that times the reports, but for the scatter of the records themselves, which centring leaves alone.
    #[test]
    fn centring_costs_the_square_of_its_factor_and_a_mean_more() {
        let spectrum = || Spectrum::of_unit_trace(60, vec![0.4]).unwrap();
        let planner = |spectrum, weight: Option<f64>| {
            let family = MechanismFamily::Gaussian { delta: delta(1e-6) };
            let planner = Planner::new(spectrum, Rank::new(1).unwrap(), family, Bounding::UnitNorm).unwrap();
            planner.with_centring(weight.map(|weight| Centring::new(weight).unwrap()))
        };
        let records = |planner: &Planner| planner.records_for(epsilon(1.0), 0.05).unwrap().unwrap() as f64;
        let plain = records(&planner(spectrum(), None));
        for weight in [0.1, 0.25, 0.5] {
            let centred = records(&planner(spectrum(), Some(weight)));
            assert!((centred / plain * (1.0 - weight).powi(2) - 1.0).abs() < 0.01, "{weight}: {centred} {plain}");
            // A mean takes its share from the component, too.
            let share = |share| records(&planner(spectrum().with_mean_share(share).unwrap(), Some(weight)));
            assert_eq!(share(0.0), centred);
            assert!(share(0.5) > 4.0 * centred && share(0.5) < 5.0 * centred, "{weight}: {} {centred}", share(0.5));
        }
        for share in [-0.1, 1.0, f64::NAN] {
            assert!(matches!(spectrum().with_mean_share(share), Err(PredictionError::MeanShare(_))));
        }
    }

    /// By hand, as in the estimate: the moments move by p, the mean by f p, its square by f p (2 |mean| + f p).
    #[test]
    fn hostile_reports_pull_at_the_mean_too() {
        let spectrum = Spectrum::of_unit_trace(40, vec![0.3]).unwrap().with_mean_share(0.49).unwrap();
        let planner = Planner::new(spectrum, Rank::new(1).unwrap(), DOUBLE_CAP, Bounding::UnitNorm).unwrap();
        let planner = planner.with_centring(Some(Centring::new(0.2).unwrap()));
        let goal = crate::prediction::Goal { records: Some(5000), hostile: Some(7), ..Default::default() };
        let plan = planner.plan(epsilon(2.0), &goal).unwrap();
        assert_eq!(plan.pull, None);
        let alone = planner.mechanism(epsilon(2.0)).unwrap().pull().of(7, 5000).unchecked;
        let (found, shift) = (plan.hostile.unwrap().all.unchecked, 2.5 * alone);
        let expected = 1.25 * alone + shift * (1.4 + shift);
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }
}
