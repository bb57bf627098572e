//! Mechanisms in tasks and in options: their names, their parameters, their JSON.

use core::fmt;

use serde::Serialize;

use super::cap::MAX_CANDIDATES;
use super::{Calibration, DoubleCap, Gaussian, Mechanism, MechanismError};
use crate::decimal::Json;
use crate::json::{Read, Reader, read_object};
use crate::privacy::{Delta, Epsilon};
use crate::record::Bounding;

const FIELDS: &str = "a mechanism has 'type' and 'epsilon', and 'delta' and 'calibration' where it is 'gaussian', \
                      'candidates' and 'cap' where it is not";

// Names on the command line, in Python and in JavaScript. (A task states that of the paper's scale as a calibration.)
const DOUBLE_CAP: &str = "double-cap";
const GAUSSIAN: &str = "gaussian";
const WANG_XU: &str = "wang-xu";
const NORM_CAP: &str = "norm-cap";

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
    SignedCap {
        /// Privacy parameter epsilon; delta is 0.
        epsilon: Epsilon,
        /// Number of candidate directions, J.
        candidates: u32,
        /// Number of likelier ones, L.
        cap: u32,
    },
    /// Whether the record is longer than one of `cap` public lengths.
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

    /// The mechanism for records of `dimension` features under `bounding`, which is about second moments.
    ///
    /// # Errors
    /// [`MechanismError`] when the parameters do not fit together.
    pub fn build(&self, dimension: usize, bounding: Bounding) -> Result<Mechanism, MechanismError> {
        Ok(match *self {
            Self::Gaussian { epsilon, delta, calibration } => {
                Gaussian::new(dimension, epsilon, delta, calibration)?.into()
            }
            Self::DoubleCap { epsilon, candidates, cap } => DoubleCap::new(dimension, epsilon, candidates, cap)?.into(),
            Self::SignedCap { .. } => return Err(MechanismError::Refinement),
            Self::NormCap { .. } if bounding == Bounding::UnitNorm => return Err(MechanismError::Norms),
            Self::NormCap { .. } => return Err(Self::ABOUT_LENGTHS),
        })
    }

    /// The refusal of norm-cap where a covariance is wanted.
    pub(crate) const ABOUT_LENGTHS: MechanismError =
        MechanismError::NoMoments { name: NORM_CAP, about: "the lengths of records" };

    pub(crate) fn read(reader: &mut Reader<'_>) -> Read<Self> {
        read_object!(reader, FIELDS, has {
            "type" => kind: Reader::text,
        } may_have {
            "epsilon" => epsilon: Reader::checked,
            "delta" => delta: Reader::checked,
            "calibration" => calibration: |reader| match reader.text()?.as_str() {
                "analytic" => Ok(Calibration::Analytic),
                "paper" => Ok(Calibration::Paper),
                other => Err(reader.unknown_value(other, "'calibration' is 'analytic' or 'paper'")),
            },
            "candidates" => candidates: Reader::integer,
            "cap" => cap: Reader::integer,
        });
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

    /// The mechanism's name on the command line and in Python.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::DoubleCap { .. } => DOUBLE_CAP,
            Self::SignedCap { .. } => "signed-cap",
            Self::NormCap { .. } => NORM_CAP,
            Self::Gaussian { calibration: Calibration::Analytic, .. } => GAUSSIAN,
            Self::Gaussian { calibration: Calibration::Paper, .. } => WANG_XU,
        }
    }
}

/// What our own crates need.
#[doc(hidden)]
impl MechanismSpec {
    /// Writes the JSON that a task has for the mechanism.
    pub fn write(self, out: &mut String) {
        match self {
            Self::Gaussian { epsilon, delta, calibration } => {
                let (epsilon, delta, rule) = (Json(epsilon.value()), Json(delta.value()), calibration.name());
                out.push_str(&format!(
                    r#"{{"type":"gaussian","epsilon":{epsilon},"delta":{delta},"calibration":"{rule}"}}"#
                ));
            }
            Self::DoubleCap { epsilon, candidates, cap }
            | Self::SignedCap { epsilon, candidates, cap }
            | Self::NormCap { epsilon, candidates, cap } => {
                let (name, epsilon) = (self.name(), Json(epsilon.value()));
                out.push_str(&format!(
                    r#"{{"type":"{name}","epsilon":{epsilon},"candidates":{candidates},"cap":{cap}}}"#
                ));
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
                write!(f, "gaussian, {} calibration, delta {delta}", calibration.name())
            }
        }
    }
}

/// A mechanism whose epsilon is open.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// [`Gaussian`] with the scale that Wang & Xu (2019) compute from epsilon and delta. Its true delta exceeds this
    /// one except for small epsilons.
    WangXu {
        /// The delta that the scale is computed from.
        delta: Delta,
    },
}

impl MechanismFamily {
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

    /// The name on the command line, in Python and in JavaScript.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DoubleCap { .. } => DOUBLE_CAP,
            Self::Gaussian { .. } => GAUSSIAN,
            Self::WangXu { .. } => WANG_XU,
        }
    }

    /// A line about it, for a choice among mechanisms.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::DoubleCap { .. } => "One of J public directions, L of them likelier: pure epsilon, less noise",
            Self::Gaussian { .. } => "Gaussian noise on x x^T, analytic calibration",
            Self::WangXu { .. } => "Gaussian noise with the scale printed by Wang & Xu (2019)",
        }
    }
}

/// What our own crates need and others do not.
#[doc(hidden)]
impl MechanismFamily {
    /// All that second moments can be estimated from, in one wave, each with its usual parameters.
    pub const ALL: [Self; 3] = [
        Self::DoubleCap { candidates: None, cap: None },
        Self::Gaussian { delta: Delta::USUAL },
        Self::WangXu { delta: Delta::USUAL },
    ];

    /// All that `task new` makes a task of, by name. Those that [`ALL`](Self::ALL) lacks have no second moments.
    pub const OF_TASKS: [Self; 3] = Self::ALL;

    /// That of [`ALL`](Self::ALL) with this [`name`](Self::name).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.name() == name)
    }

    /// This mechanism with the parameters that are given.
    ///
    /// # Errors
    /// [`MechanismError::NoDelta`] and [`MechanismError::NoCandidates`] for a parameter that it does not have. Their
    /// texts begin with its name.
    pub fn with(self, candidates: Option<u32>, cap: Option<u32>, delta: Option<Delta>) -> Result<Self, MechanismError> {
        match self {
            Self::DoubleCap { .. } if delta.is_some() => Err(MechanismError::NoDelta(self.name())),
            Self::DoubleCap { candidates: usual, cap: best } => {
                Ok(Self::DoubleCap { candidates: candidates.or(usual), cap: cap.or(best) })
            }
            _ if candidates.or(cap).is_some() => {
                let parameter = if candidates.is_some() { "candidates" } else { "cap" };
                Err(MechanismError::NoCandidates { parameter, name: DOUBLE_CAP })
            }
            Self::Gaussian { delta: usual } => Ok(Self::Gaussian { delta: delta.unwrap_or(usual) }),
            Self::WangXu { delta: usual } => Ok(Self::WangXu { delta: delta.unwrap_or(usual) }),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::tests::{delta, epsilon};

    fn named(name: &str) -> MechanismFamily {
        MechanismFamily::named(name).unwrap()
    }

    /// A family, and a task of it.
    #[test]
    fn every_mechanism_has_a_name_of_its_own() {
        for family in MechanismFamily::ALL {
            assert_eq!(MechanismFamily::named(family.name()), Some(family));
            assert_eq!(family.spec(epsilon(0.5)).name(), family.name());
        }
        for other in ["signed-cap", "norm-cap", "paper", ""] {
            assert_eq!(MechanismFamily::named(other), None);
        }
        assert_eq!(MechanismSpec::signed_cap(epsilon(1.0), None, None).name(), "signed-cap");
        assert_eq!(MechanismSpec::norm_cap(epsilon(1.0), 4).name(), "norm-cap");
    }

    #[test]
    fn missing_parameters_are_recommended_and_unknown_ones_are_refused() {
        let family = MechanismFamily::DoubleCap { candidates: Some(64), cap: None };
        let double_cap = named("double-cap");
        assert_eq!(double_cap.with(Some(64), None, None), Ok(family));
        let cap = DoubleCap::best_cap(64, epsilon(2.0));
        assert_eq!(family.spec(epsilon(2.0)), MechanismSpec::DoubleCap { epsilon: epsilon(2.0), candidates: 64, cap });
        assert_eq!(double_cap.with(None, None, Some(delta(1e-6))), Err(MechanismError::NoDelta("double-cap")));
        let [gaussian, paper] = ["gaussian", "wang-xu"].map(named);
        assert_eq!(gaussian.with(None, None, None), Ok(MechanismFamily::Gaussian { delta: Delta::USUAL }));
        assert_eq!(paper.with(None, None, Some(delta(1e-4))), Ok(MechanismFamily::WangXu { delta: delta(1e-4) }));
        for family in [gaussian, paper] {
            let refused = |parameter| Err(MechanismError::NoCandidates { parameter, name: "double-cap" });
            assert_eq!(family.with(None, Some(3), None), refused("cap"));
            assert_eq!(family.with(Some(3), None, None), refused("candidates"));
        }
    }

    /// What is planned from a collection is planned with the mechanism that it has.
    #[test]
    fn the_family_of_a_mechanism_is_the_one_that_it_was_built_from() {
        for family in MechanismFamily::ALL {
            let family = family.with(None, None, (family != named("double-cap")).then(|| delta(1e-4))).unwrap();
            let mechanism = family.build(epsilon(2.0), 3, Bounding::UnitNorm).unwrap();
            assert_eq!(MechanismFamily::from(&mechanism), family);
        }
    }
}
