//! Mechanisms as options name them.

use serde::Deserialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::crossing::{failure, read, thrown};
use ldp_pca::mechanism::Mechanism;
use ldp_pca::prediction::MechanismFamily;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::Bounding;

/// The usual delta of mechanisms that have one.
const DEFAULT_DELTA: f64 = 1e-6;

/// A mechanism with its parameters, the best ones where they are left out. (One struct for all: an enum tagged by its
/// `type` would be some ten kilobytes of the lab.)
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MechanismOption {
    r#type: MechanismName,
    epsilon: Epsilon,
    candidates: Option<u32>,
    cap: Option<u32>,
    delta: Option<Delta>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MechanismName {
    DoubleCap,
    Gaussian,
    /// As printed in the paper, at any epsilon: its guarantee is what it really gives.
    WangXu,
}

impl MechanismOption {
    /// The mechanism for unit-norm records of `dimension` features.
    pub(crate) fn build(self, dimension: usize) -> Result<Mechanism, JsValue> {
        self.family()?.build(self.epsilon(), dimension, Bounding::UnitNorm).map_err(thrown)
    }

    /// The mechanism but for epsilon.
    pub(crate) fn family(self) -> Result<MechanismFamily, JsValue> {
        let Self { candidates, cap, delta, .. } = self;
        match self.r#type {
            MechanismName::DoubleCap if delta.is_some() => {
                Err(failure("argument", &"there is 'delta', which double-cap has not: it is 0"))
            }
            MechanismName::DoubleCap => Ok(MechanismFamily::DoubleCap { candidates, cap }),
            _ if candidates.or(cap).is_some() => {
                Err(failure("argument", &"there is 'candidates' or 'cap', which only double-cap has: leave them out"))
            }
            MechanismName::Gaussian => Ok(MechanismFamily::Gaussian { delta: or_default(delta)? }),
            MechanismName::WangXu => Ok(MechanismFamily::WangXu { delta: or_default(delta)? }),
        }
    }

    pub(crate) fn epsilon(self) -> Epsilon {
        self.epsilon
    }

    /// Its delta, or the usual one.
    pub(crate) fn delta(self) -> Result<Delta, JsValue> {
        or_default(self.delta)
    }
}

/// A mechanism as a task states it, with the best parameters where they are left out: its JSON, as in a task.
#[wasm_bindgen(js_name = recommendedMechanism)]
pub fn recommended_mechanism(options: JsValue) -> Result<String, JsValue> {
    let option: MechanismOption = read(options)?;
    let Some(spec) = option.family()?.spec(option.epsilon()) else {
        return Err(failure("argument", &"wang-xu is for comparison only: a task takes double-cap or gaussian"));
    };
    let mut text = String::new();
    spec.write(&mut text);
    Ok(text)
}

/// The usual delta.
pub(crate) fn default_delta() -> Result<Delta, JsValue> {
    Delta::new(DEFAULT_DELTA).map_err(|error| failure("argument", &error))
}

fn or_default(delta: Option<Delta>) -> Result<Delta, JsValue> {
    delta.map_or_else(default_delta, Ok)
}
