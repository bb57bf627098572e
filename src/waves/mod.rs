//! Second waves. A first wave finds leading directions V, with errors. The people of a second wave, none of them of the
//! first, report products of their part along V and their part across it alone: k d numbers, not d^2 / 2. The mean of
//! these is the cross block. It says how far V is turned, and both waves give one estimate (docs/guides/two-waves.md).
//!
//! The public parameters of a second wave are its *refinement*: V, a weight for each direction, and a clip for products
//! (not `Bounding::Clip`, which shortens records). Both waves are one *campaign*, in which a person answers once.
//!
//! | module | what |
//! |---|---|
//! | `refinement` | the public parameters of a second wave's task, and the vector that they make of a record |
//! | `signed_cap` | the mechanism that randomizes this vector |
//! | `sums` | the cross block that a second wave's reports give |
//! | `clipping` | weights and clips, and what a clip leaves |
//! | `recovery` | the task that follows from a first wave, and the components of both waves |
//! | `prediction` | the error of two waves, and whether they pay |
//!
//! Tasks are made of the first two, which know nothing of the others.

mod clipping;
mod prediction;
mod recovery;
mod refinement;
mod signed_cap;
mod sums;

pub use prediction::{TwoWaves, WaveRefusal, Waves};
pub use recovery::{
    FirstWave, FoundErrors, OF_FIRST_WAVE, PublicSample, RefineError, RefinedFacts, SamplePlan, SecondTask,
    refined_answer, refinement_of,
};
pub use refinement::{MAX_DIRECTIONS, Refinement, RefinementError};
pub use signed_cap::SignedCap;
pub use sums::SecondWave;
