//! Numerical kernels on plain matrices, free of every notion of this crate.
//!
//! [`symmetric_eigen`] and [`symmetric_eigenvalues`] decompose a symmetric matrix with its eigenvalues in descending
//! order, on one thread, natively and in WebAssembly alike.

mod eigen;

pub use eigen::{
    EigenError, SYMMETRY_TOLERANCE, SymmetricEigen, symmetric_eigen, symmetric_eigenvalues, symmetric_part,
};
