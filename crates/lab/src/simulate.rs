//! Simulated collections.

use chacha20::ChaCha12Rng;
use js_sys::{Function, Reflect};
use nalgebra::DMatrix;
use rand::SeedableRng;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::crossing::{failure, matrix, object, object_with, read, thrown};
use crate::mechanism::{CentringOptions, MechanismOptions, build, centring};
use crate::recover::{PathOptions, Watch, solve_path};
use ldp_pca::internal::report::framed_bytes;
use ldp_pca::mechanism::{LocalRandomizer, Mechanism};
use ldp_pca::privacy::Guarantee;
use ldp_pca::recovery::{DEFAULT_PENALTY_FACTOR, Penalty, Rank, default_penalty, principal_components};
use ldp_pca::subspace::Subspace;
use ldp_pca_simulation::{
    Estimate, ProjectionComparison, Recovered, RecoveryMethod, Reports, SpikedModel, SpikedSpectrum, SupportCounts,
    Trial,
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
    centring: Option<CentringOptions>,
    mean_share: Option<f64>,
    reports: Reports,
    seed: u64,
    trial: u32,
}

/// An estimate that was made elsewhere, and the second moments whose components are the true ones: d × d numbers each.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GivenOptions {
    dimension: usize,
    rank: Rank,
    second_moment: Vec<f64>,
    estimate: Vec<f64>,
    noise_deviation: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MethodsOptions {
    methods: Vec<MethodName>,
    penalty_factor: Option<f64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MethodName {
    Pca,
    SoftThreshold,
    Fantope,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PopulationOptions {
    dimension: usize,
    rank: Rank,
    signal: f64,
    sparsity: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PenaltyOption {
    Value(Penalty),
    Factor(f64),
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
struct PopulationFacts {
    signals: Vec<f64>,
    bulk: f64,
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
        let mut rng = ChaCha12Rng::seed_from_u64(self.seed);
        rng.set_stream(self.trial.into());
        let centring = centring(self.centring)?;
        let population = SpikedModel::draw(self.dimension, self.rank, self.signal, self.sparsity, &mut rng)
            .and_then(|population| population.with_mean_share(self.mean_share.unwrap_or(0.0), &mut rng))
            .map_err(thrown)?;
        let Self { records, rank, reports, .. } = *self;
        work(&Trial { population: &population, mechanisms, records, rank, reports, centring }, &mut rng)
    }
}

impl GivenOptions {
    fn collection(&self) -> Result<SimulatedCollection, JsValue> {
        let noise = self.noise_deviation;
        if !(noise.is_finite() && noise >= 0.0) {
            let problem = format!("noiseDeviation is {noise}: it must be a finite number of at least 0");
            return Err(failure("argument", &problem));
        }
        let square = |numbers| matrix(numbers, self.dimension, self.dimension);
        let covariance = square(&self.second_moment)?;
        let truth = principal_components(&covariance, self.rank).map_err(thrown)?.vectors;
        let truth = Subspace::new(&truth).map_err(|error| failure("recovery", &error))?;
        Ok(SimulatedCollection { truth, covariance, estimate: Estimate { matrix: square(&self.estimate)?, noise } })
    }
}

/// The expected eigenvalues of simulated records: an object.
#[wasm_bindgen]
pub fn population(options: JsValue) -> Result<JsValue, JsValue> {
    let PopulationOptions { dimension, rank, signal, sparsity } = read(options)?;
    SpikedModel::check(dimension, rank, signal, sparsity).map_err(thrown)?;
    let SpikedSpectrum { signal, bulk } = SpikedSpectrum::new(dimension, rank, signal).map_err(thrown)?;
    object(&PopulationFacts { signals: vec![signal; rank.value()], bulk })
}

/// One trial of a simulated collection, from records to recovered subspaces beside the true one: an object. The same
/// numbers as a simulation of the command line, trial by trial.
#[wasm_bindgen(js_name = simulateTrial)]
pub fn simulate_trial(collection: JsValue, methods: JsValue) -> Result<JsValue, JsValue> {
    let collection: CollectionOptions = read(collection)?;
    let MethodsOptions { methods, penalty_factor } = read(methods)?;
    let factor = penalty_factor.unwrap_or(DEFAULT_PENALTY_FACTOR);
    if !(factor.is_finite() && factor >= 0.0) {
        let problem = format!("penaltyFactor is {factor}: it must be a finite number of at least 0");
        return Err(failure("argument", &problem));
    }
    if methods.is_empty() {
        return Err(failure("argument", &"there are no methods: give at least one"));
    }
    let method = |method: &MethodName| match method {
        MethodName::Pca => RecoveryMethod::Pca,
        MethodName::SoftThreshold => RecoveryMethod::SoftThreshold { factor },
        MethodName::Fantope => RecoveryMethod::Fantope { factor },
    };
    let methods: Vec<_> = methods.iter().map(method).collect();
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
    /// Collects from the records by the first mechanism; without one the estimate is exact. Or takes an estimate that
    /// was made elsewhere.
    #[wasm_bindgen(constructor)]
    pub fn new(collection: JsValue) -> Result<SimulatedCollection, JsValue> {
        if Reflect::has(&collection, &"estimate".into())? {
            return read::<GivenOptions>(collection)?.collection();
        }
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

    /// Recovers the components by all methods.
    pub fn compare(&self, penalty: JsValue) -> Result<JsValue, JsValue> {
        let penalty = match read(penalty)? {
            PenaltyOption::Value(penalty) => penalty,
            PenaltyOption::Factor(factor) => {
                default_penalty(self.estimate.noise, self.truth.dimension(), factor).map_err(thrown)?
            }
        };
        let truth = (&self.truth, &self.covariance);
        let found = ProjectionComparison::new(truth, &self.estimate, penalty).map_err(thrown)?;
        let ProjectionComparison { truth, pca, soft_threshold, fantope, .. } = &found;
        let projections = [truth, pca, soft_threshold, fantope].into_iter();
        let matrices: Vec<f64> = projections.flat_map(|projection| projection.matrix.as_slice()).copied().collect();
        object_with(&ComparedFacts { penalty, found: &found }, "matrices", &matrices)
    }

    /// Solves the sparse problem for a sequence of penalties, as an aggregate's `path`: an array.
    pub fn path(&self, options: JsValue, progress: &Function) -> Result<JsValue, JsValue> {
        let PathOptions { rank, points } = read(options)?;
        let mut points = solve_path(&self.estimate.matrix, self.estimate.noise, rank, points, Watch::new(progress))?;
        let truth = SupportCounts::support_of(&self.truth);
        points.iter_mut().for_each(|point| point.counts = Some(SupportCounts::new(&point.support, &truth)));
        object(&points)
    }
}
