//! Results of the sparse solvers: progress, and the solution.

use std::fmt;

use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use super::problem::{FantopeProjection, gram, rounded_up, scaled_columns};
use super::scaled::{LIFT, ScaledProblem, largest_magnitudes};
use super::{FantopeError, FantopeProblem};
use crate::linalg::{scatter, symmetric_eigen, symmetric_eigenvalues};
use crate::subspace::orient_columns_in_place;

/// How the solver ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SolverStatus {
    /// The relative duality gap is at most the tolerance.
    Optimal,
    /// The gap stopped shrinking before it reached the tolerance. The solution is feasible and its gap is certified.
    Stalled,
    /// The iterations ran out. The solution is feasible and its gap is certified, but wider than asked for.
    BudgetExhausted,
    /// The progress callback asked to stop. The solution is feasible and its gap is certified.
    Cancelled,
}

/// The key for programs, as where it is serialized.
impl fmt::Display for SolverStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The basis of the dual bound.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Certificate {
    /// All eigenvalues were computed: the bound holds, up to the rounding that is added to it.
    Exact,
    /// The eigenvalues beyond the working set were bounded from random vectors: the bound is wrong with at most this
    /// probability.
    Probable {
        /// The probability, over the choice of the solver's seed.
        failure: f64,
    },
}

impl Certificate {
    /// The probability that the bound is wrong.
    #[must_use]
    pub fn failure_probability(self) -> f64 {
        match self {
            Self::Exact => 0.0,
            Self::Probable { failure } => failure,
        }
    }
}

/// The solver's report at every certificate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Iterations done.
    pub iterations: usize,
    /// The largest number of iterations.
    pub max_iterations: usize,
    /// Rows in the working set.
    pub working_set: usize,
    /// Certified relative gap of the best solution and the best bound so far; infinite before the first bound.
    pub relative_gap: f64,
    /// Relative gap within the working set: what the gap would be if no other row mattered.
    pub working_set_gap: f64,
    /// The gap at which this run stops; where noise decides, a second one may go on from there.
    pub tolerance: f64,
}

/// One certificate of the whole problem.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HistoryEntry {
    /// Iterations done.
    pub iterations: usize,
    /// Rows in the working set.
    pub working_set: usize,
    /// Best objective so far, in the units of the estimate.
    pub objective: f64,
    /// Best bound so far, in the units of the estimate.
    pub dual_bound: f64,
    /// The certified relative gap between them.
    pub relative_gap: f64,
}

/// A feasible solution, its sparse twin, and the proof of how good they are.
///
/// All rows and columns beyond [`FantopeSolution::rows`] are zero in `X` and `Y`, so both are stored on those rows
/// alone.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FantopeSolution {
    /// How the solver ended.
    pub status: SolverStatus,
    /// Objective of the feasible `X`, in the units of the estimate.
    pub objective: f64,
    /// Upper bound on the objective of every feasible point, in the units of the estimate.
    pub dual_bound: f64,
    /// Certified relative gap, at least 0.
    ///
    /// ```text
    /// (dual_bound − objective) / max(|objective − k c|, k penalty),   c = tr S / d
    /// ```
    ///
    /// Adding a multiple of `I` to `S` moves every feasible objective by the same amount and changes no solution, so
    /// the objective is taken above that of the uninformative `X = (k/d) I` without penalty, `k c`. Since that
    /// difference can be 0, it is not let below `k penalty`, the least penalty any feasible point pays. When both are
    /// 0, so is the gap. It is 0 for `k = d`, too: the identity is the only feasible point.
    pub relative_gap: f64,
    /// The basis of the bound.
    pub certificate: Certificate,
    /// Iterations done; 0 when the solution was known in closed form.
    pub iterations: usize,
    /// Every certificate of the whole problem, in order.
    pub history: Vec<HistoryEntry>,
    /// The certificates so far, including those of the solution it was started from: each has used a random vector, and
    /// a run that starts from this solution uses none of them again.
    pub certificates: u64,
    /// The dimension, `d`.
    pub dimension: usize,
    /// The rows of the working set, ascending from 0.
    pub rows: Vec<usize>,
    /// Eigenvectors of `X` with positive eigenvalue, on the working set: `|rows| × r`, orthonormal, `r ≥ k`.
    pub vectors: DMatrix<f64>,
    /// Their eigenvalues, descending, in `(0, 1]`, summing to `k`: `k` ones when the relaxation is tight.
    pub weights: DVector<f64>,
    /// Sparse iterate `Y` on the working set, `|rows| × |rows|`, with exact zeros off the diagonal; feasible only in
    /// the limit.
    pub sparse_block: DMatrix<f64>,
    /// The dual matrix that proves the bound.
    pub dual: DualMatrix,
    /// Rows that take part, ascending from 0; at least `k`. They are no test, and leave out small loadings.
    ///
    /// `Y` has the row: a nonzero entry off the diagonal, or more than 1e-4 on it. And in a component `j` of the `k`
    /// leading eigenvectors of `X` its loading is above `2 penalty / δ_j`, `δ_j` the variance above the mean of the
    /// directions beside the components, or above a tenth of the largest loading. Where these rows hold less than half
    /// of the square of a vector in the span of the components, all rows of `Y` count, as they do where `Y` has only
    /// `k`; where it has fewer, all of the working set.
    ///
    /// Where the eigenvalues of `X` tie at the `k`-th, its leading eigenvectors are arbitrary, and so is the support.
    pub support: Vec<usize>,
    /// Diagonal entries of `X` on the support, each in `[0, 1]`: the share of the row's unit vector that the components
    /// explain.
    pub leverages: Vec<f64>,
    /// The `k`-PCA of `X` on the support, `d × k`, column-major, orthonormal, oriented, most variance first: exactly 0
    /// on all other rows. Objective, bound and gap are those of `X`, not of these components: outside the support
    /// the entries of `X` are only as small as the gap allows.
    ///
    /// Within the subspace the basis is the one that diagonalises `S`, since `X` itself often ties all its eigenvalues.
    pub components: DMatrix<f64>,
    /// Variances `v_jᵀ S v_j` of the `k` components, descending, in the units of the estimate.
    pub variances: DVector<f64>,
}

/// A dual matrix `Z`, `|Z_ij| ≤ penalty`, stored where it is not simply the clipped estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct DualMatrix {
    pub(super) rows: Vec<usize>,
    /// `Z` on the rows, in the units of the estimate.
    pub(super) block: DMatrix<f64>,
    /// `S − Z` between other rows and these, where it is not what soft-thresholding leaves.
    pub(super) cross: Vec<(usize, DVector<f64>)>,
}

/// `Y` has a row with a diagonal entry above this even without other entries.
const ISOLATED: f64 = 1e-4;

/// A row takes part whose loading times the variance of the component is above so many penalties. The default penalty
/// is half of `τ √(ln d)`, and the largest of `d` noises about `τ √(2 ln d)`, 2.8 of them.
const PENALTIES: f64 = 2.0;

/// A row takes part whose loading is above this share of the largest one of the component.
const CLEAR: f64 = 0.1;

/// The least share of the square of a vector in the span of the components that the rows which take part must hold.
const HELD: f64 = 0.5;

/// A primal and dual pair.
pub(super) struct Found {
    /// The objective, in the units of the scaled problem.
    pub(super) value: f64,
    /// The bound, in the same units.
    pub(super) bound: f64,
    pub(super) rows: Vec<usize>,
    pub(super) vectors: DMatrix<f64>,
    pub(super) weights: DVector<f64>,
    pub(super) sparse_block: DMatrix<f64>,
    /// In the units of the estimate.
    pub(super) dual: DualMatrix,
}

impl FantopeSolution {
    /// What another solver found, with its certificate: a feasible `X`, its sparse twin `Y` and a dual matrix `Z`,
    /// `d × d` each, in the units of the estimate. It is stalled where the gap is wider than the tolerance, and says
    /// nothing of iterations.
    ///
    /// # Errors
    ///
    /// [`FantopeError::TooLarge`] when sums overflow, [`FantopeError::ShapeMismatch`], [`FantopeError::DualInfeasible`]
    /// or [`FantopeError::Eigen`] for other matrices. Whether `X` is feasible is the caller's to know.
    pub fn certified(
        problem: &FantopeProblem,
        tolerance: f64,
        x: &FantopeProjection,
        y: DMatrix<f64>,
        z: DMatrix<f64>,
    ) -> Result<Self, FantopeError> {
        let scaled = ScaledProblem::new(problem, largest_magnitudes(problem.estimate()).centred)?;
        let rows: Vec<usize> = (0..problem.dimension()).collect();
        FantopeError::check_shape(y.shape(), rows.len())?;
        let matrix = scaled.block(&rows) * scaled.scale;
        let centred = FantopeProblem::new(&matrix, problem.rank(), problem.penalty())?;
        let positive = x.weights.iter().take_while(|weight| **weight > 0.0).count();
        let found = Found {
            value: centred.objective(&x.matrix)? / scaled.scale + scaled.constant(),
            bound: centred.dual_bound(&z)? / scaled.scale + scaled.constant(),
            vectors: x.vectors.columns(0, positive).into_owned(),
            weights: x.weights.rows(0, positive).into_owned(),
            sparse_block: y,
            dual: DualMatrix { rows: rows.clone(), block: z, cross: Vec::new() },
            rows,
        };
        Ok(Self::new(problem, &scaled, found)?.within(tolerance))
    }

    /// Optimal or stalled, as the gap is.
    pub(super) fn within(self, tolerance: f64) -> Self {
        let optimal = self.relative_gap <= tolerance;
        Self { status: if optimal { SolverStatus::Optimal } else { SolverStatus::Stalled }, ..self }
    }

    /// Computes components and support of a solution that was found exactly and without an iteration.
    pub(super) fn new(
        problem: &FantopeProblem,
        scaled: &ScaledProblem<'_>,
        found: Found,
    ) -> Result<Self, FantopeError> {
        let rank = problem.rank().value();
        let leverage = |place: &usize| {
            let entries = found.vectors.row(*place);
            entries.iter().zip(found.weights.iter()).map(|(entry, weight)| weight * entry * entry).sum::<f64>()
        };
        let places = taking_part(problem, &found)?;
        let support: Vec<usize> = places.iter().map(|place| found.rows[*place]).collect();
        let (components, variances) = components(problem, &support, &leading_on(&places, &found, rank)?)?;
        Ok(Self {
            leverages: places.iter().map(leverage).collect(),
            support,
            components,
            variances: variances.add_scalar(problem.estimate().mean_diagonal()),
            dimension: problem.dimension(),
            status: SolverStatus::Optimal,
            certificate: Certificate::Exact,
            objective: scaled.in_units(found.value),
            dual_bound: scaled.bound_in_units(found.bound),
            relative_gap: scaled.relative_gap(found.value, found.bound),
            iterations: 0,
            history: Vec::new(),
            certificates: 0,
            rows: found.rows,
            vectors: found.vectors,
            weights: found.weights,
            sparse_block: found.sparse_block,
            dual: found.dual,
        })
    }

    /// The solution in the units of the problem before it was [`lifted`](super::scaled::lifted).
    pub(super) fn lowered(mut self) -> Self {
        self.objective /= LIFT;
        self.dual_bound = rounded_up(self.dual_bound, 1.0 / LIFT);
        self.variances /= LIFT;
        self.dual = self.dual.times(1.0 / LIFT);
        for entry in &mut self.history {
            entry.objective /= LIFT;
            entry.dual_bound = rounded_up(entry.dual_bound, 1.0 / LIFT);
        }
        self
    }

    /// Whether a solver can start from it: it is of this dimension and rank, and its fields fit together.
    pub(super) fn fits(&self, problem: &FantopeProblem) -> bool {
        let (dimension, rank, rows) = (problem.dimension(), problem.rank().value(), self.rows.len());
        let within = self.rows.last().is_some_and(|last| *last < dimension) && self.rows.is_sorted_by(|a, b| a < b);
        let solved =
            self.sparse_block.shape() == (rows, rows) && self.sparse_block.iter().all(|entry| entry.is_finite());
        self.dimension == dimension && self.components.ncols() == rank && rows >= rank && within && solved
    }

    /// The dual matrix `Z`, `d × d`, in the units of the estimate, for the problem that was solved.
    /// [`FantopeProblem::dual_bound`] decomposes it again and gives the bound; it refuses a matrix of another problem.
    ///
    /// # Errors
    ///
    /// [`FantopeError::ShapeMismatch`] for a problem of another dimension.
    pub fn dual_matrix(&self, problem: &FantopeProblem) -> Result<DMatrix<f64>, FantopeError> {
        FantopeError::check_shape((self.dimension, self.dimension), problem.dimension())?;
        Ok(self.dual.matrix(problem))
    }

    /// The feasible `X`, `d × d`: `0 ⪯ X ⪯ I`, `tr X = k` to rounding.
    #[must_use]
    pub fn feasible(&self) -> DMatrix<f64> {
        let block = gram(&scaled_columns(&self.vectors, 0..self.weights.len(), |index| self.weights[index].sqrt()));
        let mut whole = DMatrix::zeros(self.dimension, self.dimension);
        scatter(&block, &self.rows, &mut whole);
        whole
    }
}

impl DualMatrix {
    /// The same matrix in other units.
    pub(super) fn times(mut self, factor: f64) -> Self {
        self.block *= factor;
        self.cross.iter_mut().for_each(|(_, left)| *left *= factor);
        self
    }

    /// `Z`, `d × d`, in the units of the estimate, for the problem that was solved.
    pub(super) fn matrix(&self, problem: &FantopeProblem) -> DMatrix<f64> {
        let (estimate, penalty) = (problem.estimate(), problem.penalty().value());
        let mut whole = estimate.to_double();
        whole.apply(|entry| *entry = entry.clamp(-penalty, penalty));
        whole.fill_diagonal(penalty);
        for (row, left) in &self.cross {
            for (column, left) in self.rows.iter().zip(left.iter()) {
                // Clipped because the difference may round past the penalty.
                let entry = (estimate.entry(*row, *column) - left).clamp(-penalty, penalty);
                whole[(*row, *column)] = entry;
                whole[(*column, *row)] = entry;
            }
        }
        scatter(&self.block, &self.rows, &mut whole);
        whole
    }
}

/// The places of the rows that take part ([`FantopeSolution::support`]).
fn taking_part(problem: &FantopeProblem, found: &Found) -> Result<Vec<usize>, FantopeError> {
    let (rank, y) = (problem.rank().value(), &found.sparse_block);
    let beside = |place: usize| (0..y.ncols()).any(|column| column != place && y[(place, column)] != 0.0);
    let all = Vec::from_iter(0..found.rows.len());
    let sparse: Vec<usize> =
        all.iter().copied().filter(|&place| y[(place, place)] > ISOLATED || beside(place)).collect();
    if sparse.len() <= rank {
        // An early iterate can have fewer rows than components, which need as many.
        return Ok(if sparse.len() == rank { sparse } else { all });
    }
    let (basis, variances) = components(problem, &found.rows, &leading_on(&all, found, rank)?)?;
    let (above, least) = (above_others(problem, &variances), PENALTIES * problem.penalty().value());
    let largest: Vec<f64> = basis.column_iter().map(|loadings| loadings.amax()).collect();
    let counts = |place: usize, component: usize| {
        let loading = basis[(found.rows[place], component)].abs();
        above[component] * loading > least || loading > CLEAR * largest[component]
    };
    let kept: Vec<usize> =
        sparse.iter().copied().filter(|&place| (0..rank).any(|component| counts(place, component))).collect();
    let held = basis.select_rows(kept.iter().map(|&place| &found.rows[place]));
    let enough = kept.len() >= rank && symmetric_eigenvalues(&gram(&held.transpose()))?[rank - 1] >= HELD;
    Ok(if enough { kept } else { sparse })
}

/// These variances, of `S` less the mean of its diagonal, above the mean of the directions beside the components, of
/// which there must be some.
pub(super) fn above_others(problem: &FantopeProblem, centred: &DVector<f64>) -> DVector<f64> {
    // Those beside have what is missing from a trace of 0.
    let others = (problem.dimension() - centred.len()) as f64;
    centred.add_scalar(centred.sum() / others)
}

/// The leading `rank` eigenvectors of `X` on these places of its rows: what `X` has elsewhere comes from a gap above 0.
fn leading_on(places: &[usize], found: &Found, rank: usize) -> Result<DMatrix<f64>, FantopeError> {
    if places.len() == found.rows.len() {
        return Ok(found.vectors.columns(0, rank).into_owned());
    }
    let factor = DMatrix::from_fn(places.len(), found.weights.len(), |place, column| {
        found.vectors[(places[place], column)] * found.weights[column].sqrt()
    });
    Ok(symmetric_eigen(&gram(&factor))?.vectors.columns(0, rank).into_owned())
}

/// The basis of the span that diagonalises `S`, most variance first, on all rows, and those variances less the mean of
/// the diagonal of `S`.
fn components(
    problem: &FantopeProblem,
    rows: &[usize],
    basis: &DMatrix<f64>,
) -> Result<(DMatrix<f64>, DVector<f64>), FantopeError> {
    let estimate = problem.estimate();
    // Centred, so that a large multiple of the identity does not drown the differences.
    let shift = estimate.mean_diagonal();
    let mut block = estimate.submatrix(rows, rows);
    (0..rows.len()).for_each(|index| block[(index, index)] -= shift);
    let mut seen = basis.tr_mul(&(block * basis));
    seen.fill_lower_triangle_with_upper_triangle();
    let eigen = symmetric_eigen(&seen)?;
    let inside = basis * eigen.vectors;
    let mut components = DMatrix::zeros(problem.dimension(), basis.ncols());
    for (place, row) in rows.iter().enumerate() {
        components.set_row(*row, &inside.row(place));
    }
    orient_columns_in_place(&mut components);
    Ok((components, eigen.values))
}
