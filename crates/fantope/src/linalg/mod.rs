//! Numerical kernels on plain matrices, independent of the rest of this crate.
//!
//! [`symmetric_eigen`] and [`symmetric_eigenvalues`] decompose a symmetric matrix with its eigenvalues in descending
//! order, on one thread, natively and in WebAssembly alike. [`lanczos`] finds the extreme eigenvalues of a matrix that
//! is only known by its action, and bounds them.

mod anderson;
mod eigen;
mod krylov;
mod leading;
mod order;
mod partial;
mod selected;
mod symmetric;

pub(crate) use anderson::Anderson;
pub use eigen::{EigenError, SYMMETRY_TOLERANCE, SymmetricEigen, symmetric_eigen, symmetric_eigenvalues};
pub(crate) use eigen::{exactly_symmetric_eigen, power_of_two_below};
pub use krylov::{Krylov, lanczos};
pub use leading::leading_eigen;
pub use order::{sort_ascending, sort_descending, sort_rows, sorted_descending};
pub(crate) use partial::{RitzPairs, weighted_gram};
pub(crate) use selected::largest_eigen;
pub(crate) use symmetric::{ColumnVisitor, Stored, mean, scatter};
pub use symmetric::{SINGLE_SYMMETRY_TOLERANCE, SymmetricMatrix};
