//! Comparison of methods on the same records: the distance from the same components, usually the records' own, the
//! cost, and the guarantee of each.

use serde::Serialize;

use super::perturbation::leading_subspace;
use super::{BaselineError, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator, Trust};
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::{Subspace, captured_variance, sin_theta_squared};

/// Records, the number of components to find, and the components that methods are compared with: the records' own,
/// without privacy, or [others](Self::against).
///
/// ```
/// use ldp_pca_literature::baselines::{Sample, catalogue, comparison::MethodComparison};
/// use ldp_pca::privacy::{Delta, Epsilon};
/// use ldp_pca::recovery::Rank;
///
/// let sample = Sample::new(3, vec![0.9, 0.1, 0.0, -0.8, 0.0, 0.1, 0.7, 0.0, 0.0])?;
/// let comparison = MethodComparison::new(&sample, Rank::new(1)?, 7)?;
/// let pca = &catalogue::methods(Epsilon::new(1.0)?, Delta::new(1e-6)?)[0];
/// let row = comparison.row(pca.as_ref(), 0..1, &mut || 0.0);
/// assert!(row.figures().is_some_and(|figures| figures.sin_theta_squared.median < 1e-12));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MethodComparison<'a> {
    sample: &'a Sample,
    rank: Rank,
    truth: Subspace,
    captured: f64,
    seed: u64,
}

/// The result of one method.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub method: &'static str,
    /// The parties that see records.
    pub trust: Trust,
    /// Its guarantee; `None` if it has none or refuses.
    pub guarantee: Option<MethodGuarantee>,
    /// Its estimates, one with each random stream.
    pub trials: Vec<Trial>,
    /// The reason why there are no estimates, or fewer than requested.
    pub refusal: Option<BaselineError>,
}

/// One estimate of a method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// `||sin Theta||_F^2` from the components that methods are compared with, 0 to k.
    pub sin_theta_squared: f64,
    /// `q_F = tr(V^T A V)`: the part of the second moments A that the estimate V captures.
    pub captured: f64,
    /// The time of the estimate, by the caller's clock, without the computation of the second moments.
    pub seconds: f64,
    /// The method's diagnostics.
    pub diagnostics: Vec<(&'static str, f64)>,
}

/// The median and the quartiles of several numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    /// The lower quartile.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub upper: f64,
}

/// A summary of a method's trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// See [`Trial::sin_theta_squared`].
    pub sin_theta_squared: Quartiles,
    /// See [`Trial::captured`].
    pub captured: Quartiles,
    /// See [`Trial::seconds`].
    pub seconds: Quartiles,
}

impl<'a> MethodComparison<'a> {
    /// Computes the second moments and their components. All random streams follow from `seed`.
    ///
    /// # Errors
    /// [`BaselineError`] when the records have fewer features than `rank`.
    pub fn new(sample: &'a Sample, rank: Rank, seed: u64) -> Result<Self, BaselineError> {
        rank.check(sample.dimension())?;
        let truth = leading_subspace(sample.second_moment(), rank)?;
        let captured = captured_variance(&truth, sample.second_moment())?;
        Ok(Self { sample, rank, truth, captured, seed })
    }

    /// Compares methods with `truth` in place of the components of the records, such as the population's for synthetic
    /// records.
    ///
    /// # Errors
    /// [`BaselineError`] when the components have another dimension.
    pub fn against(self, truth: Subspace) -> Result<Self, BaselineError> {
        let captured = captured_variance(&truth, self.sample.second_moment())?;
        Ok(Self { truth, captured, ..self })
    }

    /// `||sin Theta||_F^2` of the components without privacy: 0 unless they are compared with [others](Self::against).
    ///
    /// # Errors
    /// [`BaselineError`] where the eigenvalues cannot be computed.
    pub fn without_privacy(&self) -> Result<f64, BaselineError> {
        let found = leading_subspace(self.sample.second_moment(), self.rank)?;
        Ok(sin_theta_squared(&found, &self.truth)?)
    }

    /// n, d and k.
    #[must_use]
    pub fn shape(&self) -> Shape {
        Shape { records: self.sample.records(), dimension: self.sample.dimension(), rank: self.rank }
    }

    /// q_F of the components that methods are compared with. Those without privacy capture the most.
    #[must_use]
    pub fn most_captured(&self) -> f64 {
        self.captured
    }

    /// The average error of a random subspace: `k (1 - k/d)`.
    #[must_use]
    pub fn uninformed(&self) -> f64 {
        let (rank, dimension) = (self.rank.value() as f64, self.sample.dimension() as f64);
        rank * (1.0 - rank / dimension)
    }

    /// The method's guarantee, and one estimate for each of the numbered random streams, the same for every method.
    /// `clock` returns seconds since any moment. A method that refuses, at the start or later, keeps its row.
    pub fn row(
        &self,
        method: &dyn SubspaceEstimator,
        streams: impl IntoIterator<Item = u64>,
        clock: &mut dyn FnMut() -> f64,
    ) -> Row {
        let mut row =
            Row { method: method.name(), trust: method.trust(), guarantee: None, trials: vec![], refusal: None };
        row.refusal = self.fill(&mut row, method, streams, clock).err();
        row
    }

    fn fill(
        &self,
        row: &mut Row,
        method: &dyn SubspaceEstimator,
        streams: impl IntoIterator<Item = u64>,
        clock: &mut dyn FnMut() -> f64,
    ) -> Result<(), BaselineError> {
        row.guarantee = method.guarantee(self.shape())?;
        for stream in streams {
            row.trials.push(self.trial(method, stream, clock)?);
        }
        Ok(())
    }

    /// One estimate, with the numbered random stream, and its distance from what methods are compared with.
    ///
    /// # Errors
    /// [`BaselineError`] where the method refuses.
    pub fn trial(
        &self,
        method: &dyn SubspaceEstimator,
        stream: u64,
        clock: &mut dyn FnMut() -> f64,
    ) -> Result<Trial, BaselineError> {
        // Counted down from the last stream: populations are drawn from the first ones, often with the same seed.
        let mut rng = ldp_pca_simulation::stream(self.seed, u64::MAX - stream);
        let started = clock();
        let Outcome { subspace, diagnostics } = method.estimate(self.sample, self.rank, &mut rng)?;
        let seconds = clock() - started;
        Ok(Trial {
            sin_theta_squared: sin_theta_squared(&subspace, &self.truth)?,
            captured: captured_variance(&subspace, self.sample.second_moment())?,
            seconds,
            diagnostics,
        })
    }
}

impl Row {
    /// A summary of its trials; `None` without any.
    #[must_use]
    pub fn figures(&self) -> Option<Figures> {
        let of = |figure: fn(&Trial) -> f64| Quartiles::of(self.trials.iter().map(figure));
        Some(Figures {
            sin_theta_squared: of(|trial| trial.sin_theta_squared)?,
            captured: of(|trial| trial.captured)?,
            seconds: of(|trial| trial.seconds)?,
        })
    }
}

impl Quartiles {
    /// The quartiles of finite numbers, interpolated; `None` if there are no numbers.
    #[must_use]
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = numbers.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        if sorted.is_empty() {
            return None;
        }
        let at = |share| quantile(&sorted, share);
        Some(Self { lower: at(0.25), median: at(0.5), upper: at(0.75) })
    }
}

/// The quantile at `share` of at least one ascending number, interpolated.
pub(crate) fn quantile(ascending: &[f64], share: f64) -> f64 {
    let place = share * (ascending.len() - 1) as f64;
    let (below, above) = (ascending[place.floor() as usize], ascending[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use rand::rand_core::CryptoRng;

    use super::*;
    use crate::baselines::reference::{Pca, RandomSubspace};

    /// A method that fails after some estimates.
    struct Tiring(core::sync::atomic::AtomicU32);

    impl SubspaceEstimator for Tiring {
        fn name(&self) -> &'static str {
            "tiring"
        }
        fn trust(&self) -> Trust {
            Trust::Curator
        }
        fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
            if shape.records > 3 { Err(BaselineError::NeedsRecords { method: "tiring" }) } else { Ok(None) }
        }
        fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
            if self.0.fetch_sub(1, core::sync::atomic::Ordering::Relaxed) == 0 {
                return Err(BaselineError::Failed { method: "tiring", what: "tired" });
            }
            RandomSubspace.estimate(sample, rank, rng)
        }
    }

    fn records(count: usize) -> Sample {
        let rows = [[0.9, 0.1, 0.0], [-0.8, 0.0, 0.1], [0.7, 0.0, 0.0]];
        Sample::new(3, rows.into_iter().cycle().take(count).flatten().collect()).unwrap()
    }

    #[test]
    fn the_answer_without_privacy_has_no_error_and_captures_most() {
        let sample = records(3);
        let comparison = MethodComparison::new(&sample, Rank::new(2).unwrap(), 1).unwrap();
        let mut moments = (0..).map(f64::from);
        let mut clock = || moments.next().unwrap();
        let pca = comparison.row(&Pca, 0..2, &mut clock).figures().unwrap();
        assert!(pca.sin_theta_squared.upper < 1e-12 && pca.seconds.median == 1.0, "{pca:?}");
        assert!((pca.captured.median - comparison.most_captured()).abs() < 1e-15);
        assert!((comparison.uninformed() - 2.0 / 3.0).abs() < 1e-15);
        let random = comparison.row(&RandomSubspace, 0..9, &mut clock);
        assert!(random.trials.iter().all(|trial| trial.captured < comparison.most_captured()));
        // Streams differ, and each gives the same result again.
        assert_ne!(random.trials[0], random.trials[1]);
        assert_eq!(random.trials[5], comparison.trial(&RandomSubspace, 5, &mut clock).unwrap());
        assert!(MethodComparison::new(&sample, Rank::new(4).unwrap(), 1).is_err());
    }

    #[test]
    fn a_method_that_refuses_keeps_its_row_with_the_reason_and_what_it_did_before() {
        let tiring = Tiring(2.into());
        let rank = Rank::new(1).unwrap();
        let row = MethodComparison::new(&records(3), rank, 1).unwrap().row(&tiring, 0..5, &mut || 0.0);
        assert_eq!((row.method, row.trials.len()), ("tiring", 2));
        assert_eq!(row.refusal.map(|reason| reason.to_string()), Some("tiring: tired".to_owned()));
        let row = MethodComparison::new(&records(4), rank, 1).unwrap().row(&tiring, 0..5, &mut || 0.0);
        assert!(row.figures().is_none() && matches!(row.refusal, Some(BaselineError::NeedsRecords { .. })));
    }

    #[test]
    fn quartiles_are_those_of_the_definition() {
        assert_eq!(Quartiles::of([]), None);
        assert_eq!(Quartiles::of([3.0]), Some(Quartiles { lower: 3.0, median: 3.0, upper: 3.0 }));
        assert_eq!(Quartiles::of([4.0, 1.0, 2.0, 3.0]), Some(Quartiles { lower: 1.75, median: 2.5, upper: 3.25 }));
        assert_eq!(
            Quartiles::of([5.0, 1.0, 2.0, 3.0, 4.0]).unwrap(),
            Quartiles { lower: 2.0, median: 3.0, upper: 4.0 }
        );
    }
}
