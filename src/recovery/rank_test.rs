//! How many components stand out from the noise: a test of one after the other.

use std::ops::ControlFlow;

use nalgebra::DMatrix;
use serde::Serialize;

use super::held_out::gains;
use super::{DECOMPOSED, Measured, Part, PenaltyError, Rank, RecoveryError, Step, Unfinished, Watch};
use crate::covariance::Covariance;
use crate::family::Reports;
use crate::law::{DRAWS, LEVEL, NoiseLaw, draws_of};
use crate::linalg::symmetric_eigenvalues;

/// Tests of the components of an estimate, in order, until one does not stand out from the noise (Kritchman & Nadler
/// 2009).
///
/// The p-value of component j is the probability that noise makes the largest eigenvalue as large as the one observed
/// where all d - j + 1 directions beside the j - 1 components before it have the same variance. It compares the
/// eigenvalue with the mean of itself and those that follow, so that this variance need not be known. The law of the
/// noise is drawn, which takes no limit of many features.
///
/// *Assumption*: the population is isotropic except for the components. *Effect*: the rank is too large in about 5 % of
/// collections at most. In a population whose eigenvalues decline without a step, all components count whose eigenvalue
/// is larger than noise and equal variances explain. With centring the estimated mean counts as a direction of the
/// rest, with its greater noise.
///
/// ```
/// use chacha20::ChaCha12Rng;
/// use ldp_pca::{mechanism::DoubleCap, internal::law::{NoiseLaw, SpikedCovariance}, privacy::Epsilon};
/// use ldp_pca::{internal::recovery::RankTest, record::Bounding};
/// use nalgebra::{DMatrix, DVector};
/// use rand::SeedableRng;
///
/// // Two components of 10 features, in 100,000 reports.
/// let mechanism = DoubleCap::new(10, Epsilon::new(2.0)?, 128, 16)?;
/// let law = NoiseLaw::new(&mechanism.into(), Bounding::UnitNorm, 100_000)?;
/// let truth = SpikedCovariance::new(DMatrix::identity(10, 2), DVector::from_vec(vec![0.4, 0.2]), 0.05)?;
/// let estimate = law.draw_with_rng(&truth, &mut ChaCha12Rng::seed_from_u64(2))?;
/// let test = RankTest::new(&estimate, &law)?;
/// assert_eq!(test.rank()?.value(), 2);
/// assert!(test.components[1].p_value < 0.001 && test.components[2].p_value > 0.05);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankTest {
    /// The level that a p-value must be below: the probability of too large a rank.
    pub level: f64,
    /// Draws of the noise for each p-value, which is a multiple of `1 / (draws + 1)`, and at least that.
    pub draws: usize,
    /// The components that stand out, and the first that does not. The last of all has no other direction to be
    /// compared with, and is not among them.
    pub components: Vec<TestedComponent>,
}

/// One component in a [`RankTest`]. Variances are in the units of the covariance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TestedComponent {
    /// Its eigenvalue in the estimate, with the bias of the noise.
    pub eigenvalue: f64,
    /// The mean of this eigenvalue and those that follow: the variance in each direction, if it does not stand out.
    pub rest: f64,
    /// About the eigenvalue that noise alone would give it at that level.
    pub noise_edge: f64,
    /// The probability that noise alone makes it as large.
    pub p_value: f64,
    /// The variance that the component adds to those before it in reports that it was not found from, where there are
    /// folds, up to 2,000 features.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gained: Option<Measured>,
}

impl RankTest {
    /// Tests the components of an estimate (d × d) whose noise is known.
    ///
    /// # Errors
    /// [`RecoveryError::Fantope`] when the law is for another dimension, or the matrix is not a finite symmetric one.
    pub fn new(estimate: &DMatrix<f64>, law: &NoiseLaw) -> Result<Self, RecoveryError> {
        Self::in_time(estimate, law, DRAWS, &mut |_| ControlFlow::Continue(())).map(|(test, _)| test)
    }

    /// As [`new`](Self::new), with so many draws of the noise for each p-value. The first component is always tested.
    /// Where time was up before the last test, every component tested stands out, and what is missing is returned.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(super) fn in_time(
        estimate: &DMatrix<f64>,
        law: &NoiseLaw,
        draws: usize,
        watch: &mut Watch<'_>,
    ) -> Result<(Self, Option<Unfinished>), RecoveryError> {
        law.check_estimate(estimate)?;
        let eigenvalues = symmetric_eigenvalues(estimate)?;
        let mut components = vec![];
        let mut unfinished = None;
        for index in 0..law.dimension() - 1 {
            if watch(&Step::Beginning(Part::Rank)).is_break() && index > 0 {
                unfinished = Some(Unfinished { part: Part::Rank, done: index as u64, of: None });
                break;
            }
            let left = &eigenvalues.as_slice()[index..];
            let rest = left.iter().sum::<f64>() / left.len() as f64;
            let p_value = law.p_value(left[0], rest, left.len(), draws, &mut draws_of(index));
            let noise_edge = law.bulk(rest, left.len()).edge();
            components.push(TestedComponent { eigenvalue: left[0], rest, noise_edge, p_value, gained: None });
            if p_value >= LEVEL {
                break;
            }
        }
        Ok((Self { level: LEVEL, draws, components }, unfinished))
    }

    /// The number of components that stand out.
    ///
    /// # Errors
    /// [`RecoveryError::NoComponent`] where there is none.
    pub fn rank(&self) -> Result<Rank, RecoveryError> {
        let p_value = self.components.first().map_or(1.0, |first| first.p_value);
        Rank::new(self.standing_out()).map_err(|_| RecoveryError::NoComponent { p_value, level: self.level })
    }

    /// That number, which may be 0.
    #[must_use]
    pub fn standing_out(&self) -> usize {
        self.components.iter().filter(|component| component.p_value < self.level).count()
    }

    /// The noise edge of the first component that does not stand out, beside those that do. None where all that were
    /// tested stand out.
    #[must_use]
    pub fn edge_beside_what_stands_out(&self) -> Option<f64> {
        self.components.get(self.standing_out()).map(|first| first.noise_edge)
    }

    /// Measures what each component adds in reports held out. What is missing because time was up is returned.
    ///
    /// # Errors
    /// [`PenaltyError`] for another task.
    pub fn confirm(
        &mut self,
        reports: Reports<'_>,
        covariance: &Covariance,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Unfinished>, PenaltyError> {
        let Ok(count) = Rank::new(self.components.len()) else { return Ok(None) };
        if covariance.matrix().nrows() > DECOMPOSED {
            return Ok(None);
        }
        let (mut begun, mut stopped) = (0, false);
        let measured = gains(reports, covariance, count, &mut || {
            stopped = watch(&Step::Beginning(Part::Rank)).is_break();
            if stopped {
                return ControlFlow::Break(());
            }
            begun += 1;
            ControlFlow::Continue(())
        })?;
        for (component, gained) in self.components.iter_mut().zip(measured.into_iter().flatten()) {
            component.gained = Some(gained);
        }
        let of = Some(reports.folds() as u64);
        Ok(stopped.then_some(Unfinished { part: Part::Rank, done: begun, of }))
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use nalgebra::DVector;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::centring::Centring;
    use crate::law::tests::{double_cap_law, gaussian_law, unit_trace};
    use crate::mechanism::MechanismSpec;
    use crate::privacy::tests::epsilon;
    use crate::record::Bounding;
    use crate::recovery::answer::tests::Collected;
    use crate::recovery::{FantopeError, HeldOutUse, Question, Stop, answer};
    use crate::tests::{self, task};
    use rand_distr::StandardNormal;

    fn rank_of(estimate: &DMatrix<f64>, law: &NoiseLaw) -> usize {
        RankTest::in_time(estimate, law, 999, &mut |_| ControlFlow::Continue(())).unwrap().0.standing_out()
    }

    /// With strong components the first noise is tested in every draw. 400 draws a law: 20 ranks too large are
    /// expected, and 38 or more have a probability of 2e-4; too small ones have none that counts.
    #[test]
    fn the_rank_is_too_large_in_5_percent_of_draws_and_finds_what_is_strong() {
        for (law, signals) in [
            (double_cap_law(12, 4.0, 20_000), &[0.4, 0.3][..]),
            (gaussian_law(12, 4.0, 200_000), &[0.4, 0.3]),
            (double_cap_law(12, 1.0, 4_000), &[]),
        ] {
            let truth = unit_trace(12, signals, 1);
            let mut rng = ChaCha12Rng::seed_from_u64(5);
            let mut larger = 0;
            for _ in 0..400 {
                let drawn = law.draw_with_rng(&truth, &mut rng).unwrap();
                let rank = rank_of(&drawn, &law);
                assert!(rank >= signals.len(), "{law:?}: {rank}");
                larger += u32::from(rank > signals.len());
            }
            assert!(larger < 38, "{law:?}: {larger}");
        }
    }

    /// Real reports about an isotropic population, whose candidates have one length: 400 collections of each size. The
    /// same upper bound; of many reports 2 to 3 % are expected, and fewer than 3 have a probability of 2e-3 at 2 %. Of
    /// few reports the test expects more noise than there is.
    #[test]
    fn the_rank_of_real_reports_is_too_large_in_5_percent_of_collections_at_most() {
        let task = task(6, Bounding::UnitNorm, MechanismSpec::double_cap(epsilon(2.0)), 1);
        let mut rng = ChaCha12Rng::seed_from_u64(8);
        for (reports, least) in [(5, 0), (12, 1), (60, 3)] {
            let found = |_| {
                let reports = tests::reports(&task, reports, &mut rng, |_, rng| {
                    (0..6).map(|_| rng.sample(StandardNormal)).collect()
                });
                let covariance = Covariance::estimate(&tests::sum(&task, &reports), &task).unwrap();
                rank_of(covariance.matrix(), &covariance.noise_law())
            };
            let found = (0..400).map(found).filter(|&rank| rank > 0).count();
            assert!((least..38).contains(&found), "{reports}: {found}");
        }
    }

    /// An estimated mean beside the components has more noise, and is no component; and where it is hardly known, its
    /// square is most of the noise. The same bound as above, for long means and for none.
    #[test]
    fn a_mean_and_its_noise_are_not_taken_for_a_component() {
        let long_of_many = [double_cap_law(10, 2.0, 100_000), gaussian_law(10, 4.0, 1_000_000)];
        let none_of_few = [
            double_cap_law(7, 0.1, 50),
            double_cap_law(7, 0.1, 2_000),
            double_cap_law(7, 1.0, 20),
            gaussian_law(7, 0.1, 50),
            gaussian_law(7, 0.1, 2_000),
        ];
        for (laws, dimension, length, seed) in [(&long_of_many[..], 9, 0.9, 6), (&none_of_few, 6, 0.0, 7)] {
            let truth = unit_trace(dimension, &[], 1);
            let mut mean = vec![0.0; dimension];
            mean[0] = length;
            for moments in laws {
                let law = moments.about_mean(Centring::new(0.25).unwrap(), length * length);
                let mut rng = ChaCha12Rng::seed_from_u64(seed);
                let found = |_| rank_of(&law.draw_about_with_rng(&truth, &mean, &mut rng).unwrap(), &law);
                let found = (0..400).map(found).filter(|&rank| rank > 0).count();
                assert!(found < 38, "{law:?}: {found}");
            }
        }
    }

    #[test]
    fn tests_end_at_the_first_that_does_not_stand_out_or_before_the_last() {
        let law = double_cap_law(4, 8.0, 1_000_000);
        let diagonal = |values: [f64; 4]| DMatrix::from_diagonal(&DVector::from_row_slice(&values));
        let test = RankTest::new(&diagonal([0.5, 0.2, 0.15, 0.15]), &law).unwrap();
        assert_eq!((test.rank().unwrap().value(), test.components.len()), (2, 3));
        assert_eq!((test.components[0].p_value, test.components[2].p_value), (1.0 / 2000.0, 1.0));
        assert!(
            (test.components[1].rest - 0.5 / 3.0).abs() < 1e-12 && (test.components[1].eigenvalue - 0.2).abs() < 1e-12
        );
        assert!(test.components[1].noise_edge < 0.2);
        assert_eq!(test.edge_beside_what_stands_out(), Some(test.components[2].noise_edge));
        let all = RankTest::new(&diagonal([0.5, 0.3, 0.15, 0.05]), &law).unwrap();
        assert_eq!((all.rank().unwrap().value(), all.components.len()), (3, 3));
        assert_eq!(all.edge_beside_what_stands_out(), None);
        let none = RankTest::new(&DMatrix::identity(4, 4), &law).unwrap();
        assert_eq!(none.rank(), Err(RecoveryError::NoComponent { p_value: 1.0, level: 0.05 }));
        let out_of_time = &mut |_: &Step| ControlFlow::Break(Stop::OutOfTime);
        let stopped = RankTest::in_time(&diagonal([0.5, 0.3, 0.15, 0.05]), &law, DRAWS, out_of_time);
        let (stopped, missing) = stopped.unwrap();
        assert_eq!(missing, Some(Unfinished { part: Part::Rank, done: 1, of: None }));
        assert_eq!(stopped.components, all.components[..1]);
        let one = RankTest::new(&DMatrix::identity(1, 1), &double_cap_law(1, 1.0, 10)).unwrap();
        assert_eq!(one.rank(), Err(RecoveryError::NoComponent { p_value: 1.0, level: 0.05 }));
        let shape = RecoveryError::Fantope(FantopeError::ShapeMismatch { rows: 3, columns: 3, dimension: 4 });
        assert_eq!(RankTest::new(&DMatrix::identity(3, 3), &law), Err(shape));
        let refused = RankTest::new(&DMatrix::zeros(4, 3), &law);
        assert!(matches!(refused, Err(RecoveryError::Fantope(FantopeError::Eigen(_)))));
    }

    #[test]
    fn what_components_add_in_reports_held_out_is_what_they_capture_together() {
        let Collected { task, aggregate, covariance } = Collected::new(None);
        let mut test = RankTest::new(covariance.matrix(), &covariance.noise_law()).unwrap();
        assert_eq!(test.rank().unwrap().value(), 1);
        let mut stopped = test.clone();
        let reports = Reports::one(&aggregate, &task);
        let missing = test.confirm(reports, &covariance, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(missing, None);
        let gained = test.components[0].gained.unwrap();
        let question = Question { held_out: HeldOutUse::Measure, ..Question::new(Rank::new(1).unwrap()) };
        let answer = answer(&question, reports, &covariance, &mut |_| ControlFlow::Continue(())).unwrap();
        let captured = answer.trust.held_out.unwrap().answers[0].captured;
        assert!((gained.value - captured.value).abs() < 1e-12 && gained.standard_error >= captured.standard_error);
        // The second adds what every direction has.
        let second = test.components[1].gained.unwrap().interval;
        assert!(second.lower < test.components[1].rest && test.components[1].rest < second.upper);

        let missing = stopped.confirm(reports, &covariance, &mut |_| ControlFlow::Break(Stop::OutOfTime));
        assert_eq!(missing.unwrap(), Some(Unfinished { part: Part::Rank, done: 0, of: Some(3) }));
        assert_eq!(stopped.components[0].gained, None);
    }
}
