//! Mechanisms by their names in options.

#[cfg(feature = "lab")]
use ldp_pca::centring::Centring;
use ldp_pca::mechanism::{Mechanism, MechanismFamily};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::Bounding;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use wasm_bindgen::prelude::JsValue;
#[cfg(feature = "lab")]
use wasm_bindgen::prelude::wasm_bindgen;

use crate::crossing::thrown;
#[cfg(feature = "lab")]
use crate::crossing::{failure, read};

/// A mechanism with its parameters. (One struct for all: an enum tagged by its `type` would add about ten kilobytes.)
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MechanismOptions {
    #[serde(deserialize_with = "named")]
    r#type: MechanismFamily,
    pub(crate) epsilon: Epsilon,
    candidates: Option<u32>,
    cap: Option<u32>,
    delta: Option<Delta>,
}

/// A mechanism by its name.
fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MechanismFamily, D::Error> {
    let name = String::deserialize(deserializer)?;
    MechanismFamily::named(&name).ok_or_else(|| {
        let [first @ .., last] = MechanismFamily::ALL.map(MechanismFamily::name);
        D::Error::custom(format!("'{name}' is not a mechanism: use {} or {last}", first.join(", ")))
    })
}

/// The mechanism without its epsilon.
pub(crate) fn family(mechanism: &MechanismOptions) -> Result<MechanismFamily, JsValue> {
    let &MechanismOptions { r#type, candidates, cap, delta, .. } = mechanism;
    r#type.with(candidates, cap, delta).map_err(thrown)
}

/// The centring of this weight, where there is one.
#[cfg(feature = "lab")]
pub(crate) fn centring(weight: Option<f64>) -> Result<Option<Centring>, JsValue> {
    weight.map(Centring::new).transpose().map_err(|error| failure("argument", &error))
}

/// The mechanism for unit-norm records of `dimension` features.
pub(crate) fn build(mechanism: &MechanismOptions, dimension: usize) -> Result<Mechanism, JsValue> {
    family(mechanism)?.build(mechanism.epsilon, dimension, Bounding::UnitNorm).map_err(thrown)
}

/// A mechanism in the form of a task, with the best parameters where they are left out: its JSON.
#[cfg(feature = "lab")]
#[wasm_bindgen(js_name = recommendedMechanism)]
pub fn recommended_mechanism(options: JsValue) -> Result<String, JsValue> {
    let wanted: MechanismOptions = read(options)?;
    let family = family(&wanted)?;
    if matches!(family, MechanismFamily::WangXu { .. }) {
        return Err(failure("argument", &"wang-xu is for comparison only: use another mechanism in a task"));
    }
    let mut text = String::new();
    family.spec(wanted.epsilon).write(&mut text);
    Ok(text)
}
