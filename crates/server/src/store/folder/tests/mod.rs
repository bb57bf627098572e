//! The store as a whole: against a model, on disks that fail, after damage, with small sizes.

mod damaged;
mod erasing;
mod failing;
mod flips;
pub(super) mod model;
pub(super) mod simulated;
mod small;
mod speed;
mod waves;
