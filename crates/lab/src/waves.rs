//! What two waves of different people would find: the points of a curve on the demo page.
//!
//! | code | what was wrong |
//! |---|---|
//! | `argument` | an epsilon that is none |
//! | `recovery` | a rank or a spectrum that makes no sense, or more components than a second wave can ask about |

use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::crossing::{object, thrown};
use ldp_pca::internal::waves::Waves;
use ldp_pca::mechanism::MechanismFamily;
use ldp_pca::prediction::{Planner, Spectrum};
use ldp_pca::privacy::Epsilon;
use ldp_pca::record::Bounding;
use ldp_pca::recovery::Rank;

/// The prediction for two waves of double-cap and its refinement, of `records` unit-norm records in all: an object
/// with the keys of `TwoWaves`. (As plain arguments, which take less code than options.)
#[wasm_bindgen(js_name = twoWaves)]
pub fn two_waves(
    dimension: usize,
    rank: usize,
    signals: Vec<f64>,
    bulk: f64,
    epsilon: f64,
    records: f64,
) -> Result<JsValue, JsValue> {
    let spectrum = Spectrum::new(dimension, signals, bulk).map_err(thrown)?;
    let rank = Rank::new(rank).map_err(thrown)?;
    let family = MechanismFamily::DoubleCap { candidates: None, cap: None };
    let planner = Planner::new(spectrum, rank, family, Bounding::UnitNorm).map_err(thrown)?;
    let epsilon = Epsilon::new(epsilon).map_err(thrown)?;
    object(&Waves::new(&planner, epsilon, records as u64).and_then(|waves| waves.best()).map_err(thrown)?)
}
