//! The JSON form of a mechanism.

use super::{Calibration, MechanismSpec};
use crate::decimal;
use crate::json::{Read, Reader};
use crate::privacy::{Delta, Epsilon};

const FIELDS: &str = "a mechanism has 'type' and 'epsilon', and 'delta' and 'calibration' where it is 'gaussian', \
                      'candidates' and 'cap' where it is 'double-cap'";

impl MechanismSpec {
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
        match kind.as_str() {
            "gaussian" => {
                reader.absent("candidates", &candidates, FIELDS)?;
                reader.absent("cap", &cap, FIELDS)?;
                Ok(Self::Gaussian {
                    epsilon: epsilon?,
                    delta: reader.required("delta", delta)?,
                    calibration: reader.required("calibration", calibration)?,
                })
            }
            "double-cap" => {
                reader.absent("delta", &delta, FIELDS)?;
                reader.absent("calibration", &calibration, FIELDS)?;
                Ok(Self::DoubleCap {
                    epsilon: epsilon?,
                    candidates: reader.required("candidates", candidates)?,
                    cap: reader.required("cap", cap)?,
                })
            }
            other => Err(reader.unknown_value(other, "a mechanism is 'double-cap' or 'gaussian'")),
        }
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
            Self::DoubleCap { epsilon, candidates, cap } => {
                out.push_str("{\"type\":\"double-cap\",\"epsilon\":");
                decimal::write(epsilon.value(), out);
                out.push_str(&format!(",\"candidates\":{candidates},\"cap\":{cap}}}"));
            }
        }
    }
}
