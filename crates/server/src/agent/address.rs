//! The address of a server, as people write it. What is asked is the host and the port that were written: a text that
//! browsers read as another address, as `http://0x7f.1` or `http:\\host`, is refused.

use url::{Host, ParseError, Url};

/// The error of a text that is not the address of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{shown}' {problem}")]
pub struct UrlError {
    /// The text, without a password or a query, which may be secret.
    pub shown: String,
    problem: String,
}

/// Reads the address of an aggregator or a relay: `http://` or `https://`, a host, and perhaps a port and a path. One
/// of this machine needs no `http://`. What is returned has it, and no slash at its end.
///
/// ```
/// use ldp_pca_server::base_url;
/// assert_eq!(base_url("localhost:8080")?, "http://localhost:8080");
/// assert_eq!(base_url("http://reports.example/ldp/")?, "http://reports.example/ldp");
/// assert!(base_url("http://localhost:99999").is_err() && base_url("http://user:password@localhost").is_err());
/// # Ok::<(), ldp_pca_server::UrlError>(())
/// ```
///
/// # Errors
/// [`UrlError`] with the remedy.
pub fn base_url(text: &str) -> Result<String, UrlError> {
    let url = parse(text)?;
    if !text.contains("://") && (text.contains('/') || !is_this_machine(&url)) {
        return Err(refused(text, "is not an aggregator's address: give http:// or https:// before it"));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Reads an address, with `http://` or without it, that stands for what is written.
pub(super) fn parse(text: &str) -> Result<Url, UrlError> {
    let refuse = |problem: &str| Err(refused(text, problem));
    if text.is_empty() {
        return refuse("is empty: give http://, a host and perhaps a port");
    }
    let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let (scheme, rest) = whole.split_once("://").unwrap_or_default();
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return refuse("begins with neither http:// nor https://");
    }
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    if rest.contains('@') {
        return refuse("has a user or a password before its '@': leave them out (in a path, write %40)");
    }
    if rest.contains(['?', '#']) {
        return refuse("has a query or a fragment: leave out what begins with its '?' or '#'");
    }
    if authority.contains('%') {
        return refuse("has a zone or an escape in its host: give a name or an address without '%'");
    }
    let url = match Url::parse(&whole) {
        Err(_)
            if authority.matches(':').count() > 1
                && authority.bytes().all(|byte| byte == b':' || byte.is_ascii_hexdigit()) =>
        {
            return refuse("needs brackets around an IPv6 address, as in [::1]:8080");
        }
        Ok(_) if authority.ends_with(':') => return refuse("has no port (0 to 65535) after its colon"),
        Err(ParseError::InvalidPort) => return refuse("has something after its colon that is not a port (0 to 65535)"),
        Err(error) => return refuse(&format!("is not an address: {error}")),
        Ok(url) => url,
    };
    // The default port may be written or not.
    let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
    let with_port = format!("{}://{host}:{port}{}", url.scheme(), url.path());
    let is_written = |form: &str| form.trim_end_matches('/').eq_ignore_ascii_case(whole.trim_end_matches('/'));
    if !is_written(url.as_str()) && !is_written(&with_port) {
        return refuse(&format!("stands for {url}: give that, if it is meant"));
    }
    let is_of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_asked = !matches!(url.host(), Some(Host::Domain(name)) if !name.bytes().all(is_of_a_name));
    if !is_asked || url.as_str().parse::<ureq::http::Uri>().is_err() {
        return refuse("is not an address: its host has other characters than a name may have, or it is too long");
    }
    if url.scheme() == "https" && !cfg!(feature = "tls") {
        return refuse(
            "needs a command that was built with the feature tls (cargo install --features tls): or give the address \
             of the near end of a tunnel",
        );
    }
    Ok(url)
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn refused(text: &str, problem: &str) -> UrlError {
    let scheme = text.find("://").filter(|place| !text[..*place].contains('@'));
    let text = match text.rfind('@') {
        Some(end) => format!("{}…{}", &text[..scheme.map_or(0, |place| place + 3)], &text[end..]),
        None => text.to_owned(),
    };
    let (text, rest) = text.split_at(text.find(['?', '#']).map_or(text.len(), |place| place + 1));
    let shown = text.chars().take(200).flat_map(char::escape_debug).collect::<String>();
    UrlError { shown: if rest.is_empty() { shown } else { shown + "…" }, problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use ureq::http::Uri;

    use super::*;

    const SECRET: &str = "pass-word";

    /// Parts of an address, each with whether an address may have it.
    type Parts<'a> = &'a [(bool, &'a [&'a str])];

    const SCHEMES: Parts = &[
        (true, &["http://", "HTTP://", ""]),
        (cfg!(feature = "tls"), &["https://"]),
        (false, &["ftp://", "httpx://", "http:", "http:/", "http:\\\\", "//", "/", " http://", "\nhttp://", "://"]),
    ];
    const USERS: Parts = &[
        (true, &[""]),
        (false, &["@", "pass-word@", "user:pass-word@", ":pass-word@", "user:p@pass-word@", "a/pass-word@"]),
    ];
    const HOSTS: Parts = &[
        (true, &["127.0.0.1", "LocalHost", "[::1]", "aggregator.example", "a_b.example.", "xn--bcher-kva.example"]),
        (false, &["", "0x7f.1", "2130706433", "127.1", "127.0.0.01", "127.0.0.1.", "127.0.0.256", "１27.0.0.1"]),
        (false, &["[fe80::1%25eth0]", "[fe80::1%eth0]", "fe80::1%eth0", "fe80::1", "::1", "[::1", "[0::1]", "[::1]x"]),
        (false, &["bücher.example", "a b", "a\tb", "a\\b", "a\u{202e}b", "127.0.0.1\0", "%31", "a%2eb", "a%00"]),
        (false, &["a\"b", "a{b}", "a!b"]),
    ];
    const PORTS: Parts = &[
        (true, &["", ":0", ":80", ":443", ":8080", ":65535"]),
        (false, &[":", ":65536", ":99999", ":18446744073709551696", ":8O80", ":-1", ":+80", ":0x50", ":80:80"]),
        (false, &[":080", ": 80", ":80 ", ":8\t0", ":８０", ":80;"]),
    ];
    const PATHS: Parts = &[
        (true, &["", "/", "/under", "/Under/a%20b/", "/%40a:1"]),
        (false, &["/a/../b", "/.", "/%2e%2e/b", "/a b", "/ü", "\\a", "/a\\b", "/\u{1b}[31m"]),
        (false, &["/@a", "?a=b", "/?", "#a", "/a#"]),
    ];

    fn each<'a>(parts: Parts<'a>) -> impl Iterator<Item = (bool, &'a str)> {
        parts.iter().flat_map(|(good, texts)| texts.iter().map(move |text| (*good, *text)))
    }

    #[test]
    fn who_is_asked_was_written_and_no_refusal_has_a_secret() {
        let is_local = |host: &str| ["127.0.0.1", "LocalHost", "[::1]"].contains(&host);
        for (good_scheme, scheme) in each(SCHEMES) {
            for (good_user, user) in each(USERS) {
                for (good_host, host) in each(HOSTS) {
                    for (good_port, port) in each(PORTS) {
                        for (good_path, path) in each(PATHS) {
                            let all = [good_scheme, good_user, good_host, good_port, good_path];
                            // A path after half a scheme may be a host.
                            if all.iter().filter(|good| !**good).count() > 2 || (!good_scheme && host.is_empty()) {
                                continue;
                            }
                            let text = format!("{scheme}{user}{host}{port}{path}");
                            let is_whole = !scheme.is_empty() || (is_local(host) && path.is_empty());
                            match base_url(&text) {
                                Ok(url) => {
                                    assert!(all.iter().all(|good| *good) && is_whole, "{text:?} is read as {url}");
                                    let asked: Uri = url.parse().unwrap();
                                    assert!(asked.host().unwrap().eq_ignore_ascii_case(host), "{text}");
                                    let default = if url.starts_with("https") { 443 } else { 80 };
                                    let written = port.strip_prefix(':').map_or(default, |port| port.parse().unwrap());
                                    assert_eq!(asked.port_u16().unwrap_or(default), written, "{text}");
                                    assert_eq!(asked.path().trim_end_matches('/'), path.trim_end_matches('/'));
                                    assert_eq!(base_url(&url), Ok(url.clone()));
                                }
                                Err(error) => {
                                    assert!(!(all.iter().all(|good| *good) && is_whole), "{error}");
                                    let said = error.to_string();
                                    assert!(!said.contains(SECRET), "{said}");
                                    assert!(!said.chars().any(char::is_control), "{said:?}");
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_refused_is_named_with_a_remedy_that_works() {
        for (text, expected) in [
            ("localhost:8080", "http://localhost:8080"),
            ("LOCALHOST:1", "http://localhost:1"),
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("http://localhost:8080/", "http://localhost:8080"),
            ("http://aggregator.example:80/under/", "http://aggregator.example/under"),
        ] {
            assert_eq!(base_url(text).as_deref(), Ok(expected));
        }
        let secure = base_url("https://aggregator.example");
        assert_eq!(secure.is_ok(), cfg!(feature = "tls"), "{secure:?}");
        assert!(secure.err().is_none_or(|problem| problem.to_string().contains("--features tls")));
        for text in ["", "aggregator.example", "10.0.0.1:8080", "ftp://localhost", "/tasks", "localhost:8080/x", "a b"]
        {
            let problem = base_url(text).unwrap_err().to_string();
            assert!(problem.starts_with(&format!("'{text}'")), "{problem}");
        }
        for (text, said) in [
            ("http://localhost:99999", "not a port (0 to 65535)"),
            ("localhost:", "no port (0 to 65535)"),
            ("http://user:secret@localhost:8080/?a", "'http://…@localhost:8080/?…' has a user or a password"),
            ("http://localhost/?token=secret", "'http://localhost/?…' has a query"),
            ("secret@http://user:secret@localhost", "'…@localhost' begins with neither"),
            ("[fe80::1%25eth0]:8080", "has a zone"),
            ("fe80::1:8080", "brackets"),
            ("fd00::1", "brackets"),
            ("http:localhost:8080", "not a port"),
            ("localhost:1:1", "not a port"),
            ("", "is empty: give http://"),
            ("http://a{b}", "its host has other characters"),
            ("http://localhost/\u{1b}", "'http://localhost/\\u{1b}' stands for"),
        ] {
            let problem = base_url(text).unwrap_err().to_string();
            assert!(problem.contains(said), "{problem}");
        }
        for text in ["http://0x7f.1:8080", "http://bücher.example", " http://localhost", "http://localhost/a/../b"] {
            let problem = base_url(text).unwrap_err().to_string();
            let Some((_, meant)) = problem.split_once(" stands for ") else { continue };
            let meant = meant.strip_suffix(": give that, if it is meant").unwrap();
            assert!(base_url(meant).is_ok(), "{problem}");
        }
    }
}
