//! Simulated collections.

use chacha20::ChaCha12Rng;
use rand::SeedableRng;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::mechanism::MechanismOption;
use super::recover::json;
use super::{failure, options, thrown};
use crate::mechanism::LocalRandomizer;
use crate::recovery::{DEFAULT_PENALTY_FACTOR, Rank};
use crate::report::framed_bytes;
use crate::simulation::{RecoveryMethod, SpikedModel, Trial};

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
