//! The client that a request counts for.

use std::net::{IpAddr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::HeaderName;

use crate::config::{AddressRange, bits};

/// The header in which a proxy names whom it asks for.
pub(in super::super) const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// A client for limits: an IPv4 address, or the /64 network of an IPv6 one, since a household has a whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Client(u128);

impl From<IpAddr> for Client {
    fn from(address: IpAddr) -> Self {
        let bits = bits(address);
        Self(if bits >> 32 == 0xffff { bits } else { bits & !u128::from(u64::MAX) })
    }
}

impl Client {
    /// The IPv4 address, or the first address of the IPv6 network.
    pub(in super::super) fn address(self) -> IpAddr {
        IpAddr::from(self.0.to_be_bytes()).to_canonical()
    }
}

/// Whether this address is that of a trusted proxy.
pub(in super::super) fn is_proxy(peer: IpAddr, trusted: &[AddressRange]) -> bool {
    trusted.iter().any(|range| range.contains(peer))
}

/// The client's address: that of the connection, or the one that a trusted proxy gives. Each proxy appends its own
/// client to `X-Forwarded-For`, and the client may have invented what is before it: the last address that is not a
/// trusted proxy's counts.
pub(in super::super) fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[AddressRange]) -> IpAddr {
    let is_trusted = |address: IpAddr| is_proxy(address, trusted);
    let mut client = peer;
    if !is_trusted(peer) {
        return client;
    }
    let lines: Vec<&str> = headers.get_all(FORWARDED_FOR).iter().map(|line| line.to_str().unwrap_or("?")).collect();
    for name in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
        // If a chain cannot be read to its start, the part read so far counts.
        let Some(address) = parse(name.trim()) else { break };
        client = address;
        if !is_trusted(address) {
            break;
        }
    }
    client
}

/// An address, with or without a port, an IPv6 one in brackets or not.
fn parse(name: &str) -> Option<IpAddr> {
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    bare.parse().ok().or_else(|| name.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        let trusted: Vec<AddressRange> = trusted.iter().map(|range| range.parse().unwrap()).collect();
        client_address(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn only_a_trusted_proxy_speaks_for_others() {
        assert_eq!(client("192.0.2.1", &["198.51.100.7"], &[]), "192.0.2.1");
        assert_eq!(client("192.0.2.1", &["198.51.100.7"], &["10.0.0.0/8"]), "192.0.2.1");
        assert_eq!(client("10.0.0.1", &["198.51.100.7"], &["10.0.0.0/8"]), "198.51.100.7");
        assert_eq!(client("10.0.0.1", &["[2001:db8::7]:443"], &["10.0.0.0/8"]), "2001:db8::7");
        assert_eq!(client("10.0.0.1", &["198.51.100.7:80"], &["10.0.0.0/8"]), "198.51.100.7");
    }

    #[test]
    fn what_a_client_puts_before_its_own_address_is_not_believed() {
        let trusted = ["10.0.0.0/8"];
        assert_eq!(client("10.0.0.1", &["203.0.113.9, 198.51.100.7"], &trusted), "198.51.100.7");
        assert_eq!(client("10.0.0.1", &["203.0.113.9", "198.51.100.7, 10.0.0.2"], &trusted), "198.51.100.7");
        assert_eq!(client("10.0.0.1", &["10.0.0.3, 10.0.0.2"], &trusted), "10.0.0.3");
        assert_eq!(client("10.0.0.1", &["203.0.113.9, unknown"], &trusted), "10.0.0.1");
        assert_eq!(client("10.0.0.1", &["203.0.113.9, unknown, 10.0.0.2"], &trusted), "10.0.0.2");
        assert_eq!(client("10.0.0.1", &[], &trusted), "10.0.0.1");
    }

    #[test]
    fn a_household_is_one_client() {
        let client = |text: &str| Client::from(text.parse::<IpAddr>().unwrap());
        for (text, address) in [("192.0.2.1", "192.0.2.1"), ("2001:db8::1", "2001:db8::")] {
            assert_eq!(client(text).address().to_string(), address);
        }
        assert_eq!(client("192.0.2.1"), client("::ffff:192.0.2.1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:0:0:2"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
    }
}
