//! Simulated collections.

use chacha20::ChaCha12Rng;
use js_sys::Function;
use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::crossing::{failure, matrix, object, object_with, read, thrown};
use crate::mechanism::{MechanismOptions, build, centring};
use crate::recover::{Watch, solve_path};
use ldp_pca::internal::report::framed_bytes;
use ldp_pca::mechanism::{LocalRandomizer, Mechanism};
use ldp_pca::privacy::Guarantee;
use ldp_pca::recovery::{DEFAULT_PENALTY_FACTOR, Penalty, Rank, default_penalty, principal_components};
use ldp_pca::subspace::Subspace;
use ldp_pca_simulation::{
    Estimate, ProjectionComparison, Recovered, RecoveryMethod, Reports, SpikedModel, SpikedSpectrum, SupportCounts,
    Trial, stream,
};

/// The population, and the number of its collection.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CollectionOptions {
    dimension: usize,
    rank: Rank,
    signal: f64,
    sparsity: Option<usize>,
    records: u64,
    mechanisms: Vec<MechanismOptions>,
    /// The weight of the centring, if there is one.
    centring: Option<f64>,
    mean_share: Option<f64>,
    reports: Reports,
    seed: u64,
    trial: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TrialFacts {
    by_mechanism: Vec<MechanismFacts>,
    non_private: Recovered,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MechanismFacts {
    methods: Vec<Recovered>,
    report_bytes: usize,
    guarantee: Guarantee,
}

#[derive(Serialize)]
struct ComparedFacts<'a> {
    /// In the units of the estimate.
    penalty: Penalty,
    #[serde(flatten)]
    found: &'a ProjectionComparison,
}

impl CollectionOptions {
    fn mechanisms(&self) -> Result<Vec<Mechanism>, JsValue> {
        let coordinates = self.dimension + usize::from(self.centring.is_some());
        self.mechanisms.iter().map(|mechanism| build(mechanism, coordinates)).collect()
    }

    /// Draws the population and returns the trial and its randomness, the same as in a simulation of the command line.
    fn with_trial<T>(
        &self,
        mechanisms: &[Mechanism],
        work: impl FnOnce(&Trial<'_>, &mut ChaCha12Rng) -> Result<T, JsValue>,
    ) -> Result<T, JsValue> {
        let mut rng = stream(self.seed, self.trial.into());
        let centring = centring(self.centring)?;
        let population = SpikedModel::draw(self.dimension, self.rank, self.signal, self.sparsity, &mut rng)
            .and_then(|population| population.with_mean_share(self.mean_share.unwrap_or(0.0), &mut rng))
            .map_err(thrown)?;
        let Self { records, rank, reports, .. } = *self;
        work(&Trial { population: &population, mechanisms, records, rank, reports, centring }, &mut rng)
    }
}

/// The expected eigenvalues of simulated records: those of the components, and every other one.
#[wasm_bindgen]
pub fn population(dimension: usize, rank: usize, signal: f64, sparsity: Option<usize>) -> Result<JsValue, JsValue> {
    let rank = Rank::new(rank).map_err(thrown)?;
    SpikedModel::check(dimension, rank, signal, sparsity).map_err(thrown)?;
    let SpikedSpectrum { signal, bulk } = SpikedSpectrum::new(dimension, rank, signal).map_err(thrown)?;
    object(&(vec![signal; rank.value()], bulk))
}

/// One trial of a simulated collection, from records to recovered subspaces beside the true one, by `methods` (their
/// names, separated by commas): an object. The same numbers as a simulation of the command line, trial by trial.
#[wasm_bindgen(js_name = simulateTrial)]
pub fn simulate_trial(collection: JsValue, methods: &str, penalty_factor: Option<f64>) -> Result<JsValue, JsValue> {
    let collection: CollectionOptions = read(collection)?;
    let factor = penalty_factor.unwrap_or(DEFAULT_PENALTY_FACTOR);
    if !(factor.is_finite() && factor >= 0.0) {
        let problem = format!("penaltyFactor is {factor}: it must be a finite number of at least 0");
        return Err(failure("argument", &problem));
    }
    if methods.is_empty() {
        return Err(failure("argument", &"there are no methods: give at least one"));
    }
    let method = |name: &str| match name {
        "pca" => Ok(RecoveryMethod::Pca),
        "soft-threshold" => Ok(RecoveryMethod::SoftThreshold { factor }),
        "fantope" => Ok(RecoveryMethod::Fantope { factor }),
        _ => Err(failure("argument", &format!("'{name}' is not a method: use pca, soft-threshold or fantope"))),
    };
    let methods = methods.split(',').map(method).collect::<Result<Vec<_>, _>>()?;
    let mechanisms = collection.mechanisms()?;
    let result = collection.with_trial(&mechanisms, |trial, rng| trial.run(&methods, rng, |_| {}).map_err(thrown))?;
    let facts = |(mechanism, methods): (&Mechanism, Vec<Recovered>)| MechanismFacts {
        methods,
        report_bytes: framed_bytes(mechanism.payload_bytes()),
        guarantee: mechanism.guarantee(),
    };
    object(&TrialFacts {
        by_mechanism: mechanisms.iter().zip(result.by_mechanism).map(facts).collect(),
        non_private: result.non_private,
    })
}

/// The estimate of one simulated collection, beside the truth.
#[wasm_bindgen]
#[derive(Debug)]
pub struct SimulatedCollection {
    truth: Subspace,
    covariance: DMatrix<f64>,
    estimate: Estimate,
}

#[wasm_bindgen]
impl SimulatedCollection {
    /// Takes an estimate that was made elsewhere, and the second moments whose components are the true ones: d × d
    /// numbers each.
    pub fn given(
        dimension: usize,
        rank: usize,
        second_moment: &[f64],
        estimate: &[f64],
        noise: f64,
    ) -> Result<SimulatedCollection, JsValue> {
        if !(noise.is_finite() && noise >= 0.0) {
            let problem = format!("noiseDeviation is {noise}: it must be a finite number of at least 0");
            return Err(failure("argument", &problem));
        }
        let square = |numbers| matrix(numbers, dimension, dimension);
        let (covariance, rank) = (square(second_moment)?, Rank::new(rank).map_err(thrown)?);
        let truth = principal_components(&covariance, rank).map_err(thrown)?.vectors;
        let truth = Subspace::new(&truth).map_err(|error| failure("recovery", &error))?;
        Ok(Self { truth, covariance, estimate: Estimate { matrix: square(estimate)?, noise } })
    }

    /// Collects from the records by the first mechanism; without one the estimate is exact.
    #[wasm_bindgen(constructor)]
    pub fn new(collection: JsValue) -> Result<SimulatedCollection, JsValue> {
        let collection: CollectionOptions = read(collection)?;
        collection.with_trial(&collection.mechanisms()?, |trial, rng| {
            let collected = trial.collect(rng, |_| {}).map_err(thrown)?;
            let exact = Estimate { matrix: collected.second_moment, noise: 0.0 };
            let estimate = collected.estimates.into_iter().next().unwrap_or(exact);
            let (truth, covariance) = (trial.population.subspace().clone(), trial.population.covariance());
            Ok(Self { truth, covariance, estimate })
        })
    }

    /// Standard deviation of the noise in one off-diagonal entry of the estimate.
    #[wasm_bindgen(getter, js_name = noiseDeviation)]
    #[must_use]
    pub fn noise_deviation(&self) -> f64 {
        self.estimate.noise
    }

    /// Recovers the components by all methods, with this penalty or that of a factor.
    pub fn compare(&self, penalty: Option<f64>, factor: f64) -> Result<JsValue, JsValue> {
        let penalty = match penalty {
            Some(penalty) => Penalty::new(penalty).map_err(|error| failure("argument", &error))?,
            None => default_penalty(self.estimate.noise, self.truth.dimension(), factor).map_err(thrown)?,
        };
        let truth = (&self.truth, &self.covariance);
        let found = ProjectionComparison::new(truth, &self.estimate, penalty).map_err(thrown)?;
        let ProjectionComparison { truth, pca, soft_threshold, fantope, .. } = &found;
        let projections = [truth, pca, soft_threshold, fantope].into_iter();
        let matrices: Vec<f64> = projections.flat_map(|projection| projection.matrix.as_slice()).copied().collect();
        object_with(&ComparedFacts { penalty, found: &found }, "matrices", &matrices)
    }

    /// Solves the sparse problem for a sequence of penalties, as an aggregate's `path`: an array.
    pub fn path(&self, points: usize, progress: &Function) -> Result<JsValue, JsValue> {
        let rank = Rank::new(self.truth.rank()).map_err(thrown)?;
        let mut points = solve_path(&self.estimate.matrix, self.estimate.noise, rank, points, Watch::new(progress))?;
        let truth = SupportCounts::support_of(&self.truth);
        points.iter_mut().for_each(|point| point.counts = Some(SupportCounts::new(&point.support, &truth)));
        object(&points)
    }
}
