//! What the sparse solver hands back, on the way and at the end.

use nalgebra::{DMatrix, DVector};

/// How the solver ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AdmmStatus {
    /// The relative duality gap is at most the tolerance.
    Optimal,
    /// The iterates stopped moving, to rounding, before the gap reached the tolerance: it asks for more than doubles hold.
    Stalled,
    /// The iterations ran out. The solution is feasible and its gap is certified, only wider than asked for.
    BudgetExhausted,
    /// The progress callback asked to stop. The solution is feasible and its gap is certified.
    Cancelled,
}

/// What the solver reports at every certificate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Iterations done.
    pub iterations: usize,
    /// Most iterations allowed.
    pub max_iterations: usize,
    /// Relative duality gap of the best solution and the best bound so far.
    pub relative_gap: f64,
    /// The gap at which the solver stops.
    pub tolerance: f64,
    /// `‖X − Y‖_F`: disagreement of the feasible and the sparse iterate.
    pub primal_residual: f64,
    /// `ρ ‖Y − Y_previous‖_F`, in the units of the estimate.
    pub dual_residual: f64,
}

/// A feasible solution, its sparse twin, and the proof of how good they are.
#[derive(Clone, Debug, PartialEq)]
pub struct FantopeSolution {
    /// How the solver ended.
    pub status: AdmmStatus,
    /// Feasible `X`, `d × d`: `0 ⪯ X ⪯ I`, `tr X = k` to rounding. Small where [`FantopeSolution::sparse`] is zero.
    pub feasible: DMatrix<f64>,
    /// Sparse iterate `Y`, `d × d`, with exact zeros; feasible only in the limit.
    pub sparse: DMatrix<f64>,
    /// Dual matrix `Z`, `d × d`, `|Z_ij| ≤ penalty`: [`FantopeProblem::dual_bound`](super::FantopeProblem::dual_bound) of it is the bound.
    pub dual: DMatrix<f64>,
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
    /// Adding a multiple of `I` to `S` moves every feasible objective alike and changes no solution, so the objective is
    /// taken above that of the uninformative `X = (k/d) I` without penalty, `k c`. Since that difference can be 0, it is
    /// not let below `k penalty`, the least penalty any feasible point pays. When both are 0, so is the gap.
    pub relative_gap: f64,
    /// `‖X − Y‖_F` of the last iterates.
    pub primal_residual: f64,
    /// `ρ ‖Y − Y_previous‖_F` of the last iterates, in the units of the estimate.
    pub dual_residual: f64,
    /// Iterations done; 0 when the solution was known in closed form.
    pub iterations: usize,
    /// Rows with a nonzero diagonal entry of `Y`, ascending from 0 (Theorem 5 of Wang & Xu 2019).
    pub support: Vec<usize>,
    /// The `k`-PCA of `X`, `d × k`, column-major, orthonormal, oriented, most variance first.
    ///
    /// Within the subspace the basis is the one that diagonalises `S`, since `X` itself often ties all its eigenvalues.
    pub components: DMatrix<f64>,
    /// Variances `v_jᵀ S v_j` of the `k` components, descending, in the units of the estimate.
    pub variances: DVector<f64>,
    /// All `d` eigenvalues of `X`, descending, in `[0, 1]`: `k` ones and zeros otherwise when the relaxation is tight.
    pub weights: DVector<f64>,
}
