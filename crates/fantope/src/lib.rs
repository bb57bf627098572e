//! Sparse principal components with a certificate: a symmetric matrix in, components out, with a proof of how good they
//! are. No privacy, no records, no IO: what is here knows a matrix, and at most the standard deviation of its noise.
//!
//! ```
//! use fantope::{FantopeProblem, FantopeSolver, Penalty, Rank, SolverSettings};
//! use nalgebra::DMatrix;
//!
//! // One component on rows 0 and 1; the rest is noise of size 0.1.
//! let estimate = DMatrix::from_row_slice(3, 3, &[1.0, 0.9, 0.1, 0.9, 1.0, -0.1, 0.1, -0.1, 0.2]);
//! let problem = FantopeProblem::new(&estimate, Rank::new(1)?, Penalty::new(0.15)?)?;
//! let solver = FantopeSolver::new(SolverSettings { tolerance: 1e-8, ..SolverSettings::default() })?;
//! let solution = solver.solve(&problem)?;
//! assert_eq!(solution.support, [0, 1]);
//! assert_eq!(solution.components.shape(), (3, 1));
//! assert!(solution.relative_gap <= 1e-8, "no feasible point has a much larger objective");
//!
//! // The proof is a dual matrix: the bound follows from its eigenvalues, whoever found it.
//! let bound = problem.dual_bound(&solution.dual_matrix(&problem)?)?;
//! assert!((bound - solution.objective).abs() < 1e-7);
//! # Ok::<(), fantope::FantopeError>(())
//! ```
//!
//! [`FantopeProblem`] is the relaxation of Vu, Cho, Lei & Rohe (2013), and [`FantopeSolver`] solves it on a working set
//! of rows. [`PenaltyPath`] shows what every penalty gives. [`principal_components`] takes the leading eigenvectors
//! without a penalty. [`subspace`] measures the distance between two answers, and [`linalg`] has the decompositions.
//! [`admm`] is the published algorithm, for comparison.
//!
//! Everything runs on the calling thread, natively and in WebAssembly alike, and the same input gives the same result.
//! A rank or penalty that makes no sense cannot be built. Matrices are those of [`nalgebra`] 0.35, re-exported here.

/// The README, whose example is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod admm;
mod closed_form;
mod error;
mod figure;
mod level;
pub mod linalg;
mod outcome;
mod parameters;
mod path;
mod pca;
mod problem;
mod scaled;
mod sequence;
mod solver;
pub mod subspace;
#[cfg(test)]
mod tests;

pub use nalgebra;

pub use error::{FantopeError, PathError};
pub use level::{DEFAULT_PENALTY_FACTOR, default_penalty, sparse_noise_edge};
pub use outcome::{Certificate, DualMatrix, FantopeSolution, HistoryEntry, Progress, SolverStatus};
pub use parameters::{Penalty, Rank};
pub use path::{PathPoint, PenaltyPath};
pub use pca::{Components, principal_components};
pub use problem::{FantopeProblem, FantopeProjection, dual_bound, project_onto_fantope, soft_threshold};
pub use sequence::{Sequence, SequenceProgress};
pub use solver::{FantopeSolver, SolverSettings};
