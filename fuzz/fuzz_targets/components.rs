//! Any text is components or an error; their text is JSON to others too, and their canonical JSON is the same again.
#![no_main]

use ldp_pca::components::PublishedComponents;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(components) = PublishedComponents::from_json(text) else { return };
    serde_json::from_str::<serde_json::Value>(text).expect("components are JSON");
    let canonical = components.to_json();
    let again = PublishedComponents::from_json(&canonical).expect("the canonical form of components is components");
    assert_eq!(again, components);
    assert_eq!(again.to_json(), canonical);
    let features = components.schema().encode_numbers(&vec![1.0; components.schema().columns().len()]);
    assert_eq!(components.scores(&features).expect("the schema's own features").len(), components.rank());
});
