//! The client of a request, whose pending jobs are counted together.

use std::net::IpAddr;

use super::variables::{self, Variables};
use crate::{
    config::ClientSource,
    model::client::{Network, parse as address},
};

/// The name of the client, and whether it came from where the configuration says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Client {
    /// `None`: jobs of this client are not counted.
    pub(super) name: Option<Vec<u8>>,
    /// No user has logged in, and the server does not set the variable that `http.client` names.
    pub(super) is_missing: bool,
}

/// The user who has logged in, or what the configuration names, or else the address.
pub(super) fn of(variables: &Variables, source: &ClientSource) -> Client {
    if let Some(user) = variables::user(variables) {
        return Client { name: Some(user.to_owned()), is_missing: false };
    }
    let named = match source {
        ClientSource::Variable(name) => variables.bytes(name).map(<[u8]>::to_owned),
        ClientSource::Hop(hop) => at_hop(variables, *hop).map(in_bytes),
        ClientSource::Beyond(proxies) => beyond(variables, proxies).map(in_bytes),
    };
    let is_missing = named.is_none();
    Client { name: named.or_else(|| variables.bytes("REMOTE_ADDR").map(<[u8]>::to_owned)), is_missing }
}

fn in_bytes(address: IpAddr) -> Vec<u8> {
    address.to_string().into_bytes()
}

/// The address at this hop, counted from the end: everything before it may be made up by the client.
fn at_hop(variables: &Variables, hop: usize) -> Option<IpAddr> {
    address(forwarded(variables)?.rsplit(',').nth(hop - 1)?)
}

/// The last address that is not a proxy's. The header of a client that did not come through a proxy is ignored.
fn beyond(variables: &Variables, proxies: &[Network]) -> Option<IpAddr> {
    let is_proxy = |address: &IpAddr| proxies.iter().any(|network| network.contains(*address));
    let peer = address(variables.text("REMOTE_ADDR")?)?;
    if !is_proxy(&peer) {
        return Some(peer);
    }
    for hop in forwarded(variables)?.rsplit(',') {
        let address = address(hop)?;
        if !is_proxy(&address) {
            return Some(address);
        }
    }
    None
}

fn forwarded(variables: &Variables) -> Option<&str> {
    variables.text("HTTP_X_FORWARDED_FOR")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pairs: &[(&str, &str)], source: &ClientSource) -> (String, bool) {
        let client = of(&Variables::of(pairs), source);
        (client.name.map_or_else(String::new, |name| String::from_utf8(name).unwrap()), client.is_missing)
    }

    fn by(source: &ClientSource, forwarded: &str) -> (String, bool) {
        named(&[("REMOTE_ADDR", "10.0.0.1"), ("HTTP_X_FORWARDED_FOR", forwarded)], source)
    }

    fn variable(name: &str) -> ClientSource {
        ClientSource::Variable(name.to_owned())
    }

    #[test]
    fn a_user_counts_before_an_address() {
        let both = [("REMOTE_USER", "anna"), ("REMOTE_ADDR", "::1")];
        assert_eq!(named(&both, &variable("REMOTE_ADDR")), ("anna".into(), false));
        assert_eq!(named(&[("HTTP_X", "1"), ("REMOTE_ADDR", "::1")], &variable("HTTP_X")), ("1".into(), false));
    }

    #[test]
    fn without_the_variable_the_address_counts() {
        assert_eq!(named(&[("REMOTE_ADDR", "::1")], &variable("HTTP_X")), ("::1".into(), true));
        assert_eq!(named(&[], &variable("REMOTE_ADDR")), (String::new(), true));
    }

    #[test]
    fn a_hop_is_counted_from_the_end() {
        let first = ClientSource::Hop(1);
        assert_eq!(by(&first, "6.6.6.6, 198.51.100.7"), ("198.51.100.7".into(), false));
        assert_eq!(by(&ClientSource::Hop(2), "6.6.6.6,198.51.100.7 ,10.0.0.2"), ("198.51.100.7".into(), false));
        assert_eq!(by(&first, "198.51.100.7:4711"), ("198.51.100.7".into(), false));
        assert_eq!(by(&first, "[2001:db8::1]:443"), ("2001:db8::1".into(), false));
        for short in ["", "6.6.6.6"] {
            assert_eq!(by(&ClientSource::Hop(2), short), ("10.0.0.1".into(), true), "{short}");
        }
        assert_eq!(by(&first, "6.6.6.6, unknown"), ("10.0.0.1".into(), true));
    }

    #[test]
    fn addresses_of_proxies_are_passed_over() {
        let proxies = ClientSource::Beyond(vec!["10.0.0.0/8".parse().unwrap()]);
        assert_eq!(by(&proxies, "6.6.6.6, 198.51.100.7, 10.9.9.9"), ("198.51.100.7".into(), false));
        assert_eq!(by(&proxies, "10.0.0.3"), ("10.0.0.1".into(), true));
        assert_eq!(by(&proxies, "6.6.6.6, x"), ("10.0.0.1".into(), true));
        let stranger = [("REMOTE_ADDR", "203.0.113.9"), ("HTTP_X_FORWARDED_FOR", "6.6.6.6")];
        assert_eq!(named(&stranger, &proxies), ("203.0.113.9".into(), false));
    }
}
