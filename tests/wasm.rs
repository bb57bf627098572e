//! What only a browser can show: the library runs there, on the browser's own entropy.
#![cfg(target_family = "wasm")]

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn two_blocks_of_entropy_differ() {
    let mut blocks = [[0u8; 32]; 2];
    for block in &mut blocks {
        getrandom::fill(block).expect("crypto.getRandomValues answers");
    }
    assert_ne!(blocks[0], blocks[1]);
    assert!(!blocks.contains(&[0; 32]));
}

/// `crypto.getRandomValues` refuses more than 65,536 bytes at once: a larger request has to be split, down to its last byte.
#[wasm_bindgen_test]
fn entropy_fills_requests_beyond_one_quota() {
    let mut bytes = vec![0u8; 3 * 65_536 + 32];
    getrandom::fill(&mut bytes).expect("crypto.getRandomValues answers");
    assert!(bytes.chunks(32).all(|block| block.iter().any(|&byte| byte != 0)));
}

#[wasm_bindgen_test]
fn version_is_that_of_the_crate() {
    assert_eq!(ldp_pca::js::version(), env!("CARGO_PKG_VERSION"));
}
