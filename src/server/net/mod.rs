//! Connections: who gets one, for how long, and how they end.

mod address;

pub use address::{AddressRange, AddressRangeError};
