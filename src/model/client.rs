//! Clients as they are stored: never an address that could be read back.

use std::net::{IpAddr, Ipv6Addr};

/// Hex digits that are kept of the hash.
const DIGITS: usize = 32;

/// What is stored: a hash under a key that never leaves the database.
pub fn hashed(key: &[u8; 32], name: &[u8]) -> String {
    let hash = blake3::keyed_hash(key, &network(name)).to_hex();
    hash[..DIGITS].to_owned()
}

/// One household has 2^64 addresses of IPv6, so its network counts as one client.
fn network(name: &[u8]) -> Vec<u8> {
    let address = std::str::from_utf8(name).ok().and_then(|text| text.parse::<IpAddr>().ok());
    match address.map(|address| address.to_canonical()) {
        Some(IpAddr::V6(address)) => Ipv6Addr::from(u128::from(address) >> 64 << 64).to_string().into_bytes(),
        Some(address) => address.to_string().into_bytes(),
        None => name.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_told_apart_but_not_told() {
        let hash = |name: &str| hashed(&[7; 32], name.as_bytes());
        assert_eq!(hash("192.0.2.1").len(), DIGITS);
        assert_ne!(hash("192.0.2.1"), hash("192.0.2.2"));
        assert_ne!(hash("192.0.2.1"), hashed(&[8; 32], b"192.0.2.1"));
        assert_eq!(hash("::ffff:192.0.2.1"), hash("192.0.2.1"));
        assert_eq!(hash("2001:db8::1"), hash("2001:db8:0:0:9::2"));
        assert_ne!(hash("2001:db8::1"), hash("2001:db8:0:1::1"));
        assert_ne!(hash("anna"), hash("Anna"));
    }
}
