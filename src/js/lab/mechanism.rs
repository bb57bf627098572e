//! Mechanisms as options name them.

use serde::Deserialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::{failure, options, thrown};
use crate::mechanism::Mechanism;
use crate::prediction::MechanismFamily;
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
        self.family()?.build(self.epsilon(), dimension, Bounding::UnitNorm).map_err(thrown)
    }

    /// The mechanism but for epsilon.
    pub(super) fn family(self) -> Result<MechanismFamily, JsValue> {
        Ok(match self {
            Self::DoubleCap { candidates, cap, .. } => MechanismFamily::DoubleCap { candidates, cap },
            Self::Gaussian { delta, .. } => MechanismFamily::Gaussian { delta: or_default(delta)? },
            Self::WangXu { delta, .. } => MechanismFamily::WangXu { delta: or_default(delta)? },
        })
    }

    pub(super) fn epsilon(self) -> Epsilon {
        match self {
            Self::DoubleCap { epsilon, .. } | Self::Gaussian { epsilon, .. } | Self::WangXu { epsilon, .. } => epsilon,
        }
    }

    /// Its delta, or the usual one.
    pub(super) fn delta(self) -> Result<Delta, JsValue> {
        match self {
            Self::DoubleCap { .. } => or_default(None),
            Self::Gaussian { delta, .. } | Self::WangXu { delta, .. } => or_default(delta),
        }
    }
}

/// A mechanism as a task states it, with the best parameters where they are left out: JSON.
#[wasm_bindgen(js_name = recommendedMechanism)]
pub fn recommended_mechanism(options_json: &str) -> Result<String, JsValue> {
    let option: MechanismOption = options(options_json)?;
    let Some(spec) = option.family()?.spec(option.epsilon()) else {
        return Err(failure("argument", &"wang-xu is for comparison only: a task takes double-cap or gaussian"));
    };
    let mut text = String::new();
    spec.write(&mut text);
    Ok(text)
}

/// The usual delta.
pub(super) fn default_delta() -> Result<Delta, JsValue> {
    Delta::new(DEFAULT_DELTA).map_err(|error| failure("argument", &error))
}

fn or_default(delta: Option<Delta>) -> Result<Delta, JsValue> {
    delta.map_or_else(default_delta, Ok)
}
