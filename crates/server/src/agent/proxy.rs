//! The proxy that the environment names for an address. Nobody connects past it: one that cannot be used is an error.

use std::net::IpAddr;

use percent_encoding::percent_decode_str;
use ureq::{Proxy, ProxyProtocol};
use url::{Host, Url};

use super::address::parse;
use crate::config::AddressRange;

/// The variables for each scheme: its own, that of all, and the other's. An address without a proxy of its own goes
/// through the one that is named for others.
const HTTP: [&str; 3] = ["http_proxy", "all_proxy", "https_proxy"];
const HTTPS: [&str; 3] = ["https_proxy", "all_proxy", "http_proxy"];

/// The proxy for this address; `read` gives the value of a variable.
///
/// # Errors
/// The variable, what is wrong with the proxy that it names, and the remedy.
pub(super) fn of(url: &Url, read: impl Fn(&str) -> Option<String>) -> Result<Option<Proxy>, String> {
    let value = |name: &str| {
        let names = [name.to_owned(), name.to_uppercase()];
        names.into_iter().find_map(|name| Some((read(&name).filter(|text| !text.is_empty())?, name)))
    };
    let exceptions = value("no_proxy").map(|(text, _)| text).unwrap_or_default();
    if exceptions.split(|letter: char| letter == ',' || letter.is_whitespace()).any(|entry| excepts(entry, url)) {
        return Ok(None);
    }
    let names = if url.scheme() == "https" { HTTPS } else { HTTP };
    let Some((text, name)) = names.into_iter().find_map(value) else { return Ok(None) };
    proxy(&text).map(Some).map_err(|problem| {
        format!(
            "the variable {name} names a proxy that cannot be used: {problem}; name an HTTP proxy, as in \
             http://proxy:3128, or remove the variable to connect without one"
        )
    })
}

/// Reads the address of a proxy, maybe with a user and a password before it.
fn proxy(text: &str) -> Result<Proxy, String> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    if path.contains('@') || (user.is_some() && scheme.contains(':')) {
        return Err("its user or password has '/', '?' or '#': write %2F, %3F or %23".to_owned());
    }
    let url = parse(&format!("{scheme}://{host}{path}")).map_err(|error| error.to_string())?;
    if url.path() != "/" {
        return Err(format!("'{url}' has a path"));
    }
    let protocol = if url.scheme() == "https" { ProxyProtocol::Https } else { ProxyProtocol::Http };
    let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
    let mut proxy = Proxy::builder(protocol).host(host).port(port);
    if let Some(user) = user {
        let decoded = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        let (name, password) = user.split_once(':').unwrap_or((user, ""));
        proxy = proxy.username(&decoded(name)).password(&decoded(password));
    }
    proxy.build().map_err(|error| format!("'{url}': {error}"))
}

/// Whether an entry of `NO_PROXY` holds for this address: `*`, a name, which stands for those below it too, `.name` for
/// those alone, an address or a network, each maybe with a port.
fn excepts(entry: &str, url: &Url) -> bool {
    let entry = entry.trim().to_ascii_lowercase();
    let (name, port) = match entry.rsplit_once(':') {
        // An IPv6 address without brackets has no port.
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, Some(port)),
        _ => (&*entry, None),
    };
    if name.is_empty() || port.is_some_and(|port| port.parse().ok() != url.port_or_known_default()) {
        return false;
    }
    let holds = |address: IpAddr| {
        let range = AddressRange::around(name.trim_matches(['[', ']']));
        // Ranges know IPv4 addresses as IPv6 ones, too.
        name.contains(':') == address.is_ipv6() && range.is_some_and(|range| range.contains(address))
    };
    let starts = |host: &str| name.strip_suffix('*').is_some_and(|start| host.starts_with(start));
    match url.host() {
        Some(Host::Ipv4(address)) => holds(address.into()) || starts(&address.to_string()),
        Some(Host::Ipv6(address)) => holds(address.into()) || starts(&address.to_string()),
        Some(Host::Domain(host)) => {
            let below = name.strip_prefix('*').unwrap_or(name);
            let last = below.trim_start_matches('.');
            starts(host) || host == below || (!last.is_empty() && host.ends_with(&format!(".{last}")))
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The proxy with these variables, as host, port, user and password.
    fn found(url: &str, variables: &[(&str, &str)]) -> Result<Option<(String, u16, String, String)>, String> {
        let read = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
        let proxy = of(&parse(url).unwrap(), read)?;
        Ok(proxy.map(|proxy| {
            let [user, password] = [proxy.username(), proxy.password()].map(|part| part.unwrap_or_default().to_owned());
            (proxy.host().to_owned(), proxy.port(), user, password)
        }))
    }

    fn port(variables: &[(&str, &str)]) -> Option<u16> {
        found("http://aggregator.example:8080", variables).unwrap().map(|(_, port, ..)| port)
    }

    #[test]
    fn a_proxy_comes_from_the_variable_of_the_scheme_first() {
        let (http, https, all) = (("HTTP_PROXY", "p:1"), ("HTTPS_PROXY", "p:2"), ("ALL_PROXY", "p:3"));
        assert_eq!(port(&[]), None);
        assert_eq!(port(&[("HTTP_PROXY", ""), ("NO_PROXY", "")]), None);
        for (variables, expected) in [
            (&[https, all, http][..], 1),
            (&[https, all], 3),
            (&[https], 2),
            (&[http, ("http_proxy", "p:4")], 4),
            (&[http, ("http_proxy", "")], 1),
            (&[("http_proxy", "http://p")], 80),
        ] {
            assert_eq!(port(variables), Some(expected), "{variables:?}");
        }
        let with_user = [("ALL_PROXY", "http://us%40er:p%3Aw@rd@[::1]:3128/")];
        let expected = ("[::1]".to_owned(), 3128, "us@er".to_owned(), "p:w@rd".to_owned());
        assert_eq!(found("http://aggregator.example", &with_user), Ok(Some(expected)));
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_an_error_without_its_password() {
        for text in [
            "socks5://user:secret@127.0.0.1:9050",
            "socks://127.0.0.1",
            "socks4a://127.0.0.1:9050",
            "socks5h://127.0.0.1:9050",
            "ftp://127.0.0.1",
            "http://",
            "http://127.0.0.1:99999",
            "user:secret@127.0.0.1:8O80",
            "http://user:secret@127.0.0.1:80/path",
            "http://127.0.0.1:80?secret",
            "http://user:pa/secret@127.0.0.1:80",
            "user:?secret@127.0.0.1:80",
            "user:#secret@127.0.0.1:80",
            "user:secret://more@127.0.0.1:80",
            "0x7f.1:80",
            "127.0.0.1:",
            "a b",
            " ",
        ] {
            for name in ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"] {
                let error = found("http://aggregator.example", &[(name, text)]).unwrap_err();
                assert!(error.contains(name) && error.contains("remove the variable"), "{error}");
                assert!(!error.contains("secret"), "{error}");
                let except = [(name, text), ("no_proxy", "aggregator.example")];
                assert_eq!(found("http://aggregator.example", &except), Ok(None));
            }
        }
        let secure = found("http://aggregator.example", &[("HTTP_PROXY", "https://proxy.example")]);
        assert_eq!(secure.is_ok(), cfg!(feature = "tls"), "{secure:?}");
    }

    #[test]
    fn exceptions_are_names_networks_and_ports() {
        let is_direct = |url: &str, exceptions: &str| {
            found(url, &[("ALL_PROXY", "proxy:1"), ("NO_PROXY", exceptions)]).unwrap().is_none()
        };
        let all: &[(bool, &str, &[&str])] = &[
            (true, "http://a.example", &["*", "other.example, A.EXAMPLE"]),
            (true, "http://b.a.example", &["a.example", ".a.example", "*.a.example:80"]),
            (true, "http://a.example:8080", &["a.example:8080"]),
            (true, "http://127.0.0.1:18081", &["127.0.0.0/8", "127.0.0.1/8", "127.0.0.1:18081", "localhost 127.0.0.1"]),
            (true, "http://127.0.0.1:18081", &["localhost\t\n127.0.0.1"]),
            (true, "http://192.168.4.1", &["192.168.*"]),
            (true, "http://[fd00::1]", &["::/0", "fd00::1", "[fd00::1]"]),
            (true, "http://[fd00::1]:80", &["fd00::/8"]),
            (true, "http://[fd00::1]:81", &["[fd00::1]:81"]),
            (false, "http://a.example", &["", ",:80, ,/8,:", ".a.example", "*.a.example", "a.example:x"]),
            (false, "http://ba.example", &["a.example"]),
            (false, "http://a.example.evil.example", &["a.example"]),
            (false, "http://a.example:8080", &["a.example:80"]),
            (false, "http://a.example.", &[".,..,*."]),
            (false, "http://127.0.0.1:18081", &["127.0.0.1:18082"]),
            (false, "http://127.0.0.1", &["0.0.1", "10.0.0.0/8,127.0.0.0/33,localhost", "::/0,::ffff:0:0/96"]),
            (false, "http://[fd00::1]", &["fe80::/10"]),
            (false, "http://[::ffff:7f00:1]", &["127.0.0.0/8"]),
        ];
        for (expected, url, exceptions) in all {
            for exceptions in *exceptions {
                assert_eq!(is_direct(url, exceptions), *expected, "{url} {exceptions}");
            }
        }
    }
}
