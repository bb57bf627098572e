//! Bounded records: a row of numbers brought into the unit ball, the bound that every privacy proof starts from.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::decimal::{Decimal, Json};
use crate::json::{Read, Reader, read_object};
use crate::privacy::checked_number;

/// The rule that brings a record into the unit ball. It is public, part of the task, and the same for everybody.
///
/// ```
/// use ldp_pca::{BoundedRecord, Bounding, Radius};
/// let clip = Bounding::Clip { radius: Radius::new(10.0)? };
/// // A short record keeps its length, a long one is shortened.
/// assert_eq!(BoundedRecord::new(vec![3.0, 4.0], clip)?.coordinates(), [0.3, 0.4]);
/// assert_eq!(BoundedRecord::new(vec![30.0, 40.0], clip)?.coordinates(), [0.6, 0.8]);
/// // Only the direction.
/// assert_eq!(BoundedRecord::new(vec![3.0, 4.0], Bounding::UnitNorm)?.coordinates(), [0.6, 0.8]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Bounding {
    /// The record divided by its Euclidean norm: only its direction is used. The zero vector has none and stays the
    /// zero vector: it contributes nothing.
    UnitNorm,
    /// The record divided by `radius`, and scaled back to the unit sphere if it is longer than `radius`.
    Clip {
        /// The largest norm that is kept: finite, greater than zero, in the units of the encoded features.
        radius: Radius,
    },
}

impl Bounding {
    /// One unit of the bounded covariance in the units of the encoded features: `radius^2`, or 1.
    #[must_use]
    pub fn covariance_scale(self) -> f64 {
        let length = self.length_scale();
        length * length
    }

    /// One unit of the bounded record in the units of the encoded features: `radius`, or 1.
    #[must_use]
    pub fn length_scale(self) -> f64 {
        match self {
            Self::UnitNorm => 1.0,
            Self::Clip { radius } => radius.0,
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Read<Self> {
        const FIELDS: &str = "bounding has 'type', and 'radius' where it is 'clip'";
        read_object!(reader, FIELDS, has {
            "type" => kind: Reader::text,
        } may_have {
            "radius" => radius: Reader::checked,
        });
        match kind.as_str() {
            "unit-norm" => reader.absent("radius", &radius, FIELDS).map(|()| Self::UnitNorm),
            "clip" => Ok(Self::Clip { radius: reader.required("radius", radius)? }),
            other => Err(reader.unknown_value(other, "bounding is 'unit-norm' or 'clip'")),
        }
    }

    pub(crate) fn write(self, out: &mut String) {
        match self {
            Self::UnitNorm => out.push_str(r#"{"type":"unit-norm"}"#),
            Self::Clip { radius } => out.push_str(&format!(r#"{{"type":"clip","radius":{}}}"#, Json(radius.0))),
        }
    }
}

impl fmt::Display for Bounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnitNorm => f.write_str("unit norm"),
            Self::Clip { radius } => write!(f, "clip at {}", Decimal(radius.0)),
        }
    }
}

checked_number! {
    /// A clipping radius: finite, greater than zero, and neither so small nor so large that its square leaves the range
    /// of `f64`.
    ///
    /// ```
    /// use ldp_pca::Radius;
    /// assert_eq!(Radius::new(1.5)?.value(), 1.5);
    /// assert!(Radius::new(0.0).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Radius: |value| (1e-150..=1e150).contains(&value), "within [1e-150, 1e150]", RecordError
}

/// A record inside the unit ball. Dimension, finiteness and norm were checked once, when it was made.
///
/// The norm is at most one up to the rounding of a few operations; mechanisms that need it exactly
/// quantise towards zero and check the bound again in integers.
///
/// ```
/// use ldp_pca::record::{BoundedRecord, Bounding};
/// let record = BoundedRecord::new(vec![3.0, f64::NAN, 4.0], Bounding::UnitNorm)?;
/// assert_eq!(record.coordinates(), [0.6, 0.0, 0.8]);
/// assert_eq!(BoundedRecord::new(vec![0.0, 0.0], Bounding::UnitNorm)?.coordinates(), [0.0, 0.0]);
/// assert!(BoundedRecord::new(vec![], Bounding::UnitNorm).is_err());
/// # Ok::<(), ldp_pca::record::RecordError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct BoundedRecord {
    coordinates: Vec<f64>,
    bounding: Bounding,
}

/// Without the coordinates, which are private: printed text ends up in logs.
impl fmt::Debug for BoundedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("BoundedRecord");
        shown.field("dimension", &self.coordinates.len()).field("bounding", &self.bounding).finish_non_exhaustive()
    }
}

impl BoundedRecord {
    /// Bounds `values` (d numbers, in the order of the encoded features) as the task says. Every vector has a bounded
    /// record, since a refusal would reveal something about it: NaN and infinities mean a missing value, and count as
    /// 0.
    ///
    /// # Errors
    /// [`RecordError::Empty`] for a vector without coordinates.
    pub fn new(values: Vec<f64>, bounding: Bounding) -> Result<Self, RecordError> {
        if values.is_empty() {
            return Err(RecordError::Empty);
        }
        let mut coordinates = values;
        coordinates.iter_mut().for_each(|value| *value = present_or_zero(*value));
        // Dividing by the largest magnitude first keeps the squares inside the range of f64. Neither divisor is 0, so
        // the zero vector takes the same path as any other.
        let largest = coordinates.iter().fold(f64::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
        let relative_norm =
            coordinates.iter().map(|value| (value / largest).powi(2)).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        let divisors = match bounding {
            Bounding::Clip { radius } if largest / radius.0 * relative_norm <= 1.0 => (radius.0, 1.0),
            _ => (largest, relative_norm),
        };
        coordinates.iter_mut().for_each(|value| *value = *value / divisors.0 / divisors.1);
        Ok(Self { coordinates, bounding })
    }

    /// For [`Centring`](crate::centring::Centring), whose coordinates are in the unit ball because the record's are.
    pub(crate) fn from_parts(coordinates: Vec<f64>, bounding: Bounding) -> Self {
        Self { coordinates, bounding }
    }

    /// The d coordinates, with Euclidean norm at most 1 (up to rounding).
    #[must_use]
    pub fn coordinates(&self) -> &[f64] {
        &self.coordinates
    }

    /// The number of coordinates, d.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.coordinates.len()
    }

    /// Accepts the record if it has this many coordinates.
    ///
    /// # Errors
    /// [`RecordError::Dimension`] otherwise.
    pub(crate) fn check_dimension(&self, expected: usize) -> Result<(), RecordError> {
        let found = self.dimension();
        if found == expected { Ok(()) } else { Err(RecordError::Dimension { expected, found }) }
    }

    /// The bounding the record was made under.
    #[must_use]
    pub fn bounding(&self) -> Bounding {
        self.bounding
    }
}

/// The number, or 0 where it is NaN or infinite: a value that is missing contributes nothing.
fn present_or_zero(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// Reasons why a row of numbers cannot become a record. They depend on how many there are, never on the values.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// No values at all.
    #[error("the record is empty: give one number per feature")]
    Empty,
    /// The record's length is not the task's.
    #[error("the record has {found} values but the task has {expected} features")]
    Dimension {
        /// The number of features of the task.
        expected: usize,
        /// The number of values of the record.
        found: usize,
    },
    /// The record was bounded in another way than the task says.
    #[error("the record was bounded by {found} but the task says {expected}: bound it with the task's own rule")]
    OtherBounding {
        /// The task's rule.
        expected: Bounding,
        /// The rule that the record was made with.
        found: Bounding,
    },
    /// A clipping radius that is not usable.
    #[error("the clipping radius is {}: it must be a finite number between 1e-150 and 1e150", Decimal(*.0))]
    Radius(f64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::schema::Value;
    use crate::tests::clip;

    /// `{:?}` of anything that holds a record shows none of its digits: 7.25 bounded by 1000 is 0.00725.
    #[test]
    fn what_is_printed_of_a_record_tells_nothing_of_it() {
        let record = BoundedRecord::new(vec![7.25, 0.0], clip(1000.0)).unwrap();
        let shown = [format!("{record:?} {record:#?}"), format!("{:?} {:?}", Value::Number(7.25), Value::Text("725"))];
        assert!(shown.iter().all(|text| !text.contains("25") && text.contains("..")), "{shown:?}");
    }

    /// The squared length in units of 2^-112, in integers: every coordinate is rounded to 2^-56.
    fn squared_length(coordinates: impl Iterator<Item = f64>) -> u128 {
        coordinates.map(|x| ((x.abs() * 2f64.powi(56)).round() as u128).pow(2)).sum()
    }

    /// The relative rounding error of a length, which grows with the number of squares added.
    fn rounding(dimension: usize) -> f64 {
        (4.0 + dimension as f64 / 4.0) * f64::EPSILON
    }

    fn has_length_one(record: &BoundedRecord) -> bool {
        let squared = squared_length(record.coordinates().iter().copied()) as f64 / 2f64.powi(112);
        (squared - 1.0).abs() < 2.0 * rounding(record.dimension())
    }

    /// Rows of all shapes: entries of one size, of very different sizes, of both signs, few and many, at the ends of
    /// the range.
    fn rows() -> Vec<Vec<f64>> {
        let mut rows = vec![];
        for dimension in [1usize, 2, 3, 7, 100, 5000] {
            for size in [5e-324, 1e-310, 1e-300, 1e-150, 1e-8, 0.3, 1.0, 7.0, 1e8, 1e150, 1e300, f64::MAX] {
                let sign = |place: usize| if place % 3 == 1 { -1.0 } else { 1.0 };
                rows.push((0..dimension).map(|place| sign(place) * size).collect());
                rows.push((0..dimension).map(|place| sign(place) * size / (1 + place * place) as f64).collect());
                rows.push((0..dimension).map(|place| if place == dimension / 2 { -size } else { 0.0 }).collect());
                rows.push((0..dimension).map(|place| (1.7 * place as f64 + size).sin() * size).collect());
            }
        }
        rows.retain(|row: &Vec<f64>| row.iter().any(|value| *value != 0.0));
        rows
    }

    /// The length of a row divided by `unit`, in integers.
    fn length_in(row: &[f64], unit: f64) -> f64 {
        // Powers of two change no digit.
        let exponent = |number: f64| libm::frexp(number).1;
        let largest = exponent(row.iter().map(|value| value.abs()).fold(0.0, f64::max));
        let squared = squared_length(row.iter().map(|&value| libm::scalbn(value, -largest)));
        let length = (squared as f64).sqrt() / libm::frexp(unit).0;
        libm::scalbn(length, largest - exponent(unit) - 56)
    }

    #[test]
    fn every_record_has_length_one_and_the_direction_of_its_row() {
        for row in rows() {
            let record = BoundedRecord::new(row.clone(), Bounding::UnitNorm).unwrap();
            assert!(has_length_one(&record), "{row:?}");
            let opposite: Vec<f64> = row.iter().map(|value| -value).collect();
            let mirrored = BoundedRecord::new(opposite, Bounding::UnitNorm).unwrap();
            assert!(record.coordinates().iter().zip(mirrored.coordinates()).all(|(x, y)| *x == -*y), "{row:?}");
            let largest = row.iter().map(|value| value.abs()).fold(0.0, f64::max);
            let length = length_in(&row, largest);
            for (x, value) in record.coordinates().iter().zip(&row) {
                let expected = value / largest / length;
                let allowed = rounding(row.len()) * expected.abs() + 1e-300;
                assert!((x - expected).abs() <= allowed, "{x} {expected} {row:?}");
            }
        }
    }

    #[test]
    fn a_power_of_two_changes_no_digit_of_a_direction() {
        let row = [0.3, -1.7, 5.5, 0.001];
        let of = |power: i32| {
            let row = row.iter().map(|value| libm::scalbn(*value, power)).collect();
            BoundedRecord::new(row, Bounding::UnitNorm).unwrap().coordinates().to_vec()
        };
        for power in [-1000, -500, -1, 1, 500, 1000] {
            assert_eq!(of(power), of(0), "{power}");
        }
    }

    /// A short record keeps its length, in the unit of the radius, digit by digit; a long one has length one, whatever
    /// the radius. Its length decides whether it is long: its largest entry may be less.
    #[test]
    fn clipping_divides_by_the_radius_or_by_the_length() {
        let (mut short, mut long, mut between) = (0, 0, 0);
        for row in rows() {
            for radius in [1e-150, 1e-8, 0.5, 1.0, 3.0, 70.0, 1e150] {
                let length = length_in(&row, radius);
                // Which of the two it is at the boundary is a question of rounding.
                if (length - 1.0).abs() < 1e-12 {
                    continue;
                }
                let record = BoundedRecord::new(row.clone(), clip(radius)).unwrap();
                if length < 1.0 {
                    short += 1;
                    assert!(
                        record.coordinates().iter().zip(&row).all(|(x, value)| *x == value / radius),
                        "{row:?} {radius}"
                    );
                    assert!(squared_length(record.coordinates().iter().copied()) < 1 << 112);
                } else {
                    long += 1;
                    let largest = row.iter().map(|value| value.abs()).fold(0.0, f64::max);
                    between += u32::from(largest < radius);
                    assert!(has_length_one(&record), "{row:?} {radius}");
                    let direction = BoundedRecord::new(row.clone(), Bounding::UnitNorm).unwrap();
                    assert_eq!(record.coordinates(), direction.coordinates(), "{row:?} {radius}");
                }
            }
        }
        assert!(short > 500 && long > 500 && between > 20, "{short} {long} {between}");
    }

    /// On the boundary and the next numbers beside it.
    #[test]
    fn a_record_as_long_as_the_radius_stays_as_it_is() {
        for (row, radius, expected) in [
            (vec![3.0, -4.0], 5.0, vec![0.6, -0.8]),
            (vec![0.6, 0.8], 1.0, vec![0.6, 0.8]),
            (vec![-0.25], 0.25, vec![-1.0]),
            (vec![1.0, -1.0, 1.0, 1.0], 2.0, vec![0.5, -0.5, 0.5, 0.5]),
            (vec![1e150], 1e150, vec![1.0]),
        ] {
            assert_eq!(BoundedRecord::new(row.clone(), clip(radius)).unwrap().coordinates(), expected);
            for factor in [1.0 + 1e-15, 1.0 + 1e-9, 1.001, 2.0, 1e100] {
                let longer: Vec<f64> = row.iter().map(|value| value * factor).collect();
                let record = BoundedRecord::new(longer, clip(radius)).unwrap();
                assert!(has_length_one(&record), "{row:?} {factor}");
                let shorter: Vec<f64> = row.iter().map(|value| value / factor).collect();
                let record = BoundedRecord::new(shorter.clone(), clip(radius)).unwrap();
                assert!(record.coordinates().iter().zip(&shorter).all(|(x, value)| *x == value / radius));
            }
        }
    }

    #[test]
    fn a_radius_is_its_number_and_a_unit_of_the_bounded_covariance_its_square() {
        assert_eq!(Radius::new(2.5).unwrap().value(), 2.5);
        assert_eq!((clip(2.0).covariance_scale(), Bounding::UnitNorm.covariance_scale()), (4.0, 1.0));
    }

    #[test]
    fn missing_values_and_the_zero_vector_contribute_nothing() {
        for missing in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for bounding in [Bounding::UnitNorm, clip(1.0)] {
                let record = BoundedRecord::new(vec![0.6, missing, -0.8], bounding).unwrap();
                assert!((record.coordinates()[0] - 0.6).abs() < 1e-15 && record.coordinates()[1] == 0.0);
                assert_eq!(BoundedRecord::new(vec![missing; 3], bounding).unwrap().coordinates(), [0.0; 3]);
                assert_eq!(BoundedRecord::new(vec![0.0, -0.0], bounding).unwrap().coordinates(), [0.0; 2]);
            }
        }
        assert_eq!(BoundedRecord::new(vec![], Bounding::UnitNorm), Err(RecordError::Empty));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e200] {
            assert!(Radius::new(bad).is_err());
        }
    }

    #[test]
    fn bounding_json_is_strict() {
        let read = |text| json::read(text, Bounding::read);
        assert_eq!(read(r#"{"type":"unit-norm"}"#).unwrap(), Bounding::UnitNorm);
        assert_eq!(read(r#"{"type":"clip","radius":2}"#).unwrap(), clip(2.0));
        for bounding in [Bounding::UnitNorm, clip(0.1)] {
            let mut text = String::new();
            bounding.write(&mut text);
            assert_eq!(text, serde_json::to_string(&bounding).unwrap());
        }
        for bad in [
            r#"{"type":"clip"}"#,
            r#"{"type":"clip","radius":0}"#,
            r#"{"type":"clip","radius":1,"x":1}"#,
            r#"{"type":"unit-norm","radius":2}"#,
            r#"{"type":"none"}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
