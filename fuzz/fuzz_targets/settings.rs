//! Any text is the settings of a server, or of a task, or an error with its place; settings of a task survive their
//! JSON.
#![no_main]

use ldp_pca_cli::serve::parse_settings;
use ldp_pca_server::TaskSettings;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(problem) = parse_settings(text) {
        assert!(problem.starts_with("line "), "{problem}");
    }
    if let Ok(settings) = serde_json::from_str::<TaskSettings>(text) {
        let written = serde_json::to_string(&settings).expect("settings can be written");
        assert_eq!(serde_json::from_str::<TaskSettings>(&written).expect("what was written is read again"), settings);
    }
});
