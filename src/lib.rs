//! Principal components of data that never leaves its owner's device.

pub mod aggregate;
pub mod covariance;
pub mod error;
pub mod linalg;
pub mod mechanism;
pub mod privacy;
pub mod record;
pub mod recovery;
pub mod report;
pub mod sampling;
pub mod schema;
#[cfg(all(feature = "server", not(target_family = "wasm")))]
pub mod server;
pub mod subspace;
pub mod task;
