//! Mechanisms as options name them.

use core::cell::RefCell;

use serde::Deserialize;
use wasm_bindgen::prelude::JsValue;

use super::{failure, thrown};
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
        let spec = match self {
            Self::DoubleCap { epsilon, candidates, cap } => {
                let candidates = candidates.unwrap_or_else(|| DoubleCap::recommended_candidates(epsilon));
                // The search for the best cap is for numbers that a mechanism may have; others are refused below.
                let cap = cap.unwrap_or_else(|| best_cap(candidates.min(65_536), epsilon));
                MechanismSpec::DoubleCap { epsilon, candidates, cap }
            }
            Self::Gaussian { epsilon, delta } => {
                MechanismSpec::Gaussian { epsilon, delta: or_default(delta)?, calibration: Calibration::Analytic }
            }
            Self::WangXu { epsilon, delta } => {
                let printed = Gaussian::paper_as_printed(dimension, epsilon, or_default(delta)?).map_err(thrown)?;
                return Ok(Mechanism::Gaussian(printed));
            }
        };
        spec.build(dimension, Bounding::UnitNorm).map_err(thrown)
    }
}

thread_local! {
    /// Candidates, epsilon and the best cap for them, as found so far.
    static BEST_CAPS: RefCell<Vec<(u32, Epsilon, u32)>> = const { RefCell::new(Vec::new()) };
}

/// Numbers of caps that are remembered: a curve has some ten or twenty points.
const REMEMBERED: usize = 64;

/// [`DoubleCap::best_cap`], which takes 10 ms: a curve asks for the same ones trial after trial.
fn best_cap(candidates: u32, epsilon: Epsilon) -> u32 {
    BEST_CAPS.with_borrow_mut(|known| {
        if let Some((.., cap)) = known.iter().find(|(j, e, _)| (*j, *e) == (candidates, epsilon)) {
            return *cap;
        }
        let cap = DoubleCap::best_cap(candidates, epsilon);
        if known.len() == REMEMBERED {
            known.remove(0);
        }
        known.push((candidates, epsilon, cap));
        cap
    })
}

fn or_default(delta: Option<Delta>) -> Result<Delta, JsValue> {
    delta.map_or_else(|| Delta::new(DEFAULT_DELTA).map_err(|error| failure("argument", &error)), Ok)
}
