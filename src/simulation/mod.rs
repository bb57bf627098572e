//! What to expect before anybody is asked for data: synthetic populations through the real mechanisms.

mod population;
mod trial;

pub use population::{PopulationError, SpikedModel};
pub use trial::{SimulationError, Trial, TrialResult};
