#![doc = include_str!("../README.md")]
//!
//! ## Items
//!
//! [`FantopeProblem`] is the problem, and [`FantopeSolver`] solves it. [`solve_sequence`] shows what every penalty
//! gives, and [`default_penalty`] is the one that follows from a known noise. [`principal_components`] takes the
//! leading eigenvectors without a penalty. [`subspace`] measures the distance between two answers, and [`linalg`] has
//! the decompositions. Matrices are those of [`nalgebra`] 0.35, re-exported here.
//!
//! What is here knows a matrix, and at most the standard deviation of its noise: no privacy, no records, no IO.

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
pub use path::{PathPoint, default_penalty_sequence, penalty_sequence, solve_sequence};
pub use pca::{Components, principal_components};
pub use problem::{FantopeProblem, FantopeProjection, project_onto_fantope, soft_threshold};
pub use sequence::{Sequence, SequenceProgress};
pub use solver::{FantopeSolver, SolverSettings};
