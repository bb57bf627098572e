//! The client with which this program asks others over HTTP: at the address that was written, and through the proxy
//! that the environment names.

mod address;
mod proxy;

use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, InvalidData, UnexpectedEof};
use std::time::Duration;

use ureq::Proxy;
use ureq::http::Response;
use ureq::http::header::LOCATION;
use url::Url;

pub use self::address::{UrlError, base_url};

/// A client that keeps connections, follows no redirect, and gives answers of any status. A request may take this long.
/// Those to `url` go through the proxy that the environment names for it.
///
/// # Errors
/// `url` is none that [`base_url`] reads, or the proxy cannot be used: the problem with its remedy.
pub fn agent(longest: Duration, url: &str) -> Result<ureq::Agent, String> {
    let url = address::parse(url).map_err(|error| error.to_string())?;
    let read = |name: &str| std::env::var_os(name).map(|text| text.to_string_lossy().into_owned());
    Ok(through(proxy::of(&url, read)?, longest))
}

/// A client for what runs on this machine, which needs no proxy.
#[must_use]
pub fn local_agent(longest: Duration) -> ureq::Agent {
    through(None, longest)
}

fn through(proxy: Option<Proxy>, longest: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0);
    let config = config.proxy(proxy).timeout_global(Some(longest));
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

/// What a request to `url` failed at, for a message: `url`, the proxy before it, or one of the two.
#[must_use]
pub fn at_fault(agent: &ureq::Agent, url: &str, error: &ureq::Error) -> String {
    let Some(proxy) = agent.config().proxy() else { return url.to_owned() };
    let proxy = format!("the proxy {}:{} (HTTP_PROXY, HTTPS_PROXY or ALL_PROXY)", proxy.host(), proxy.port());
    let is_reached = match error {
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => false,
        ureq::Error::Io(error) => {
            matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | InvalidData | UnexpectedEof)
        }
        _ => true,
    };
    if is_reached { format!("{url} through {proxy}") } else { proxy }
}

/// That the answer at `url`, which ends in `path`, redirects, for a message with the address to give instead.
#[must_use]
pub fn redirect<T>(url: &str, path: &str, answer: &Response<T>) -> Option<String> {
    let remedy = "give the address of the server itself";
    let Some(target) = target(url, answer) else {
        return answer.status().is_redirection().then(|| format!("redirects: {remedy}"));
    };
    let path = path.split('?').next().unwrap_or(path);
    // A target that does not end so is of another site.
    let base = target.as_str().strip_suffix(path);
    Some(match base.filter(|base| !url.starts_with(&format!("{base}{path}"))) {
        Some(base) => format!("redirects to {target}: give the address {base}"),
        None => format!("redirects to {target}: {remedy}"),
    })
}

/// The start of a text from a server, with escapes in place of what a terminal would not print.
#[must_use]
pub fn printable(text: &str) -> String {
    let escaped = |letter: char| match letter {
        '\'' | '"' | '\\' => letter.to_string(),
        _ => letter.escape_debug().to_string(),
    };
    let mut letters = text.chars();
    let start: String = letters.by_ref().take(1000).map(escaped).collect();
    if letters.next().is_some() { start + "…" } else { start }
}

/// The address that the answer at `url` redirects to, without what may be secret in it.
pub(crate) fn target<T>(url: &str, answer: &Response<T>) -> Option<Url> {
    let location = answer.headers().get(LOCATION)?;
    if location.is_empty() || !answer.status().is_redirection() {
        return None;
    }
    let mut target = Url::parse(url).ok()?.join(location.to_str().ok()?).ok()?;
    // They only fail where there is no host.
    let _ = (target.set_username(""), target.set_password(None));
    target.set_query(None);
    target.set_fragment(None);
    matches!(target.scheme(), "http" | "https").then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_cut_and_has_no_control_characters() {
        assert_eq!(printable("it's \"ä\"\n\u{1b}[2J"), "it's \"ä\"\\n\\u{1b}[2J");
        assert_eq!(printable(&"a".repeat(1001)), "a".repeat(1000) + "…");
    }

    #[test]
    fn a_redirect_is_told_without_secrets_and_with_the_address_to_give() {
        let tell = |status: u16, location: &str| {
            let answer = Response::builder().status(status).header(LOCATION, location).body(()).unwrap();
            redirect("http://h:1/under/tasks/a/reports?b=c", "/tasks/a/reports?b=c", &answer)
        };
        for (location, target, remedy) in [
            ("https://h/under/tasks/a/reports", "https://h/under/tasks/a/reports", "address https://h/under"),
            ("https://user:pw@h:2/tasks/a/reports?b=c#d", "https://h:2/tasks/a/reports", "address https://h:2"),
            ("//other.example/", "http://other.example/", "of the server itself"),
            ("https://sso.example/login?next=x", "https://sso.example/login", "of the server itself"),
            ("/under/tasks/a/reports", "http://h:1/under/tasks/a/reports", "of the server itself"),
            ("reports/", "http://h:1/under/tasks/a/reports/", "of the server itself"),
        ] {
            let said = tell(308, location).unwrap();
            assert!(said.starts_with(&format!("redirects to {target}: give the address ")), "{said}");
            assert!(said.ends_with(remedy), "{said}");
        }
        assert_eq!(tell(200, "https://h/"), None);
        for nowhere in ["mailto:somebody", "https://h:99999/", ""] {
            assert_eq!(tell(301, nowhere).unwrap(), "redirects: give the address of the server itself");
        }
    }
}
