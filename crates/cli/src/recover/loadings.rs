//! Components, and covariances, as files, and the largest loadings as text.

use std::iter;

use ldp_pca::recovery::Answer;
use nalgebra::DMatrix;

use crate::error::{CliError, Result};
use crate::files::is_standard;
use crate::writing::{self, Target};

/// Features named per component.
pub(super) const SHOWN: usize = 5;

/// The file for a matrix with one row per feature, in the format of its extension.
pub(super) struct LoadingsFile {
    target: Target,
    format: LoadingsFormat,
}

#[derive(Clone, Copy)]
enum LoadingsFormat {
    Npy,
    Csv,
    Json,
}

impl LoadingsFile {
    pub(super) fn new(target: &Target) -> Result<Self> {
        let format = match target.extension().and_then(|extension| extension.to_str()) {
            _ if is_standard(target) => LoadingsFormat::Csv,
            Some("npy") => LoadingsFormat::Npy,
            Some("csv") => LoadingsFormat::Csv,
            Some("json") => LoadingsFormat::Json,
            _ => {
                return Err(CliError::Usage(format!("{target}: a matrix can be written as .csv, .npy or .json")));
            }
        };
        Ok(Self { target: target.clone(), format })
    }

    /// Writes the components of an answer.
    pub(super) fn write_components(&self, answer: &Answer) -> Result<()> {
        let vectors = answer.vectors();
        let columns: Vec<String> = (1..=vectors.ncols()).map(|index| format!("component_{index}")).collect();
        self.write(&vectors, &answer.asked.feature_names, "components", &columns)
    }

    /// Writes a matrix with these names of rows. `what` is the key of the columns in JSON, and `header` names them in
    /// CSV.
    pub(super) fn write(&self, matrix: &DMatrix<f64>, names: &[String], what: &str, header: &[String]) -> Result<()> {
        match self.format {
            LoadingsFormat::Npy => writing::write_matrix(&self.target, matrix),
            LoadingsFormat::Csv => self.write_csv(matrix, names, header),
            LoadingsFormat::Json => {
                let columns: Vec<Vec<f64>> =
                    matrix.column_iter().map(|column| column.iter().copied().collect()).collect();
                let document = serde_json::json!({ "feature_names": names, what: columns });
                writing::write(&self.target, format!("{document}\n").as_bytes())
            }
        }
    }

    fn write_csv(&self, matrix: &DMatrix<f64>, names: &[String], header: &[String]) -> Result<()> {
        let head = iter::once("feature".to_owned()).chain(header.iter().cloned()).collect::<Vec<_>>();
        let rows = matrix.row_iter().zip(names);
        let rows =
            rows.map(|(row, name)| iter::once(name.clone()).chain(row.iter().map(ToString::to_string)).collect());
        writing::write_csv(&self.target, iter::once(head).chain(rows))
    }
}

/// The features that matter most in a component, with their loadings, and the errors of these where they are known.
pub(super) fn largest_loadings(component: &[f64], errors: Option<&[f64]>, names: &[String]) -> String {
    let order = descending(component);
    // A sparse component has no more to show.
    let nonzero = order.iter().filter(|&&index| component[index] != 0.0);
    let loading = |&index: &usize| {
        let error = errors.map(|errors| format!(" ± {:.2}", errors[index])).unwrap_or_default();
        format!("{:+.2}{error} {}", component[index], names[index])
    };
    let shown: Vec<String> = nonzero.take(SHOWN).map(loading).collect();
    shown.join("  ")
}

/// Positions of the values from the largest magnitude to the smallest, ties in order.
pub(super) fn descending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&left, &right| values[right].abs().total_cmp(&values[left].abs()));
    order
}
