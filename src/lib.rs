//! Principal components of data that never leaves its owner's device.

#[cfg(all(feature = "js", target_family = "wasm", target_os = "unknown"))]
pub mod js;
