//! The tables and figures of the literature, run again.

pub mod data;
pub mod svm;
