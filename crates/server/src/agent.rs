//! The client with which this program asks others over HTTP.

use std::time::Duration;

/// A client that keeps connections, and gives answers of any status. A request may take this long.
#[must_use]
pub fn agent(longest: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(longest));
    #[cfg(feature = "tls")]
    let config = config.tls_config(tls());
    config.build().into()
}

/// Trusts whom this machine trusts.
#[cfg(feature = "tls")]
fn tls() -> ureq::tls::TlsConfig {
    let provider = std::sync::Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ureq::tls::TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
    config.root_certs(ureq::tls::RootCerts::PlatformVerifier).build()
}
