//! Addresses to listen on, and ranges of addresses, in the operators' notation.
//!
//! The crate `ipnet` would only save the mask: it reads no single address, silently keeps bits after the prefix, and
//! does not know an IPv4 address in its IPv6 form.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use crate::problem::excerpt;

/// Reads an address and a port to listen on. `localhost` is 127.0.0.1, where clients that know only the name look too.
/// Other names are not looked up: an operator's choice is not the network's.
///
/// # Errors
/// The text, and what it should be.
pub fn socket_address(text: &str) -> Result<SocketAddr, String> {
    let named = text.rsplit_once(':').filter(|(host, _)| host.eq_ignore_ascii_case("localhost"));
    let local = named.map(|(_, port)| format!("{}:{port}", Ipv4Addr::LOCALHOST));
    local.as_deref().unwrap_or(text).parse().map_err(|_| {
        let text = excerpt(text);
        format!("'{text}' is not a socket address: give an address and a port, as in 127.0.0.1:8080 or localhost:8080")
    })
}

/// The addresses that share their first bits: `10.0.0.0/8`, `2001:db8::/32`, or one address alone.
///
/// ```
/// use ldp_pca_server::AddressRange;
/// let range: AddressRange = "192.168.4.0/22".parse()?;
/// assert!(range.contains("192.168.7.255".parse().unwrap()) && !range.contains("192.168.8.0".parse().unwrap()));
/// assert!("192.168.4.0/33".parse::<AddressRange>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    /// The first address, as 128 bits; IPv4 addresses are mapped into IPv6.
    first: u128,
    /// How many of the 128 bits all addresses share.
    shared: u32,
}

impl AddressRange {
    /// Whether the address is one of them.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        (bits(address) ^ self.first) & mask(self.shared) == 0
    }

    /// The range that an address is in, which need not be its first.
    pub(crate) fn around(text: &str) -> Option<Self> {
        read(text).map(|(address, shared)| Self { first: address & mask(shared), shared })
    }
}

impl FromStr for AddressRange {
    /// The text, and what it should be.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match read(text) {
            // Bits after the prefix are more likely a mistake than intended.
            Some((first, shared)) if first & !mask(shared) == 0 => Ok(Self { first, shared }),
            _ => Err(format!(
                "'{}' is not a range of addresses: write an address, or the first address and the number of bits, as \
                 in 10.0.0.0/8 or 2001:db8::/32",
                excerpt(text)
            )),
        }
    }
}

/// An address as 128 bits, and how many of them it shares with the others of its range.
fn read(text: &str) -> Option<(u128, u32)> {
    let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.parse().ok()?;
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let length = length.map_or(Ok(longest), str::parse).ok().filter(|length| *length <= longest)?;
    Some((bits(address), length + (128 - longest)))
}

/// The address as 128 bits, IPv4 mapped into IPv6: a socket for both may report either form.
pub(crate) fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn mask(shared: u32) -> u128 {
    u128::MAX.checked_shl(128 - shared).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_the_addresses_that_share_its_bits_in_either_form() {
        let holds =
            |range: &str, address: &str| range.parse::<AddressRange>().unwrap().contains(address.parse().unwrap());
        assert!(holds("10.0.0.0/8", "10.255.0.1") && !holds("10.0.0.0/8", "11.0.0.0"));
        assert!(holds("10.0.0.0/8", "::ffff:10.1.2.3"), "the same address on a socket for both families");
        assert!(holds("127.0.0.1", "127.0.0.1") && !holds("127.0.0.1", "127.0.0.2"));
        assert!(holds("0.0.0.0/0", "255.255.255.255") && !holds("0.0.0.0/0", "2001:db8::1"));
        assert!(holds("::/0", "2001:db8::1") && holds("::/0", "10.0.0.1"));
        assert!(holds("2001:db8::/32", "2001:db8:ffff::") && !holds("2001:db8::/32", "2001:db9::"));
    }

    #[test]
    fn an_address_to_listen_on_may_be_localhost_and_no_other_name() {
        for (text, expected) in [
            ("localhost:8080", "127.0.0.1:8080"),
            ("LocalHost:0", "127.0.0.1:0"),
            ("0.0.0.0:443", "0.0.0.0:443"),
            ("[::1]:8080", "[::1]:8080"),
        ] {
            assert_eq!(socket_address(text).unwrap().to_string(), expected);
        }
        for text in
            ["", "localhost", "localhost:", "localhost:65536", "localhost:+80", "example.org:80", "8080", "::1:80"]
        {
            let error = socket_address(text).unwrap_err();
            assert!(error.starts_with(&format!("'{text}'")) && error.contains("localhost:8080"), "{error}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused_by_its_text() {
        for text in ["", "10.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "10.0.0.1/8", "localhost"] {
            let error = text.parse::<AddressRange>().unwrap_err();
            assert!(error.starts_with(&format!("'{text}'")), "{error}");
        }
    }
}
