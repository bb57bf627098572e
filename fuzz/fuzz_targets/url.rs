//! Any text is the address of a server, with the host and the port that are written in it, or an error that has no
//! password.
#![no_main]

use ldp_pca_server::base_url;
use libfuzzer_sys::fuzz_target;

const SECRET: &str = "s3cret-pass-word";

fuzz_target!(|text: &str| {
    if let Ok(url) = base_url(text) {
        assert_eq!(base_url(&url).as_deref(), Ok(&*url));
        let (scheme, rest) = url.split_once("://").expect("an address has a scheme");
        let asked = rest.split('/').next().unwrap_or_default();
        let written = text.split_once("://").map_or(text, |(_, rest)| rest).to_ascii_lowercase();
        let after = written.strip_prefix(asked).expect("the host and the port are written");
        let after = after.strip_prefix(if scheme == "https" { ":443" } else { ":80" }).unwrap_or(after);
        assert!(after.is_empty() || after.starts_with('/'), "'{text}' is read as {url}");
        assert!(!url.contains(['@', '?', '#', '\\', '%']) || rest.contains('/'), "'{text}' is read as {url}");
    }
    if !text.contains("s3cret") {
        for with_password in [format!("http://user:{SECRET}@{text}"), format!("{SECRET}@{text}")] {
            let error = base_url(&with_password).expect_err("a password is refused").to_string();
            assert!(!error.contains("s3cret"), "{error}");
            assert!(!error.chars().any(char::is_control), "{error:?}");
        }
    }
});
