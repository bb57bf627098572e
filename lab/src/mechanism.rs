//! Mechanisms by their names in options.

#[cfg(feature = "lab")]
use ldp_pca::centring::Centring;
use ldp_pca::mechanism::{Mechanism, MechanismFamily, MechanismOptionError, MechanismOptions};
use ldp_pca::record::Bounding;
#[cfg(feature = "lab")]
use serde::Deserialize;
use wasm_bindgen::prelude::JsValue;
#[cfg(feature = "lab")]
use wasm_bindgen::prelude::wasm_bindgen;

#[cfg(feature = "lab")]
use crate::crossing::read;
use crate::crossing::{failure, thrown};

/// The mechanism without its epsilon.
pub(crate) fn family(mechanism: &MechanismOptions) -> Result<MechanismFamily, JsValue> {
    mechanism.family().map_err(|error| {
        let problem = match error {
            MechanismOptionError::Delta => "there is 'delta', which double-cap lacks: it is 0",
            MechanismOptionError::Candidates => {
                "there is 'candidates' or 'cap', which only double-cap has: leave them out"
            }
            MechanismOptionError::Norms => "norm-cap is for lengths, which the command line asks about",
            MechanismOptionError::Refinement => "signed-cap is for refinements, which the command line makes",
        };
        failure("argument", &problem)
    })
}

/// The centring of a task, as its document has it.
#[cfg(feature = "lab")]
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CentringOptions {
    weight: f64,
}

/// The centring that is asked for, and the number of coordinates that are then randomized.
#[cfg(feature = "lab")]
pub(crate) fn centring(
    options: Option<CentringOptions>,
    dimension: usize,
) -> Result<(Option<Centring>, usize), JsValue> {
    let centring = options.map(|CentringOptions { weight }| Centring::new(weight)).transpose();
    let centring = centring.map_err(|error| failure("argument", &error))?;
    Ok((centring, dimension + usize::from(centring.is_some())))
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
    if family.printed_delta().is_some() {
        return Err(failure("argument", &"wang-xu is for comparison only: a task takes double-cap or gaussian"));
    }
    let mut text = String::new();
    family.spec(wanted.epsilon).write(&mut text);
    Ok(text)
}
