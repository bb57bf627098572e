//! The programs behind the documentation's figures, and here what several share. No product depends on them.

#[cfg(test)]
mod documents;

use std::borrow::Borrow;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::Args;
use ldp_pca::centring::Centring;
use ldp_pca::mechanism::MechanismSpec;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::{BoundedRecord, Bounding, Radius};
use ldp_pca::schema::Schema;
use ldp_pca::schema::infer::{Inference, InferenceOptions, Scaling};
use ldp_pca::task::{Folds, Task};
use ldp_pca_simulation::SecondMoment;
use nalgebra::DMatrix;
use npyz::{NpyFile, Order};

/// Any failure of a study.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Records of a synthetic population: so many that each is drawn rarely.
pub const POPULATION: usize = 20_000;

/// The arguments of a study of real records.
#[derive(Args, Debug)]
pub struct RecordsArguments {
    /// Records, one a row: .npy, or a .csv with a header, encoded as `schema infer` does; without them a synthetic
    /// population
    pub records: Option<PathBuf>,
    /// Subtract each column's mean and divide by its deviation
    #[arg(long)]
    pub standardise: bool,
}

/// Encoded records, one a row, and the schema that encodes them.
pub struct Encoded {
    /// The schema.
    pub schema: Schema,
    /// The records.
    pub rows: Vec<Vec<f64>>,
}

impl RecordsArguments {
    /// The encoded rows of the file; none without a file. A CSV file keeps all its columns, any other file at most
    /// `features` of them, those of largest variance.
    ///
    /// # Errors
    /// When the file is no table of its kind that can be read.
    pub fn rows(&self, features: usize) -> Result<Option<Vec<Vec<f64>>>, Failure> {
        Ok(self.encoded(features)?.map(|encoded| encoded.rows))
    }

    /// The encoded rows of the file, and the schema that encodes them; none without a file. A CSV file keeps all its
    /// columns, any other file at most `features` of them, those of largest variance.
    ///
    /// # Errors
    /// When the file is no table of its kind that can be read.
    pub fn encoded(&self, features: usize) -> Result<Option<Encoded>, Failure> {
        let Some(path) = &self.records else { return Ok(None) };
        if path.extension().is_some_and(|extension| extension == "csv") {
            let scaling = if self.standardise { Scaling::Standard } else { Scaling::default() };
            return read_csv(path, scaling).map(Some);
        }
        let rows = read(path, features, self.standardise)?;
        Ok(Some(Encoded { schema: Schema::numeric(rows[0].len())?, rows }))
    }

    /// The name of the population in a table; none without a file.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let name = self.records.as_ref()?.file_stem()?.to_string_lossy();
        Some(format!("{name}{}", if self.standardise { ", standardised" } else { "" }))
    }
}

/// How the tasks of a study bound records, and whether they take off the mean.
#[derive(Args, Debug)]
pub struct TaskArguments {
    /// Clip records at this length, in place of dividing each by its own
    #[arg(long)]
    pub radius: Option<f64>,
    /// With centring
    #[arg(long)]
    pub centre: bool,
}

impl TaskArguments {
    /// The bounding.
    ///
    /// # Errors
    /// For a radius that is none.
    pub fn bounding(&self) -> Result<Bounding, Failure> {
        Ok(match self.radius {
            Some(radius) => Bounding::Clip { radius: Radius::new(radius)? },
            None => Bounding::UnitNorm,
        })
    }

    /// The task of a schema, with the [`mechanism`] of this epsilon.
    ///
    /// # Errors
    /// For numbers that no task has.
    pub fn task(&self, schema: Schema, epsilon: f64, folds: u32) -> Result<Task, Failure> {
        let task = Task::new(schema, self.bounding()?, mechanism(epsilon)?, Folds::new(folds)?)?;
        Ok(if self.centre { task.with_centring(Centring::default())? } else { task })
    }
}

/// The records of norm 1.
///
/// # Errors
/// When a number is not finite.
pub fn bounded(rows: Vec<Vec<f64>>) -> Result<Vec<BoundedRecord>, Failure> {
    rows.into_iter().map(|row| Ok(BoundedRecord::new(row, Bounding::UnitNorm)?)).collect()
}

/// The second moments of records, of which there are some.
#[must_use]
pub fn second_moment<T: Borrow<BoundedRecord>>(records: &[T]) -> DMatrix<f64> {
    let mut moment = SecondMoment::new(records[0].borrow().coordinates().len(), 1.0);
    records.iter().for_each(|record| moment.add(record.borrow()));
    moment.matrix()
}

/// The double-cap mechanism, or, for a negative epsilon, the Gaussian one of its magnitude and a delta of 1e-6.
///
/// # Errors
/// When epsilon is 0 or not finite.
pub fn mechanism(epsilon: f64) -> Result<MechanismSpec, Failure> {
    Ok(if epsilon > 0.0 {
        MechanismSpec::double_cap(Epsilon::new(epsilon)?)
    } else {
        MechanismSpec::gaussian(Epsilon::new(-epsilon)?, Delta::new(1e-6)?)
    })
}

/// The schema that `schema infer` gives for a file with a header, and its encoded rows.
///
/// # Errors
/// When the file is no table, and as [`Inference`].
fn read_csv(path: &Path, scaling: Scaling) -> Result<Encoded, Failure> {
    let mut reader = csv::Reader::from_path(path)?;
    let names: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
    let rows = reader.records().collect::<Result<Vec<_>, _>>()?;
    let mut inference = Inference::new(&names, InferenceOptions { scaling, ..InferenceOptions::default() })?;
    for row in &rows {
        inference.observe(&row.iter().collect::<Vec<_>>())?;
    }
    let schema = inference.finish()?.schema;
    let rows = rows.iter().map(|row| schema.encode_fields(&row.iter().collect::<Vec<_>>())).collect();
    Ok(Encoded { schema, rows })
}

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
    let order = file.order();
    let numbers: Vec<f64> = match file.dtype().descr().as_str() {
        "'<f4'" => file.into_vec::<f32>()?.into_iter().map(f64::from).collect(),
        "'|i1'" => file.into_vec::<i8>()?.into_iter().map(f64::from).collect(),
        _ => file.into_vec::<f64>()?,
    };
    let matrix = match order {
        Order::C => DMatrix::from_row_slice(count, columns, &numbers),
        Order::Fortran => DMatrix::from_vec(count, columns, numbers),
    };
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
