//! Any text is a ledger or an error; what a ledger writes is the same ledger.
#![no_main]

use ldp_pca::ledger::Ledger;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(ledger) = Ledger::from_json(text) {
        let written = ledger.to_json();
        let again = Ledger::from_json(&written).expect("what a ledger writes is a ledger");
        assert_eq!(again.to_json(), written);
    }
});
