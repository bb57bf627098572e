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

/// A mechanism with its parameters, the best ones where they are left out. (One struct for all: an enum tagged by its
/// `type` would be some ten kilobytes of the lab.)
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MechanismOption {
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
    pub(super) fn build(self, dimension: usize) -> Result<Mechanism, JsValue> {
        let family = match self.family()? {
            MechanismFamily::DoubleCap { candidates, cap: None } => {
                let candidates = candidates.unwrap_or_else(|| DoubleCap::recommended_candidates(self.epsilon));
                // The search for the best cap is for numbers that a mechanism may have; others are refused below.
                let cap = best_cap(candidates.min(65_536), self.epsilon);
                MechanismFamily::DoubleCap { candidates: Some(candidates), cap: Some(cap) }
            }
            other => other,
        };
        family.build(self.epsilon, dimension, Bounding::UnitNorm).map_err(thrown)
    }

    /// The mechanism but for epsilon.
    pub(super) fn family(self) -> Result<MechanismFamily, JsValue> {
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

    pub(super) fn epsilon(self) -> Epsilon {
        self.epsilon
    }

    /// Its delta, or the usual one.
    pub(super) fn delta(self) -> Result<Delta, JsValue> {
        or_default(self.delta)
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
