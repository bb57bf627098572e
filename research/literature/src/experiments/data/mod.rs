//! The data sets of the papers: the name of each file, where its owner publishes it, and its reader.
//!
//! Nothing here opens a file: readers come from the command line, which looks for the names below in one folder.

mod kdd;
mod published;

pub use kdd::{Connections, Scaling};
pub use published::{Columns, Published, PublishedFile, PublishedReader};

use core::fmt;

use serde::Serialize;

use crate::baselines::{Sample, SampleError};

/// A data set that an experiment needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DataSet {
    /// Its name in the papers.
    pub name: &'static str,
    /// The file's name; `.npy.gz` is a matrix with a record per row.
    pub file: &'static str,
    /// n.
    #[serde(skip)]
    pub records: u64,
    /// d, as the paper states it.
    #[serde(skip)]
    pub features: usize,
    /// The publisher's page.
    pub publisher: &'static str,
    /// The preparation of the published file, if it is not used as it is.
    pub preparation: &'static str,
    /// The published files that can stand in the folder as they are.
    pub published: Option<Published>,
}

/// Far above the length of any cell here, so that a file without line ends cannot fill the memory.
const LONGEST_CELL: usize = 256;

/// Far above the number of values of any categorical column here: a file with more is another file.
const MOST_VALUES: usize = 1000;

/// Files with commas between the cells and no header.
const fn commas(files: &'static [PublishedFile], columns: &'static [Columns]) -> Option<Published> {
    Some(Published { files, separator: ',', header: false, columns, class: None })
}

const fn file(name: &'static str) -> PublishedFile {
    PublishedFile { name, more: 0 }
}

/// The paper does not say which columns it treated as categorical.
const ONE_HOT: &str = "each categorical column coded as one column per value (Chaudhuri et al., section 6.1), saved as \
                       a matrix, a record per row, with numpy.save";
/// The matrix without its label.
const MATRIX: &str = "save the features without the label, a record per row, with numpy.save";
/// Collections of scikit-feature, in MATLAB's format.
const MATLAB: &str = "save the matrix X of the MATLAB file, a record per row, with numpy.save";

/// Every data set of the papers' experiments.
pub const DATA_SETS: [DataSet; 13] = [
    DataSet {
        name: "kddcup99",
        file: "kddcup99_10_percent.csv.gz",
        records: 494_021,
        features: 116,
        publisher: "https://archive.ics.uci.edu/dataset/130/kdd+cup+1999+data",
        preparation: "kddcup.data_10_percent.gz as it is, renamed",
        published: None,
    },
    DataSet {
        name: "census",
        file: "census.npy.gz",
        records: 199_523,
        features: 513,
        publisher: "https://archive.ics.uci.edu/dataset/117/census+income+kdd",
        preparation: ONE_HOT,
        published: commas(
            &[file("census-income.data")],
            // With the instance weight and the label, as the paper's 513 features have it.
            &[
                Columns::Numbers(1),
                Columns::Categories(4),
                Columns::Numbers(1),
                Columns::Categories(10),
                Columns::Numbers(3),
                Columns::Categories(5),
                Columns::Numbers(1),
                Columns::Categories(5),
                Columns::Numbers(1),
                Columns::Categories(8),
                Columns::Numbers(1),
                Columns::Categories(2),
            ],
        ),
    },
    DataSet {
        name: "localization",
        file: "localization.npy.gz",
        records: 164_860,
        features: 44,
        publisher: "https://archive.ics.uci.edu/dataset/196/localization+data+for+person+activity",
        preparation: ONE_HOT,
        published: Some(Published {
            files: &[file("ConfLongDemo_JSI.txt")],
            separator: ',',
            header: false,
            // Sequence and tag; the time as a number and, left out, as a date; three coordinates; the activity. With
            // 25 sequences, 4 tags and 11 activities these are the paper's 44 features.
            columns: &[
                Columns::Categories(2),
                Columns::Numbers(1),
                Columns::Skip(1),
                Columns::Numbers(3),
                Columns::Categories(1),
            ],
            class: Some("falling"),
        }),
    },
    DataSet {
        name: "insurance",
        file: "insurance.npy.gz",
        records: 9822,
        features: 150,
        publisher: "https://archive.ics.uci.edu/dataset/125/insurance+company+benchmark+coil+2000",
        preparation: ONE_HOT,
        published: Some(Published {
            files: &[PublishedFile { name: "ticdata2000.txt", more: 1 }, file("ticeval2000.txt")],
            separator: '\t',
            header: false,
            // The customer's type and main type are names. All others are ordered codes and counts; the paper, which
            // has 150 features, must have coded some of them too.
            columns: &[Columns::Categories(1), Columns::Numbers(3), Columns::Categories(1), Columns::Numbers(80)],
            class: None,
        }),
    },
    DataSet {
        name: "isolet5",
        file: "isolet5.npy.gz",
        records: 1560,
        features: 617,
        publisher: "https://archive.ics.uci.edu/dataset/54/isolet",
        preparation: MATRIX,
        published: None,
    },
    DataSet {
        name: "leukemia",
        file: "leukemia_allaml.npy.gz",
        records: 72,
        features: 7129,
        publisher: "https://jundongl.github.io/scikit-feature/datasets.html",
        preparation: MATLAB,
        published: None,
    },
    DataSet {
        name: "colon",
        file: "colon.npy.gz",
        records: 62,
        features: 2000,
        publisher: "https://jundongl.github.io/scikit-feature/datasets.html",
        preparation: MATLAB,
        published: None,
    },
    DataSet {
        name: "covertype",
        file: "covertype.npy.gz",
        records: 581_012,
        features: 54,
        publisher: "https://archive.ics.uci.edu/dataset/31/covertype",
        preparation: MATRIX,
        published: commas(&[file("covtype.data")], &[Columns::Numbers(54), Columns::Skip(1)]),
    },
    DataSet {
        name: "buzz",
        file: "buzz.npy.gz",
        records: 140_000,
        features: 77,
        publisher: "https://archive.ics.uci.edu/dataset/248/buzz+in+social+media",
        preparation: MATRIX,
        published: commas(&[file("Twitter-Relative-Sigma-500.data")], &[Columns::Numbers(77), Columns::Skip(1)]),
    },
    DataSet {
        name: "year",
        file: "year.npy.gz",
        records: 515_345,
        features: 90,
        publisher: "https://archive.ics.uci.edu/dataset/203/yearpredictionmsd",
        preparation: MATRIX,
        published: commas(&[file("YearPredictionMSD.txt")], &[Columns::Skip(1), Columns::Numbers(90)]),
    },
    DataSet {
        name: "rna-seq",
        file: "rna_seq.npy.gz",
        records: 801,
        features: 20_531,
        publisher: "https://archive.ics.uci.edu/dataset/401/gene+expression+cancer+rna+seq",
        preparation: MATRIX,
        published: Some(Published {
            files: &[file("data.csv")],
            separator: ',',
            header: true,
            columns: &[Columns::Skip(1), Columns::Numbers(20_531)],
            class: None,
        }),
    },
    DataSet {
        name: "lung",
        file: "lung.npy.gz",
        records: 203,
        features: 3312,
        publisher: "https://jundongl.github.io/scikit-feature/datasets.html",
        preparation: MATLAB,
        published: None,
    },
    DataSet {
        name: "nips",
        file: "nips.npy.gz",
        records: 11_463,
        features: 5811,
        publisher: "https://archive.ics.uci.edu/dataset/371/nips+conference+papers+1987+2015",
        preparation: MATRIX,
        published: Some(Published {
            files: &[file("NIPS_1987-2015.csv")],
            separator: ',',
            header: true,
            columns: &[Columns::Skip(1), Columns::Numbers(5811)],
            class: None,
        }),
    },
];

impl DataSet {
    /// The data set of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        DATA_SETS.iter().find(|set| set.name == name)
    }
}

/// The message for a missing file.
impl fmt::Display for DataSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, file, publisher, preparation, published, .. } = self;
        write!(f, "{name} is missing: get it from {publisher} and put it into the folder as ")?;
        if let Some(published) = published {
            let names: Vec<&str> = published.files.iter().map(|file| file.name).collect();
            write!(f, "{}, as published, or as ", names.join(" and "))?;
        }
        write!(f, "{file} ({preparation})")
    }
}

/// Scales records in place as Chaudhuri et al. do in section 6.1: each feature to the largest value 1, then all records
/// by the largest norm. Features that are always zero stay zero.
///
/// # Errors
/// [`SampleError`] when the numbers are not records.
pub fn scaled_as_chaudhuri(dimension: usize, mut values: Vec<f64>) -> Result<Sample, SampleError> {
    let largest = largest_values(&values, dimension);
    let mut norm: f64 = 0.0;
    for row in values.chunks_mut(dimension.max(1)) {
        for (value, largest) in row.iter_mut().zip(&largest).filter(|(_, largest)| **largest > 0.0) {
            *value /= largest;
        }
        norm = norm.max(row.iter().map(|value| value * value).sum::<f64>());
    }
    if norm > 0.0 {
        values.iter_mut().for_each(|value| *value /= norm.sqrt());
    }
    Sample::new(dimension, values)
}

/// The largest size of a value in each column.
fn largest_values(values: &[f64], columns: usize) -> Vec<f64> {
    let mut largest = vec![0.0f64; columns];
    for row in values.chunks(columns.max(1)) {
        largest.iter_mut().zip(row).for_each(|(largest, value)| *largest = largest.max(value.abs()));
    }
    largest
}

/// Reasons why a file is not the expected data set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// Reading failed.
    #[error("cannot read it: {0}")]
    Io(#[from] std::io::Error),
    /// It is empty.
    #[error("there are no records in it")]
    Empty,
    /// A line that is not a record.
    #[error("line {line}: {what}")]
    Line {
        /// The line's number, from 1.
        line: usize,
        /// The problem.
        what: String,
    },
    /// Numbers that are not records.
    #[error(transparent)]
    Sample(#[from] SampleError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_data_set_is_named_with_its_publisher_and_the_file_expected() {
        let text = DataSet::named("census").unwrap().to_string();
        assert!(text.contains("archive.ics.uci.edu/dataset/117") && text.contains("census.npy.gz"), "{text}");
        assert!(text.contains("census-income.data"), "{text}");
        assert_eq!(DataSet::named("mnist"), None);
        let mut files: Vec<&str> = DATA_SETS.iter().map(|set| set.file).collect();
        files.sort_unstable();
        files.dedup();
        assert_eq!(files.len(), DATA_SETS.len());
    }

    #[test]
    fn records_are_scaled_by_feature_and_then_by_the_largest_norm() {
        let sample = scaled_as_chaudhuri(3, vec![2.0, 0.0, -5.0, 4.0, 0.0, 5.0]).unwrap();
        let norm = 2.0f64.sqrt();
        let rows: Vec<&[f64]> = sample.rows("a test").unwrap().collect();
        assert_eq!(rows, [[0.5 / norm, 0.0, -1.0 / norm], [1.0 / norm, 0.0, 1.0 / norm]]);
        assert!((sample.largest_norm() - 1.0).abs() < 1e-15);
        assert!(scaled_as_chaudhuri(0, vec![]).is_err());
        assert!(scaled_as_chaudhuri(2, vec![0.0, 0.0]).is_ok());
        assert!(scaled_as_chaudhuri(2, vec![1.0, f64::NAN]).is_err());
    }
}
