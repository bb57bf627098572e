//! Bindings for browsers and other JavaScript hosts: they translate, and never compute.

use wasm_bindgen::prelude::wasm_bindgen;

/// The version of this library.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
