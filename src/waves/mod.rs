//! Second waves: other people report what a first wave left open, and the sums of both give one estimate
//! (docs/refinement.md).
//!
//! | module | what |
//! |---|---|
//! | `refinement` | the public parameters of a second wave's task, and the vector that they make of a record |
//! | `signed_cap` | the mechanism that randomizes this vector |
//! | `sums` | the cross block that a second wave's reports give |
//! | `design`, `clipping` | weights and clips, and what a clip leaves |
//! | `recovery` | the task that follows from a first wave, and the components of both waves |
//! | `prediction` | the error of two waves, and whether they pay |
//!
//! Tasks are made of the first two, which know nothing of the others.

mod clipping;
mod design;
mod prediction;
mod recovery;
mod refinement;
mod signed_cap;
mod sums;

pub use prediction::{TwoWaves, WaveRefusal, Waves};
pub use recovery::{
    FirstWave, FoundErrors, OF_FIRST_WAVE, PublicSample, RefineError, RefinedFacts, SamplePlan, SecondTask, SecondWave,
    WaveDesign, refined_answer, refinement_of,
};
pub use refinement::{MAX_DIRECTIONS, Refinement, RefinementError};
pub use signed_cap::SignedCap;
pub use sums::CrossBlock;
