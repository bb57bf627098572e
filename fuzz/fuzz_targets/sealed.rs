//! Any bytes are the keys of a gateway or an error, and what is sealed to such keys has one length and one header. Any
//! bytes are a request for a gateway, or not.
#![no_main]

use ldp_pca::task::TaskDigest;
use ldp_pca_server::{SealingKey, is_for_a_gateway, sealed_length};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(key) = SealingKey::read(bytes) {
        let sealed = key.seal(TaskDigest::new([7; 32]), &[1; 35]).expect("a key that was read can be sealed to");
        assert_eq!(sealed.len(), sealed_length(256));
        assert!(sealed.starts_with(&key.header()));
    }
    let _ = is_for_a_gateway(bytes);
});
