//! The soft-thresholded estimate: the rest of `S` when the dual matrix takes as much of every entry as it may.

use nalgebra::DVector;

use crate::linalg::{ColumnVisitor, Stored};
use crate::scaled::ScaledProblem;

/// `T = S − clip(S, penalty)` off the diagonal, `S` on it, in the units of the [`ScaledProblem`].
pub(super) struct Thresholded<'a> {
    problem: ScaledProblem<'a>,
    pub(super) diagonal: Vec<f64>,
    /// The off-diagonal part. If most entries remain, a second matrix would cost as much memory as `S`: then `S` is
    /// thresholded again at every product.
    off_diagonal: Option<Rows>,
}

/// From this dimension a dense estimate is not stored a second time.
const LARGE: usize = 5000;

impl<'a> Thresholded<'a> {
    pub(super) fn new(problem: &ScaledProblem<'a>) -> Self {
        let dimension = problem.dimension();
        let mut rows = Rows {
            penalty: problem.penalty * problem.scale,
            scale: problem.scale,
            limit: if dimension > LARGE { dimension * (dimension / 5) } else { usize::MAX },
            starts: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
        };
        problem.estimate.visit_columns(&mut rows);
        let diagonal = (0..dimension).map(|index| problem.entry(index, index)).collect();
        let off_diagonal = (rows.columns.len() <= rows.limit).then_some(rows);
        Self { problem: *problem, diagonal, off_diagonal }
    }

    pub(super) fn dimension(&self) -> usize {
        self.diagonal.len()
    }

    /// `y ← T x`.
    pub(super) fn multiply(&self, x: &DVector<f64>, y: &mut DVector<f64>) {
        match &self.off_diagonal {
            Some(Rows { starts, columns, values, .. }) => {
                for (row, out) in y.iter_mut().enumerate() {
                    let range = starts[row]..starts[row + 1];
                    *out = sparse_dot(&columns[range.clone()], &values[range], x.as_slice());
                }
            }
            None => {
                let ScaledProblem { estimate, penalty, scale, .. } = self.problem;
                let (x, y) = (x.as_slice(), y.as_mut_slice());
                estimate.visit_columns(&mut DenseProduct { penalty: penalty * scale, scale, x, y });
            }
        }
        for ((out, diagonal), x) in y.iter_mut().zip(&self.diagonal).zip(x.iter()) {
            *out += diagonal * x;
        }
    }
}

/// `Σ values[i] x[columns[i]]`, in four running sums: one alone waits for every addition.
fn sparse_dot(columns: &[u32], values: &[f64], x: &[f64]) -> f64 {
    let (columns, last_columns) = columns.as_chunks::<4>();
    let (values, last_values) = values.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (columns, values) in columns.iter().zip(values) {
        for lane in 0..4 {
            sums[lane] += values[lane] * x[columns[lane] as usize];
        }
    }
    let last: f64 = last_columns.iter().zip(last_values).map(|(column, value)| value * x[*column as usize]).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + last
}

/// The rest of every column, equal to the rest of every row: by rows, both triangles.
struct Rows {
    penalty: f64,
    scale: f64,
    limit: usize,
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl ColumnVisitor for Rows {
    fn visit<T: Stored>(&mut self, index: usize, column: &[T]) {
        if self.columns.len() > self.limit {
            return;
        }
        let inverse = 1.0 / self.scale;
        // Every entry is written, and the place advances past those that stay: no branch to mispredict.
        let start = self.columns.len();
        self.columns.resize(start + column.len(), 0);
        self.values.resize(start + column.len(), 0.0);
        let mut place = start;
        for (row, entry) in column.iter().enumerate() {
            let entry: f64 = (*entry).into();
            self.columns[place] = row as u32;
            self.values[place] = (entry - self.penalty.copysign(entry)) * inverse;
            place += usize::from(entry.abs() > self.penalty && row != index);
        }
        self.columns.truncate(place);
        self.values.truncate(place);
        self.starts.push(self.columns.len());
    }
}

struct DenseProduct<'a> {
    penalty: f64,
    scale: f64,
    x: &'a [f64],
    y: &'a mut [f64],
}

impl ColumnVisitor for DenseProduct<'_> {
    fn visit<T: Stored>(&mut self, index: usize, column: &[T]) {
        let mut sum = 0.0;
        for (row, (entry, x)) in column.iter().zip(self.x).enumerate() {
            let entry: f64 = (*entry).into();
            let left = entry - entry.clamp(-self.penalty, self.penalty);
            sum += if row == index { 0.0 } else { left * x };
        }
        self.y[index] = sum / self.scale;
    }
}
