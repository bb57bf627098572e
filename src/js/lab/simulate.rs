//! What to expect, before there is a report: predictions and simulated collections.

use chacha20::ChaCha12Rng;
use rand::SeedableRng;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::mechanism::MechanismOption;
use super::recover::{json, prediction_json};
use super::{failure, options, thrown};
use crate::mechanism::LocalRandomizer;
use crate::noise::NoiseLaw;
use crate::prediction::{Spectrum, predict};
use crate::record::Bounding;
use crate::recovery::{DEFAULT_PENALTY_FACTOR, Rank};
use crate::report::framed_bytes;
use crate::simulation::{RecoveryMethod, SpikedModel, Trial};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PredictOptions {
    dimension: usize,
    rank: Rank,
    signals: Vec<f64>,
    bulk: Option<f64>,
    mechanism: MechanismOption,
    records: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SimulateOptions {
    dimension: usize,
    rank: Rank,
    signal: f64,
    sparsity: Option<usize>,
    records: u64,
    /// None for no privacy.
    mechanism: Option<MechanismOption>,
    methods: Vec<MethodName>,
    penalty_factor: Option<f64>,
    seed: u64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MethodName {
    Pca,
    SoftThreshold,
    Fantope,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TrialFacts {
    by_method: Vec<f64>,
    non_private: f64,
    report_bytes: Option<usize>,
}

/// Predicts the error of the leading components of so many unit-norm records with this spectrum: JSON.
#[wasm_bindgen(js_name = predict)]
pub fn predict_spectrum(options_json: &str) -> Result<String, JsValue> {
    let PredictOptions { dimension, rank, signals, bulk, mechanism, records } = options(options_json)?;
    let mechanism = mechanism.build(dimension)?;
    // Eigenvalues of unit-norm records sum to 1.
    let left = 1.0 - signals.iter().sum::<f64>();
    let bulk = bulk.unwrap_or_else(|| left.max(0.0) / dimension.saturating_sub(signals.len()).max(1) as f64);
    let spectrum = Spectrum::new(dimension, signals, bulk).map_err(thrown)?;
    let law = NoiseLaw::new(&mechanism, Bounding::UnitNorm, records).map_err(thrown)?;
    prediction_json(&predict(&spectrum, rank, &law).map_err(thrown)?)
}

/// One trial of a simulated collection, from records to the errors of the recovered subspaces: JSON. The same numbers as
/// the command line's `simulate`, trial by trial.
#[wasm_bindgen(js_name = simulateTrial)]
pub fn simulate_trial(options_json: &str, trial: u32) -> Result<String, JsValue> {
    let options: SimulateOptions = options(options_json)?;
    let factor = options.penalty_factor.unwrap_or(DEFAULT_PENALTY_FACTOR);
    if !(factor.is_finite() && factor >= 0.0) {
        return Err(failure(
            "argument",
            &format!("penaltyFactor is {factor}: it must be a finite number of at least 0"),
        ));
    }
    let mut methods = options.methods.iter().map(|method| match method {
        MethodName::Pca => RecoveryMethod::Pca,
        MethodName::SoftThreshold => RecoveryMethod::SoftThreshold { factor },
        MethodName::Fantope => RecoveryMethod::Fantope { factor },
    });
    let Some(first) = methods.next() else {
        return Err(failure("argument", &"there are no methods: give at least one"));
    };
    let mechanism = options.mechanism.map(|mechanism| mechanism.build(options.dimension)).transpose()?;
    let mut rng = ChaCha12Rng::seed_from_u64(options.seed);
    rng.set_stream(trial.into());
    let population = SpikedModel::draw(options.dimension, options.rank, options.signal, options.sparsity, &mut rng)
        .map_err(thrown)?;
    let run =
        Trial { population: &population, mechanism: mechanism.as_ref(), records: options.records, rank: options.rank };
    let result = run.run_with_methods(first, &methods.collect::<Vec<_>>(), &mut rng, |_| {}).map_err(thrown)?;
    json(&TrialFacts {
        by_method: result.by_method,
        non_private: result.non_private,
        report_bytes: mechanism.as_ref().map(|mechanism| framed_bytes(mechanism.payload_bytes())),
    })
}
