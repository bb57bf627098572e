//! Mechanisms in tasks and in options: their names, their parameters, their JSON.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::cap::MAX_CANDIDATES;
use super::{Calibration, DoubleCap, Gaussian, Mechanism, MechanismError, NormCap, SignedCap, TaskMechanism};
use crate::decimal;
use crate::json::{Read, Reader};
use crate::privacy::{Delta, Epsilon};
use crate::record::Bounding;

const FIELDS: &str = "a mechanism has 'type' and 'epsilon', and 'delta' and 'calibration' where it is 'gaussian', \
                      'candidates' and 'cap' where it is not";

/// A mechanism and its parameters, in the form of a task.
///
/// ```
/// use ldp_pca::{Delta, Epsilon, MechanismSpec};
/// let epsilon = Epsilon::new(2.0)?;
/// assert_eq!(MechanismSpec::double_cap(epsilon).to_string(), "double-cap, 16 of 128 candidates");
/// let gaussian = MechanismSpec::gaussian(epsilon, Delta::USUAL);
/// assert_eq!(gaussian.to_string(), "gaussian, analytic calibration, delta 0.000001");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum MechanismSpec {
    /// Gaussian noise on the covariance contribution.
    Gaussian {
        /// Privacy parameter epsilon.
        epsilon: Epsilon,
        /// Privacy parameter delta.
        delta: Delta,
        /// The rule for the noise scale.
        calibration: Calibration,
    },
    /// One of `candidates` public directions, `cap` of which are likelier.
    DoubleCap {
        /// Privacy parameter epsilon; delta is 0.
        epsilon: Epsilon,
        /// Number of candidate directions, J.
        candidates: u32,
        /// Number of likelier ones, L.
        cap: u32,
    },
    /// One of `candidates` public directions, `cap` of which are likelier by scores that have a sign, in the task of a
    /// refinement.
    #[doc(hidden)]
    SignedCap {
        /// Privacy parameter epsilon; delta is 0.
        epsilon: Epsilon,
        /// Number of candidate directions, J.
        candidates: u32,
        /// Number of likelier ones, L.
        cap: u32,
    },
    /// Whether the record is longer than one of `cap` public lengths.
    #[doc(hidden)]
    NormCap {
        /// Privacy parameter epsilon; delta is 0.
        epsilon: Epsilon,
        /// Number of things that a report can say, J: two of each length.
        candidates: u32,
        /// Number of those that are true, L: one of each length.
        cap: u32,
    },
}

impl MechanismSpec {
    /// [`DoubleCap`] with the recommended J and the best L for `epsilon`.
    #[must_use]
    pub fn double_cap(epsilon: Epsilon) -> Self {
        MechanismFamily::DoubleCap { candidates: None, cap: None }.spec(epsilon)
    }

    /// [`Gaussian`] with the analytic calibration.
    #[must_use]
    pub fn gaussian(epsilon: Epsilon, delta: Delta) -> Self {
        Self::Gaussian { epsilon, delta, calibration: Calibration::Analytic }
    }

    /// [`SignedCap`](super::SignedCap), by default with the recommended J and the best L for `epsilon`.
    #[must_use]
    #[doc(hidden)]
    pub fn signed_cap(epsilon: Epsilon, candidates: Option<u32>, cap: Option<u32>) -> Self {
        let candidates = candidates.unwrap_or_else(|| SignedCap::recommended_candidates(epsilon));
        // As for double-cap.
        let cap = cap.unwrap_or_else(|| SignedCap::best_cap(candidates.min(MAX_CANDIDATES), epsilon));
        Self::SignedCap { epsilon, candidates, cap }
    }

    /// [`NormCap`](super::NormCap) with so many lengths.
    #[must_use]
    #[doc(hidden)]
    pub fn norm_cap(epsilon: Epsilon, lengths: u32) -> Self {
        Self::NormCap { epsilon, candidates: 2 * lengths, cap: lengths }
    }

    /// The mechanism for records of `dimension` features under `bounding`, which is about second moments.
    ///
    /// # Errors
    /// [`MechanismError`] when the parameters do not fit together.
    pub fn build(&self, dimension: usize, bounding: Bounding) -> Result<Mechanism, MechanismError> {
        self.for_task(dimension, bounding)?.moments().cloned()
    }

    /// The mechanism of a task about records of `dimension` features under `bounding`. (That of a refinement needs its
    /// directions too: a task has both.)
    ///
    /// # Errors
    /// As [`build`](Self::build).
    #[doc(hidden)]
    pub fn for_task(&self, dimension: usize, bounding: Bounding) -> Result<TaskMechanism, MechanismError> {
        Ok(match *self {
            Self::Gaussian { epsilon, delta, calibration } => {
                Gaussian::new(dimension, epsilon, delta, calibration)?.into()
            }
            Self::DoubleCap { epsilon, candidates, cap } => DoubleCap::new(dimension, epsilon, candidates, cap)?.into(),
            Self::NormCap { epsilon, candidates, cap } => {
                NormCap::new(dimension, bounding, epsilon, candidates, cap)?.into()
            }
            Self::SignedCap { .. } => return Err(MechanismError::Refinement),
        })
    }

    /// The mechanism.
    #[must_use]
    #[doc(hidden)]
    pub fn name(&self) -> MechanismName {
        match self {
            Self::DoubleCap { .. } => MechanismName::DoubleCap,
            Self::SignedCap { .. } => MechanismName::SignedCap,
            Self::NormCap { .. } => MechanismName::NormCap,
            Self::Gaussian { calibration: Calibration::Analytic, .. } => MechanismName::Gaussian,
            Self::Gaussian { calibration: Calibration::Paper, .. } => MechanismName::WangXu,
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Read<Self> {
        let (mut kind, mut epsilon, mut delta, mut calibration) = (None, None, None, None);
        let (mut candidates, mut cap) = (None, None);
        reader.object(&mut |reader, field| match field {
            "type" => reader.once(field, &mut kind, Reader::text),
            "epsilon" => reader.once(field, &mut epsilon, |reader| {
                Epsilon::new(reader.number()?).map_err(|error| reader.refused(&error))
            }),
            "delta" => reader
                .once(field, &mut delta, |reader| Delta::new(reader.number()?).map_err(|error| reader.refused(&error))),
            "calibration" => reader.once(field, &mut calibration, |reader| match reader.text()?.as_str() {
                "analytic" => Ok(Calibration::Analytic),
                "paper" => Ok(Calibration::Paper),
                other => Err(reader.unknown_value(other, "'calibration' is 'analytic' or 'paper'")),
            }),
            "candidates" => reader.once(field, &mut candidates, Reader::integer),
            "cap" => reader.once(field, &mut cap, Reader::integer),
            _ => Err(reader.unknown_field(field, FIELDS)),
        })?;
        let kind = reader.required("type", kind)?;
        let epsilon = reader.required("epsilon", epsilon);
        let capped: fn(Epsilon, u32, u32) -> Self = match kind.as_str() {
            "double-cap" => |epsilon, candidates, cap| Self::DoubleCap { epsilon, candidates, cap },
            "signed-cap" => |epsilon, candidates, cap| Self::SignedCap { epsilon, candidates, cap },
            "norm-cap" => |epsilon, candidates, cap| Self::NormCap { epsilon, candidates, cap },
            "gaussian" => {
                reader.absent("candidates", &candidates, FIELDS)?;
                reader.absent("cap", &cap, FIELDS)?;
                return Ok(Self::Gaussian {
                    epsilon: epsilon?,
                    delta: reader.required("delta", delta)?,
                    calibration: reader.required("calibration", calibration)?,
                });
            }
            other => {
                let known =
                    "a mechanism is 'double-cap', 'gaussian' or 'norm-cap', and 'signed-cap' beside a 'refinement'";
                return Err(reader.unknown_value(other, known));
            }
        };
        reader.absent("delta", &delta, FIELDS)?;
        reader.absent("calibration", &calibration, FIELDS)?;
        Ok(capped(epsilon?, reader.required("candidates", candidates)?, reader.required("cap", cap)?))
    }

    #[doc(hidden)]
    pub fn write(self, out: &mut String) {
        match self {
            Self::Gaussian { epsilon, delta, calibration } => {
                out.push_str("{\"type\":\"gaussian\",\"epsilon\":");
                decimal::write(epsilon.value(), out);
                out.push_str(",\"delta\":");
                decimal::write(delta.value(), out);
                out.push_str(match calibration {
                    Calibration::Analytic => ",\"calibration\":\"analytic\"}",
                    Calibration::Paper => ",\"calibration\":\"paper\"}",
                });
            }
            Self::DoubleCap { epsilon, candidates, cap }
            | Self::SignedCap { epsilon, candidates, cap }
            | Self::NormCap { epsilon, candidates, cap } => {
                out.push_str(match self {
                    Self::SignedCap { .. } => "{\"type\":\"signed-cap\",\"epsilon\":",
                    Self::NormCap { .. } => "{\"type\":\"norm-cap\",\"epsilon\":",
                    _ => "{\"type\":\"double-cap\",\"epsilon\":",
                });
                decimal::write(epsilon.value(), out);
                out.push_str(&format!(",\"candidates\":{candidates},\"cap\":{cap}}}"));
            }
        }
    }
}

/// The parameters without epsilon, in words.
impl fmt::Display for MechanismSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DoubleCap { candidates, cap, .. } => write!(f, "double-cap, {cap} of {candidates} candidates"),
            Self::SignedCap { candidates, cap, .. } => write!(f, "signed-cap, {cap} of {candidates} candidates"),
            Self::NormCap { cap, .. } => write!(f, "norm-cap, {cap} lengths"),
            Self::Gaussian { calibration, delta, .. } => {
                let calibration = match calibration {
                    Calibration::Analytic => "analytic",
                    Calibration::Paper => "paper",
                };
                write!(f, "gaussian, {calibration} calibration, delta {delta}")
            }
        }
    }
}

/// A mechanism with its parameters. (One struct for all: an enum tagged by its `type` would add about ten kilobytes to
/// a browser's lab.)
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MechanismOptions {
    /// Its name.
    pub r#type: MechanismName,
    /// Its privacy parameter epsilon.
    pub epsilon: Epsilon,
    /// J of double-cap; by default the recommended number for epsilon.
    pub candidates: Option<u32>,
    /// L of double-cap; by default the best for epsilon and J.
    pub cap: Option<u32>,
    /// The delta of the others; by default [`Delta::USUAL`].
    pub delta: Option<Delta>,
}

/// The available mechanisms.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MechanismName {
    /// [`DoubleCap`].
    DoubleCap,
    /// [`Gaussian`] with the analytic calibration.
    Gaussian,
    /// [`Gaussian`] with the scale of Wang & Xu (2019).
    WangXu,
    /// [`SignedCap`], of refinements.
    #[serde(skip_deserializing)]
    SignedCap,
    /// [`NormCap`], of lengths.
    #[serde(skip_deserializing)]
    NormCap,
}

impl MechanismName {
    /// All that second moments can be estimated from, in one wave.
    pub const ALL: [Self; 3] = [Self::DoubleCap, Self::Gaussian, Self::WangXu];

    /// The name on the command line and in Python.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DoubleCap => "double-cap",
            Self::Gaussian => "gaussian",
            Self::WangXu => "gaussian-paper",
            Self::SignedCap => "signed-cap",
            Self::NormCap => "norm-cap",
        }
    }

    /// A description in one line.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::DoubleCap => "One of J public directions, L of them likelier: pure epsilon, less noise",
            Self::Gaussian => "Gaussian noise on x x^T, analytic calibration",
            Self::WangXu => "Gaussian noise with the scale printed by Wang & Xu (2019)",
            Self::SignedCap => "One of J public directions, for what a first wave left open: pure epsilon",
            Self::NormCap => "Whether the record is longer than one of a few public lengths: pure epsilon",
        }
    }

    /// The mechanism whose [`as_str`](Self::as_str) is `name`, if any.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mechanism| mechanism.as_str() == name)
    }
}

/// A mechanism whose epsilon is open.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MechanismFamily {
    /// [`DoubleCap`] with J and L; by default the recommended ones for every epsilon.
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
    /// [`Gaussian::paper_as_printed`]: the scale that Wang & Xu (2019) compute from epsilon and delta. Its true delta
    /// exceeds this one except for small epsilons.
    WangXu {
        /// The delta that the scale is computed from.
        delta: Delta,
    },
}

impl MechanismOptions {
    /// The mechanism without its epsilon.
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
    #[doc(hidden)]
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
            MechanismName::SignedCap => Err(MechanismOptionError::Refinement),
            MechanismName::NormCap => Err(MechanismOptionError::Norms),
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
            Self::WangXu { delta } => Ok(Gaussian::paper_as_printed(dimension, epsilon, delta)?.into()),
            _ => self.spec(epsilon).build(dimension, bounding),
        }
    }

    /// The form of a task with this epsilon. (A task takes the paper's scale only up to epsilon = 1, the range of its
    /// theorem.)
    #[must_use]
    pub fn spec(self, epsilon: Epsilon) -> MechanismSpec {
        match self {
            Self::DoubleCap { candidates, cap } => {
                let candidates = candidates.unwrap_or_else(|| DoubleCap::recommended_candidates(epsilon));
                // The search for the best cap needs permitted numbers; others are refused when the mechanism is built.
                let cap = cap.unwrap_or_else(|| DoubleCap::best_cap(candidates.min(MAX_CANDIDATES), epsilon));
                MechanismSpec::DoubleCap { epsilon, candidates, cap }
            }
            Self::Gaussian { delta } => MechanismSpec::Gaussian { epsilon, delta, calibration: Calibration::Analytic },
            Self::WangXu { delta } => MechanismSpec::Gaussian { epsilon, delta, calibration: Calibration::Paper },
        }
    }
}

impl MechanismFamily {
    /// The delta that the scale is computed from, where the mechanism has another.
    #[must_use]
    #[doc(hidden)]
    pub fn printed_delta(self) -> Option<Delta> {
        match self {
            Self::WangXu { delta } => Some(delta),
            Self::DoubleCap { .. } | Self::Gaussian { .. } => None,
        }
    }
}

/// The family of a mechanism, with the best J and L for every epsilon.
impl From<&Mechanism> for MechanismFamily {
    fn from(mechanism: &Mechanism) -> Self {
        match mechanism {
            Mechanism::DoubleCap(_) => Self::DoubleCap { candidates: None, cap: None },
            Mechanism::Gaussian(mechanism) => match mechanism.rule() {
                (Calibration::Analytic, delta) => Self::Gaussian { delta },
                (Calibration::Paper, delta) => Self::WangXu { delta },
            },
        }
    }
}

/// A parameter that the mechanism does not have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum MechanismOptionError {
    /// Of double-cap.
    #[error("delta does not go with double-cap: its delta is 0")]
    Delta,
    /// Candidates or a cap for another mechanism.
    #[error("candidates and cap go with double-cap only")]
    Candidates,
    /// The mechanism of a refinement.
    #[error("signed-cap is for the task of a refinement, which is made from the sums of a first wave")]
    Refinement,
    /// The mechanism of lengths.
    #[error("norm-cap says nothing about a covariance: it is for a task about the lengths of records")]
    Norms,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::tests::{delta, epsilon};

    fn options(name: &str, more: &str) -> Result<MechanismFamily, MechanismOptionError> {
        let text = format!(r#"{{"type": "{name}", "epsilon": 2{more}}}"#);
        serde_json::from_str::<MechanismOptions>(&text).unwrap().family()
    }

    /// serde's own list of the names has as many.
    #[test]
    fn every_mechanism_is_in_the_list_of_all() {
        let error = serde_json::from_str::<MechanismName>("\"none\"").unwrap_err().to_string();
        assert_eq!(error.split('`').skip(3).step_by(2).count(), MechanismName::ALL.len(), "{error}");
        for name in MechanismName::ALL {
            assert_eq!(MechanismName::of(name.as_str()), Some(name));
        }
    }

    #[test]
    fn missing_parameters_are_recommended_and_unknown_ones_are_refused() {
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
