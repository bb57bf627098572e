//! KDD Cup 99, ten per cent (UCI): network connections with 41 features and a label, coded as in Chaudhuri et al.
//!
//! Three features are categorical (protocol, service, flag) and become one feature per value that occurs; the other 38
//! are numbers, two of which are zero in every record. The other features give d = 116, as section 6.1 says. Each
//! feature is then divided by its largest value, and each record by the largest norm of all ("normalized each row so
//! that each entry has maximum value 1, and normalize each column such that the maximum (Euclidean) column norm is 1",
//! where a column of their matrix is a record). The alternative divides each record by its own norm, which a device can
//! do without the other records.
//!
//! Both divisors are computed from the records. The papers' guarantees, and ours here, hold for the scaled records: the
//! divisors count as public.

use std::io::{BufRead, Read as _};

use nalgebra::DMatrix;

use super::{DataError, MOST_VALUES, largest_values};
use crate::baselines::{Sample, SampleError};

/// Features of a line, before its label.
const FEATURES: usize = 41;
/// The indices of the categorical ones, from 0.
const CATEGORICAL: [usize; 3] = [1, 2, 3];
/// The label of a connection that is not an attack.
const NORMAL: &str = "normal.";

/// The divisor of a record after each feature is scaled to the maximum 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// The largest norm of all records of the file, as in Chaudhuri et al.
    LargestNorm,
    /// Its own norm.
    UnitNorm,
}

/// The connections, each as its few features that are not zero.
#[derive(Clone, Debug)]
pub struct Connections {
    dimension: usize,
    /// The start of each record's features in `features` and `values`; one more at the end.
    starts: Vec<usize>,
    features: Vec<u16>,
    values: Vec<f64>,
    norms: Vec<f64>,
    largest_norm: f64,
    normal: Vec<bool>,
}

impl Connections {
    /// Reads the file's text: one connection a line, 41 features and the label, separated by commas, no header.
    ///
    /// # Errors
    /// [`DataError`] with the number of the line that is not such a connection, or when there is none.
    pub fn read(mut reader: impl BufRead) -> Result<Self, DataError> {
        let mut raw = Raw::default();
        let mut text = String::new();
        for line in 1.. {
            text.clear();
            // Two bytes more for the end of the line.
            if reader.by_ref().take(LONGEST_LINE as u64 + 2).read_line(&mut text)? == 0 {
                break;
            }
            let connection = text.trim_end_matches(['\r', '\n']);
            if connection.len() > LONGEST_LINE || text.len() > LONGEST_LINE && !text.ends_with('\n') {
                let what = format!("it has over {LONGEST_LINE} bytes, which no connection has");
                return Err(DataError::Line { line, what });
            }
            if !connection.is_empty() {
                raw.push(line, connection)?;
            }
        }
        if raw.normal.is_empty() {
            return Err(DataError::Empty);
        }
        Ok(raw.scaled())
    }

    /// n.
    #[must_use]
    pub fn records(&self) -> usize {
        self.normal.len()
    }

    /// d: features that are not zero in every record.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The norms of the records with each feature scaled to the maximum 1.
    #[must_use]
    pub fn norms(&self) -> &[f64] {
        &self.norms
    }

    /// Whether record `index` is labelled as normal.
    ///
    /// # Panics
    /// If there is no such record.
    #[must_use]
    pub fn is_normal(&self, index: usize) -> bool {
        self.normal[index]
    }

    /// The features of record `index` that are not zero, with their values.
    ///
    /// # Panics
    /// If there is no such record.
    pub fn record(&self, index: usize, scaling: Scaling) -> impl ExactSizeIterator<Item = (usize, f64)> + Clone {
        let range = self.starts[index]..self.starts[index + 1];
        let divisor = match scaling {
            Scaling::LargestNorm => self.largest_norm,
            Scaling::UnitNorm => self.norms[index],
        };
        let values = self.values[range.clone()].iter();
        self.features[range].iter().zip(values).map(move |(&feature, value)| (usize::from(feature), value / divisor))
    }

    /// The records of these indices, in this order.
    ///
    /// # Errors
    /// [`SampleError`] when there are none.
    ///
    /// # Panics
    /// If there is no such record.
    pub fn sample(&self, indices: &[usize], scaling: Scaling) -> Result<Sample, SampleError> {
        let mut values = vec![0.0; indices.len() * self.dimension];
        for (&index, row) in indices.iter().zip(values.chunks_exact_mut(self.dimension)) {
            for (feature, value) in self.record(index, scaling) {
                row[feature] = value;
            }
        }
        Sample::new(self.dimension, values)
    }

    /// Only the second moments of the records with these indices. That is enough for methods that do not read single
    /// records, and for all records it saves the seconds and the memory of [`Connections::sample`].
    ///
    /// # Errors
    /// [`SampleError`] when there are none.
    ///
    /// # Panics
    /// If there is no such record.
    pub fn moments(&self, indices: &[usize], scaling: Scaling) -> Result<Sample, SampleError> {
        let mut sum = DMatrix::zeros(self.dimension, self.dimension);
        let mut largest: f64 = 0.0;
        for &index in indices {
            let record = self.record(index, scaling);
            let mut square = 0.0;
            for (row, value) in record.clone() {
                square += value * value;
                for (column, other) in record.clone() {
                    sum[(row, column)] += value * other;
                }
            }
            largest = largest.max(square.sqrt());
        }
        Sample::from_second_moment(sum / indices.len().max(1) as f64, indices.len() as u64, largest)
    }
}

/// The lines of the file.
#[derive(Default)]
struct Raw {
    numbers: Vec<f64>,
    /// The number of each value of each categorical feature, in the order of first appearance.
    categories: Vec<[u16; 3]>,
    names: [Vec<String>; 3],
    normal: Vec<bool>,
}

impl Raw {
    fn push(&mut self, line: usize, text: &str) -> Result<(), DataError> {
        let wrong = |what: String| DataError::Line { line, what };
        let fields = text.split(',').count();
        if fields != FEATURES + 1 {
            return Err(wrong(format!("{fields} fields, where a connection has {}", FEATURES + 1)));
        }
        let mut categories = [0; 3];
        for (column, field) in text.split(',').enumerate() {
            if let Some(which) = CATEGORICAL.iter().position(|&categorical| categorical == column) {
                let names = &mut self.names[which];
                let place = names.iter().position(|name| name == field).unwrap_or_else(|| {
                    names.push(field.to_owned());
                    names.len() - 1
                });
                categories[which] = u16::try_from(place)
                    .ok()
                    .filter(|&place| usize::from(place) < MOST_VALUES)
                    .ok_or_else(|| wrong(format!("column {} has over {MOST_VALUES} values", column + 1)))?;
            } else if column < FEATURES {
                let number = field.trim().parse().ok().filter(|number: &f64| number.is_finite());
                self.numbers
                    .push(number.ok_or_else(|| wrong(format!("column {} is {field:?}, not a number", column + 1)))?);
            } else {
                self.normal.push(field.trim() == NORMAL);
            }
        }
        self.categories.push(categories);
        Ok(())
    }

    /// Drops features that are always zero and scales the others to the maximum 1.
    fn scaled(self) -> Connections {
        let width = FEATURES - CATEGORICAL.len();
        let largest = largest_values(&self.numbers, width);
        let mut next = 0;
        let places: Vec<u16> = largest
            .iter()
            .map(|&largest| {
                let place = next;
                next += u16::from(largest > 0.0);
                place
            })
            .collect();
        let offsets = self.names.each_ref().map(|names| {
            let offset = next;
            next += names.len() as u16;
            offset
        });
        let mut found = Connections {
            dimension: usize::from(next),
            starts: vec![0],
            features: vec![],
            values: vec![],
            norms: vec![],
            largest_norm: 0.0,
            normal: self.normal,
        };
        for (row, categories) in self.numbers.chunks_exact(width).zip(&self.categories) {
            let numbers = row.iter().zip(&largest).zip(&places).filter(|((value, _), _)| **value != 0.0);
            let numbers = numbers.map(|((value, largest), place)| (*place, value / largest));
            let categories = categories.iter().zip(offsets).map(|(category, offset)| (offset + category, 1.0));
            let mut square = 0.0;
            for (feature, value) in numbers.chain(categories) {
                found.features.push(feature);
                found.values.push(value);
                square += value * value;
            }
            found.starts.push(found.features.len());
            found.norms.push(square.sqrt());
        }
        found.largest_norm = found.norms.iter().copied().fold(0.0, f64::max);
        found
    }
}

/// Far above the data set's length (some 170 bytes), so that a file without line ends cannot fill the memory.
const LONGEST_LINE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn line(first: f64, categories: &str, last: f64, label: &str) -> String {
        let zeros = "0,".repeat(36);
        format!("{first},{categories},{zeros}{last},{label}\n")
    }

    #[test]
    fn features_are_coded_scaled_and_those_that_are_always_zero_are_dropped() {
        let text = line(4.0, "tcp,http,SF", 0.5, "normal.")
            + &line(2.0, "udp,http,SF", 0.0, "smurf.")
            + &line(0.0, "tcp,ftp,S0", 0.0, "normal.");
        let read = Connections::read(text.as_bytes()).unwrap();
        // Two numbers, two protocols, two services, two flags.
        assert_eq!((read.records(), read.dimension()), (3, 8));
        assert_eq!([0, 1, 2].map(|index| read.is_normal(index)), [true, false, true]);
        assert_eq!(read.norms(), [5.0f64.sqrt(), 3.25f64.sqrt(), 3.0f64.sqrt()]);
        let sample = read.sample(&[1, 0], Scaling::UnitNorm).unwrap();
        let norm = 3.25f64.sqrt();
        assert_eq!(
            sample.rows("a test").unwrap().next().unwrap(),
            [0.5 / norm, 0.0, 0.0, 1.0 / norm, 1.0 / norm, 0.0, 1.0 / norm, 0.0]
        );
        let sample = read.sample(&[0, 1, 2], Scaling::LargestNorm).unwrap();
        assert!((sample.largest_norm() - 1.0).abs() < 1e-15);
        let moments = read.moments(&[0, 1, 2], Scaling::LargestNorm).unwrap();
        assert!((moments.second_moment() - sample.second_moment()).amax() < 1e-15);
        assert!((moments.largest_norm() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn what_is_no_connection_is_refused_with_its_line() {
        let good = line(1.0, "tcp,http,SF", 0.0, "normal.");
        let message = |text: String| Connections::read(text.as_bytes()).unwrap_err().to_string();
        assert!(message(String::new()).contains("no records"));
        assert!(message(good.clone() + "1,2,3\n").contains("line 2: 3 fields"));
        assert!(message(good.clone() + &good.replacen("1,", "one,", 1)).contains("line 2: column 1 is \"one\""));
        assert!(message(good.replacen("1,", "inf,", 1)).contains("line 1"));
        assert!(message(good.clone() + &good.replace("http", &"h".repeat(5000))).contains("line 2: it has over 4096"));
        // Line ends do not count towards the length.
        let longest = |more: usize, end: &str| {
            let rest = good.len() - "http\n".len();
            let line = good.replace("http", &"h".repeat(LONGEST_LINE + more - rest));
            line.replace('\n', end) + &good
        };
        for end in ["\n", "\r\n"] {
            assert_eq!(Connections::read(longest(0, end).as_bytes()).unwrap().records(), 2);
            assert!(message(longest(1, end)).contains("line 1: it has over 4096"));
        }
    }
}
