//! Principal components of data that never leaves its owner's device.

pub mod linalg;
pub mod recovery;
pub mod subspace;
