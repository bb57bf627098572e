//! Mechanisms as people ask for them: by name, with recommended parameters where they are left out.

use serde::{Deserialize, Serialize};

use super::double_cap::MAX_CANDIDATES;
use super::{Calibration, DoubleCap, Gaussian, Mechanism, MechanismError, MechanismSpec};
use crate::privacy::{Delta, Epsilon};
use crate::record::Bounding;

/// A mechanism with its parameters. (One struct for all: an enum tagged by its `type` would be some ten kilobytes of a
/// browser's lab.)
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MechanismOptions {
    /// Which one.
    pub r#type: MechanismName,
    /// Its privacy parameter epsilon.
    pub epsilon: Epsilon,
    /// J of double-cap, the recommended number for epsilon where it is left out.
    pub candidates: Option<u32>,
    /// L of double-cap, the best for epsilon and J where it is left out.
    pub cap: Option<u32>,
    /// The delta of the others, [`Delta::USUAL`] where it is left out.
    pub delta: Option<Delta>,
}

/// The mechanisms that there are to choose from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MechanismName {
    /// [`DoubleCap`].
    DoubleCap,
    /// [`Gaussian`] with the analytic calibration.
    Gaussian,
    /// [`Gaussian`] with the scale of Wang & Xu (2019).
    WangXu,
}

/// A mechanism whose epsilon is open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MechanismFamily {
    /// [`DoubleCap`] with J and L, the recommended ones for every epsilon where they are left out.
    DoubleCap {
        /// The number of candidates, J.
        candidates: Option<u32>,
        /// The number of likelier ones, L.
        cap: Option<u32>,
    },
    /// [`Gaussian`] with the analytic calibration.
    Gaussian {
        /// Its delta.
        delta: Delta,
    },
    /// [`Gaussian::paper_as_printed`]: the scale that Wang & Xu (2019) compute from epsilon and delta. Its real delta
    /// is more than this one but for small epsilons.
    WangXu {
        /// The delta that the scale is computed from.
        delta: Delta,
    },
}

impl MechanismOptions {
    /// The mechanism but for epsilon.
    ///
    /// # Errors
    /// As [`MechanismFamily::new`].
    pub fn family(&self) -> Result<MechanismFamily, MechanismOptionError> {
        MechanismFamily::new(self.r#type, self.candidates, self.cap, self.delta)
    }
}

impl MechanismFamily {
    /// The mechanism of this name.
    ///
    /// # Errors
    /// [`MechanismOptionError`] for a parameter that it does not have.
    pub fn new(
        name: MechanismName,
        candidates: Option<u32>,
        cap: Option<u32>,
        delta: Option<Delta>,
    ) -> Result<Self, MechanismOptionError> {
        let usual = delta.unwrap_or(Delta::USUAL);
        match name {
            MechanismName::DoubleCap if delta.is_some() => Err(MechanismOptionError::Delta),
            MechanismName::DoubleCap => Ok(Self::DoubleCap { candidates, cap }),
            _ if candidates.or(cap).is_some() => Err(MechanismOptionError::Candidates),
            MechanismName::Gaussian => Ok(Self::Gaussian { delta: usual }),
            MechanismName::WangXu => Ok(Self::WangXu { delta: usual }),
        }
    }

    /// The mechanism with this epsilon for records of `dimension` features.
    ///
    /// # Errors
    /// [`MechanismError`] for parameters that it cannot have.
    pub fn build(self, epsilon: Epsilon, dimension: usize, bounding: Bounding) -> Result<Mechanism, MechanismError> {
        match self {
            Self::WangXu { delta } => Ok(Mechanism::Gaussian(Gaussian::paper_as_printed(dimension, epsilon, delta)?)),
            _ => self.spec(epsilon).build(dimension, bounding),
        }
    }

    /// What a task with this epsilon states. (A task takes the paper's scale up to epsilon = 1 alone, where its delta
    /// is real.)
    #[must_use]
    pub fn spec(self, epsilon: Epsilon) -> MechanismSpec {
        match self {
            Self::DoubleCap { candidates, cap } => {
                let candidates = candidates.unwrap_or_else(|| DoubleCap::recommended_candidates(epsilon));
                // The search for the best cap is for numbers that a mechanism may have; others are refused when it is
                // built.
                let cap = cap.unwrap_or_else(|| DoubleCap::best_cap(candidates.min(MAX_CANDIDATES), epsilon));
                MechanismSpec::DoubleCap { epsilon, candidates, cap }
            }
            Self::Gaussian { delta } => MechanismSpec::Gaussian { epsilon, delta, calibration: Calibration::Analytic },
            Self::WangXu { delta } => MechanismSpec::Gaussian { epsilon, delta, calibration: Calibration::Paper },
        }
    }
}

impl From<MechanismSpec> for MechanismFamily {
    /// The family of a task's mechanism, with the best J and L for every epsilon.
    fn from(spec: MechanismSpec) -> Self {
        match spec {
            MechanismSpec::DoubleCap { .. } => Self::DoubleCap { candidates: None, cap: None },
            MechanismSpec::Gaussian { delta, calibration: Calibration::Analytic, .. } => Self::Gaussian { delta },
            MechanismSpec::Gaussian { delta, calibration: Calibration::Paper, .. } => Self::WangXu { delta },
        }
    }
}

/// A parameter that the mechanism does not have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum MechanismOptionError {
    /// Of double-cap.
    #[error("delta does not go with double-cap: its delta is 0")]
    Delta,
    /// Of the others.
    #[error("candidates and cap go with double-cap only")]
    Candidates,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::tests::{delta, epsilon};

    fn options(name: &str, more: &str) -> Result<MechanismFamily, MechanismOptionError> {
        let text = format!(r#"{{"type": "{name}", "epsilon": 2{more}}}"#);
        serde_json::from_str::<MechanismOptions>(&text).unwrap().family()
    }

    #[test]
    fn what_is_left_out_is_recommended_and_what_does_not_belong_is_refused() {
        let family = MechanismFamily::DoubleCap { candidates: Some(64), cap: None };
        assert_eq!(options("double-cap", r#", "candidates": 64"#), Ok(family));
        let cap = DoubleCap::best_cap(64, epsilon(2.0));
        assert_eq!(family.spec(epsilon(2.0)), MechanismSpec::DoubleCap { epsilon: epsilon(2.0), candidates: 64, cap });
        assert_eq!(options("double-cap", r#", "delta": 1e-6"#), Err(MechanismOptionError::Delta));
        assert_eq!(options("gaussian", ""), Ok(MechanismFamily::Gaussian { delta: Delta::USUAL }));
        assert_eq!(options("wang-xu", r#", "delta": 1e-4"#), Ok(MechanismFamily::WangXu { delta: delta(1e-4) }));
        for name in ["gaussian", "wang-xu"] {
            assert_eq!(options(name, r#", "cap": 3"#), Err(MechanismOptionError::Candidates));
        }
    }
}
