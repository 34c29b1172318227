//! Clients as they are stored: never an address that could be read back. One rule for the command line and for CGI.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

/// Hex digits that are kept of the hash.
const DIGITS: usize = 32;

/// How a client's name that is not an address is stored (`client_names`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientNames {
    /// As a hash, like an address.
    #[default]
    Hashed,
    /// As it is, for a site whose names are no secret and whose admins want to read them.
    Plain,
}

/// What is stored for a client: of an address always a hash, of any other name what `names` says.
pub fn stored(key: &[u8; 32], name: &[u8], names: ClientNames) -> String {
    if names == ClientNames::Plain && address(name).is_none() {
        return String::from_utf8_lossy(name).into_owned();
    }
    hashed(key, name)
}

/// A hash under a key that never leaves the database.
pub fn hashed(key: &[u8; 32], name: &[u8]) -> String {
    let network = address(name).map_or_else(|| name.to_vec(), |address| network(address).to_string().into_bytes());
    blake3::keyed_hash(key, &network).to_hex()[..DIGITS].to_owned()
}

fn address(name: &[u8]) -> Option<IpAddr> {
    parse(std::str::from_utf8(name).ok()?)
}

/// An address as servers and proxies write it: perhaps in brackets, with a port behind it, or with the zone of a link.
pub fn parse(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let zoneless = || bare.split_once('%').and_then(|(address, _)| address.parse::<Ipv6Addr>().ok()).map(IpAddr::V6);
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    bare.parse().ok().or_else(with_port).or_else(zoneless)
}

/// One household has 2^64 addresses of IPv6, so its network counts as one client.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) >> 64 << 64).into(),
        IpAddr::V4(address) => address.into(),
    }
}

/// The addresses of proxies: `10.0.0.0/8`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// Bits that count.
    length: u8,
}

impl FromStr for Network {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().map_err(drop)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(most), |length| length.parse().map_err(drop))?;
        if length <= most { Ok(Self { address, length }) } else { Err(()) }
    }
}

impl Network {
    pub fn contains(&self, address: IpAddr) -> bool {
        let ours = self.address;
        let address = if ours.is_ipv4() { address.to_canonical() } else { address };
        match (ours, address) {
            (IpAddr::V4(ours), IpAddr::V4(other)) => {
                same_prefix(ours.to_bits().into(), other.to_bits().into(), 32, self.length)
            }
            (IpAddr::V6(ours), IpAddr::V6(other)) => same_prefix(ours.to_bits(), other.to_bits(), 128, self.length),
            _ => false,
        }
    }
}

fn same_prefix(one: u128, other: u128, bits: u8, length: u8) -> bool {
    (one ^ other).checked_shr(u32::from(bits - length)).unwrap_or(0) == 0
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
        for written in ["192.0.2.1:80", "192.0.2.1:4711"] {
            assert_eq!(hash(written), hash("192.0.2.1"));
        }
        for written in ["[2001:db8::1]", "[2001:db8::1]:443", "2001:db8::2%eth0"] {
            assert_eq!(hash(written), hash("2001:db8::1"), "{written}");
        }
        assert_ne!(hash("anna%eth0"), hash("anna"));
    }

    #[test]
    fn a_network_contains_its_addresses() {
        let has = |network: &str, address: &str| network.parse::<Network>().unwrap().contains(address.parse().unwrap());
        assert!(has("10.0.0.0/8", "10.200.3.4") && !has("10.0.0.0/8", "11.0.0.0") && has("0.0.0.0/0", "8.8.8.8"));
        assert!(has("10.1.2.3", "::ffff:10.1.2.3") && !has("10.1.2.3", "10.1.2.4") && has("::/0", "2001:db8::1"));
        assert!(has("2001:db8::/32", "2001:db8:1::2") && !has("2001:db8::/32", "2001:db9::") && has("::1", "::1"));
        for wrong in ["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "::/129", "proxy"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_address_is_never_stored_as_it_is() {
        let plain = |name: &str| stored(&[7; 32], name.as_bytes(), ClientNames::Plain);
        assert_eq!(plain("anna"), "anna");
        for address in ["192.0.2.1", " 192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "192.0.2.1:80", "fe80::1%eth0"] {
            assert_eq!(plain(address), hashed(&[7; 32], address.as_bytes()), "{address}");
            assert_eq!(plain(address).len(), DIGITS);
        }
        assert_eq!(stored(&[7; 32], b"anna", ClientNames::Hashed), hashed(&[7; 32], b"anna"));
    }
}
