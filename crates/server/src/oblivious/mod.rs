//! Reports that come through a relay, as Oblivious HTTP (RFC 9458): sealed to the aggregator with HPKE (RFC 9180).
//!
//! The relay sees addresses, and only sealed bytes. The aggregator opens those, and sees only the relay's address. A
//! sealed request is
//!
//! ```text
//! key id (1 byte) | KEM, KDF, AEAD (2 bytes each) | ephemeral key (65 bytes) | binary HTTP, encrypted | tag (16 bytes)
//! ```
//!
//! for DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM, which every browser has. The binary HTTP (RFC 9292) in
//! it is `POST /tasks/{id}/reports` with one report, padded with zeros to a power of two of at least 256 bytes.

mod inner;
mod keys;
mod sealing;

use ohttp::SymmetricSuite;
use ohttp::hpke::{Aead, Kdf, Kem};

pub use self::inner::is_for_a_gateway;
pub(super) use self::inner::{Inner, answer};
pub(super) use self::keys::GatewayKeys;
pub use self::sealing::{SealError, SealingKey, sealed_length};

/// The media types of the standard.
pub(super) const KEYS: &str = "application/ohttp-keys";
pub(super) const REQUEST: &str = "message/ohttp-req";
pub(super) const RESPONSE: &str = "message/ohttp-res";

/// Where gateways are (RFC 9540): GET has the keys, and POST is the gateway.
pub(super) const GATEWAY: &str = "/.well-known/ohttp-gateway";

const KEM: Kem = Kem::P256Sha256;
const SUITE: SymmetricSuite = SymmetricSuite::new(Kdf::HkdfSha256, Aead::Aes128Gcm);

/// Pads binary HTTP with zeros to the next power of two, this one at least.
fn pad(bytes: &mut Vec<u8>, shortest: usize) {
    bytes.resize(bytes.len().next_power_of_two().max(shortest), 0);
}
