//! What several studies share.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use nalgebra::DMatrix;
use npyz::NpyFile;

/// Any failure of a study.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The rows of an NPY file, in the columns of largest variance, at most so many, descending. Standardised columns have
/// the mean 0 and the deviation 1.
///
/// # Errors
/// When the file is not a matrix that can be read.
pub fn read(path: &Path, features: usize, standardise: bool) -> Result<Vec<Vec<f64>>, Failure> {
    let file = NpyFile::new(BufReader::new(File::open(path)?))?;
    let (count, columns) = match file.shape() {
        &[count, columns] => (count as usize, columns as usize),
        shape => return Err(format!("{}: the shape is {shape:?}, not rows and columns", path.display()).into()),
    };
    let numbers: Vec<f64> = match file.dtype().descr().as_str() {
        "'<f4'" => file.into_vec::<f32>()?.into_iter().map(f64::from).collect(),
        "'|i1'" => file.into_vec::<i8>()?.into_iter().map(f64::from).collect(),
        _ => file.into_vec::<f64>()?,
    };
    let matrix = DMatrix::from_row_slice(count, columns, &numbers);
    let variances: Vec<f64> = matrix.column_iter().map(|column| column.variance()).collect();
    let mut order: Vec<usize> = (0..columns).filter(|&column| variances[column] > 0.0).collect();
    order.sort_by(|&left, &right| variances[right].total_cmp(&variances[left]));
    order.truncate(features);
    let standard = |row: usize, column: usize| {
        if standardise {
            (matrix[(row, column)] - matrix.column(column).mean()) / variances[column].sqrt()
        } else {
            matrix[(row, column)]
        }
    };
    let chosen = DMatrix::from_fn(count, order.len(), |row, at| standard(row, order[at]));
    Ok(chosen.row_iter().map(|row| row.iter().copied().collect()).collect())
}
