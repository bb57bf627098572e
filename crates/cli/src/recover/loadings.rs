//! Components, and covariances, as files, and the largest loadings as text.

use std::ffi::OsStr;
use std::iter;

use clap::builder::ValueParser;
use ldp_pca::components::PublishedComponents;
use ldp_pca::recovery::Answer;
use ldp_pca::task::Task;
pub(super) use ldp_pca_pictures::descending;
use nalgebra::DMatrix;

use crate::error::Result;
use crate::writing::{self, Target};

/// Features named per component.
pub(super) const SHOWN: usize = 5;

/// Reads the argument of a file for a matrix with one row per feature.
pub(super) fn target() -> ValueParser {
    Target::in_formats(&["csv", "npy", "json"], "a matrix can be written as .csv, .npy or .json")
}

/// Writes the components of an answer about this task's reports: as a matrix, or in JSON as the document that is
/// published.
pub(super) fn write_components(target: &Target, answer: &Answer, task: &Task) -> Result<()> {
    if target.extension().is_some_and(|extension| extension == "json") {
        let document = PublishedComponents::document(answer, task)?;
        return writing::write(target, format!("{document}\n").as_bytes());
    }
    let vectors = answer.vectors();
    let columns = writing::component_names(vectors.ncols());
    write(target, &vectors, &answer.asked.feature_names, "components", &columns)
}

/// Writes a matrix with these names of its rows, in the format of the target's extension. `key` is that of the columns
/// in JSON, and `head` names them in CSV.
pub(super) fn write(target: &Target, matrix: &DMatrix<f64>, rows: &[String], key: &str, head: &[String]) -> Result<()> {
    match target.extension().and_then(OsStr::to_str) {
        Some("npy") => writing::write_matrix(target, matrix),
        Some("json") => {
            let columns: Vec<Vec<f64>> = matrix.column_iter().map(|column| column.iter().copied().collect()).collect();
            let document = serde_json::json!({ "feature_names": rows, key: columns });
            writing::write(target, format!("{document}\n").as_bytes())
        }
        _ => {
            let head: Vec<String> = iter::once("feature".to_owned()).chain(head.iter().cloned()).collect();
            let rows = matrix.row_iter().zip(rows);
            let rows =
                rows.map(|(row, name)| iter::once(name.clone()).chain(row.iter().map(ToString::to_string)).collect());
            writing::write(target, &writing::csv(target, iter::once(head).chain(rows))?)
        }
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
