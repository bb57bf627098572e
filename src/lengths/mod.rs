//! Lengths of records: a collection that is about them, for the choice of a clipping radius (docs/guides/lengths.md).
//!
//! | module | what |
//! |---|---|
//! | `norm_cap` | the mechanism, whose reports compare a record with a length |
//! | `norms` | quantiles of lengths from its sums, and what a radius costs |
//!
//! Tasks are made of the first, which knows nothing of the second.

mod norm_cap;
mod norms;

pub use norm_cap::NormCap;
pub use norms::{Clipping, Lengths, Norms, NormsError, Quantile};
