//! Mechanisms as options name them.

use serde::Deserialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::{failure, options, thrown};
use crate::mechanism::{Calibration, DoubleCap, Gaussian, Mechanism, MechanismSpec};
use crate::privacy::{Delta, Epsilon};
use crate::record::Bounding;

/// The usual delta of mechanisms that have one.
const DEFAULT_DELTA: f64 = 1e-6;

/// A mechanism with its parameters, the best ones where they are left out.
#[derive(Clone, Copy, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum MechanismOption {
    DoubleCap {
        epsilon: Epsilon,
        candidates: Option<u32>,
        cap: Option<u32>,
    },
    Gaussian {
        epsilon: Epsilon,
        delta: Option<Delta>,
    },
    /// As printed in the paper, at any epsilon: its guarantee is what it really gives.
    WangXu {
        epsilon: Epsilon,
        delta: Option<Delta>,
    },
}

impl MechanismOption {
    /// The mechanism for unit-norm records of `dimension` features.
    pub(super) fn build(self, dimension: usize) -> Result<Mechanism, JsValue> {
        if let Self::WangXu { epsilon, delta } = self {
            let printed = Gaussian::paper_as_printed(dimension, epsilon, or_default(delta)?).map_err(thrown)?;
            return Ok(Mechanism::Gaussian(printed));
        }
        self.spec()?.build(dimension, Bounding::UnitNorm).map_err(thrown)
    }

    /// What a task would state.
    fn spec(self) -> Result<MechanismSpec, JsValue> {
        match self {
            Self::DoubleCap { epsilon, candidates, cap } => {
                let candidates = candidates.unwrap_or_else(|| DoubleCap::recommended_candidates(epsilon));
                // The search for the best cap is for numbers that a mechanism may have; others are refused below.
                let cap = cap.unwrap_or_else(|| DoubleCap::best_cap(candidates.min(65_536), epsilon));
                Ok(MechanismSpec::DoubleCap { epsilon, candidates, cap })
            }
            Self::Gaussian { epsilon, delta } => {
                Ok(MechanismSpec::Gaussian { epsilon, delta: or_default(delta)?, calibration: Calibration::Analytic })
            }
            Self::WangXu { .. } => {
                Err(failure("argument", &"wang-xu is for comparison only: a task takes double-cap or gaussian"))
            }
        }
    }
}

/// A mechanism as a task states it, with the best parameters where they are left out: JSON.
#[wasm_bindgen(js_name = recommendedMechanism)]
pub fn recommended_mechanism(options_json: &str) -> Result<String, JsValue> {
    let mut text = String::new();
    options::<MechanismOption>(options_json)?.spec()?.write(&mut text);
    Ok(text)
}

fn or_default(delta: Option<Delta>) -> Result<Delta, JsValue> {
    delta.map_or_else(|| Delta::new(DEFAULT_DELTA).map_err(|error| failure("argument", &error)), Ok)
}
