//! Principal components of data that never leaves its owner's device.

