//! What to expect, before there is a report.

use serde::Deserialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::mechanism::MechanismOption;
use super::recover::prediction_json;
use super::{options, thrown};
use crate::noise::NoiseLaw;
use crate::prediction::{Spectrum, predict};
use crate::record::Bounding;
use crate::recovery::Rank;

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
