//! Mechanisms as options name them.

use core::cell::RefCell;

use serde::Deserialize;
use wasm_bindgen::prelude::JsValue;

use super::{failure, thrown};
use crate::mechanism::{DoubleCap, Mechanism};
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
        let family = match self {
            Self::DoubleCap { epsilon, candidates, cap: None } => {
                let candidates = candidates.unwrap_or_else(|| DoubleCap::recommended_candidates(epsilon));
                // The search for the best cap is for numbers that a mechanism may have; others are refused below.
                let cap = best_cap(candidates.min(65_536), epsilon);
                MechanismFamily::DoubleCap { candidates: Some(candidates), cap: Some(cap) }
            }
            other => other.family()?,
        };
        family.build(self.epsilon(), dimension, Bounding::UnitNorm).map_err(thrown)
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

/// The usual delta.
pub(super) fn default_delta() -> Result<Delta, JsValue> {
    Delta::new(DEFAULT_DELTA).map_err(|error| failure("argument", &error))
}

fn or_default(delta: Option<Delta>) -> Result<Delta, JsValue> {
    delta.map_or_else(default_delta, Ok)
}
