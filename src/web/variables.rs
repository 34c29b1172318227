//! The CGI variables (RFC 3875) of a request, as bytes. Variables that a client can set begin with `HTTP_` and are read only
//! under the names in this room, so that a `Proxy:` header has no effect.
//!
//! And what follows from them: who has logged in, according to the web server; whether a form was sent from another site,
//! according to the browser; and whether a request is speculative: made by a browser ahead of a click that may never come.

use std::{collections::HashMap, ffi::OsString, os::unix::ffi::OsStringExt};

/// The environment of one request.
#[derive(Debug, Default)]
pub(super) struct Variables(HashMap<String, Vec<u8>>);

impl Variables {
    pub(super) fn of_process() -> Self {
        Self(std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, bytes(value)))).collect())
    }

    /// The bytes of a variable; an empty one counts as absent.
    pub(super) fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice).filter(|value| !value.is_empty())
    }

    /// A variable that makes sense as text only; anything else counts as absent.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.bytes(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    pub(super) fn query(&self) -> &[u8] {
        self.bytes("QUERY_STRING").unwrap_or_default()
    }

    pub(super) fn is_head(&self) -> bool {
        self.text("REQUEST_METHOD") == Some("HEAD")
    }

    #[cfg(test)]
    pub(super) fn of(pairs: &[(&str, &str)]) -> Self {
        Self(pairs.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect())
    }
}

fn bytes(value: OsString) -> Vec<u8> {
    value.into_vec()
}

/// The user who has logged in.
///
/// nginx fills `$remote_user`, which Debian's `fastcgi_params` hands on as `REMOTE_USER`, with whatever name a visitor
/// claims, also where no password is asked for. So behind nginx a name counts only together with `AUTH_TYPE`
/// (RFC 3875, section 4.1.1), which the other servers set themselves.
pub(super) fn user(variables: &Variables) -> Option<&[u8]> {
    variables.bytes("REMOTE_USER").filter(|_| !is_only_claimed(variables))
}

/// Whether there is a name for which possibly no password was required.
pub(super) fn is_only_claimed(variables: &Variables) -> bool {
    let software = variables.text("SERVER_SOFTWARE").unwrap_or_default();
    let is_nginx = software.split(['/', ' ']).next().is_some_and(|name| name.eq_ignore_ascii_case("nginx"));
    is_nginx && variables.bytes("REMOTE_USER").is_some() && variables.bytes("AUTH_TYPE").is_none()
}

/// Whether the browser says that another site sends this request (Fetch Metadata; RFC 6454, section 7). A client without
/// these headers is not a browser that another site could make send forms.
pub(super) fn is_from_elsewhere(variables: &Variables) -> bool {
    let elsewhere = variables.bytes("HTTP_SEC_FETCH_SITE").is_some_and(|site| site != b"same-origin");
    elsewhere || variables.bytes("HTTP_ORIGIN").is_some_and(|origin| !is_ours(origin, variables))
}

/// Whether an origin is this host, port included. Where the server hands on the host name alone, as Debian's
/// `fastcgi_params` does, the port is the scheme's own (a proxy in front speaks HTTPS) or that of the server.
fn is_ours(origin: &[u8], variables: &Variables) -> bool {
    let lower = |text: &[u8]| String::from_utf8_lossy(text).to_ascii_lowercase();
    let (origin, host) = (lower(origin), lower(variables.bytes("HTTP_HOST").unwrap_or_default()));
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let ((theirs, port), (ours, our_port)) = (with_port(authority), with_port(&host));
    let usual = if scheme == "https" { "443" } else { "80" };
    let port = port.unwrap_or(usual);
    let same_port = match our_port {
        Some(ours) => port == ours,
        None => port == usual || variables.text("SERVER_PORT") == Some(port),
    };
    !ours.is_empty() && theirs == ours && same_port
}

/// A host and the port behind it. Colons within brackets belong to an address.
fn with_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => (host, Some(port)),
        _ => (authority, None),
    }
}

/// The header that browsers send today, and those that older ones sent.
const HEADERS: [&str; 4] = ["HTTP_SEC_PURPOSE", "HTTP_PURPOSE", "HTTP_X_PURPOSE", "HTTP_X_MOZ"];
const PURPOSES: [&str; 3] = ["prefetch", "prerender", "preview"];

/// Whether the browser says that it makes the request ahead of its user. Parameters, as in `prefetch;prerender`, do not matter.
pub(super) fn is_speculative(variables: &Variables) -> bool {
    let values = HEADERS.iter().filter_map(|name| variables.text(name));
    let mut words = values.flat_map(|value| value.split([',', ';'])).map(str::trim);
    words.any(|word| PURPOSES.iter().any(|purpose| word.eq_ignore_ascii_case(purpose)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_nginx_a_name_counts_only_with_the_way_in_which_it_was_checked() {
        let of = |pairs: &[(&str, &str)]| user(&Variables::of(pairs)).map(<[u8]>::to_owned);
        let anna = ("REMOTE_USER", "anna");
        assert_eq!(of(&[anna]), Some(b"anna".to_vec()));
        assert_eq!(of(&[anna, ("SERVER_SOFTWARE", "nginx/1.22.1")]), None);
        assert_eq!(of(&[anna, ("SERVER_SOFTWARE", "nginx/1.22.1"), ("AUTH_TYPE", "Basic")]), Some(b"anna".to_vec()));
        assert_eq!(of(&[anna, ("SERVER_SOFTWARE", "Apache/2.4.62 (Debian)")]), Some(b"anna".to_vec()));
        assert_eq!(of(&[("HTTP_REMOTE_USER", "anna")]), None);
    }
}

#[cfg(test)]
mod origin_tests {
    use super::*;

    fn elsewhere(host: &str, origin: &str, more: &[(&str, &str)]) -> bool {
        let pairs = [&[("HTTP_HOST", host), ("HTTP_ORIGIN", origin)], more].concat();
        is_from_elsewhere(&Variables::of(&pairs))
    }

    #[test]
    fn an_origin_is_compared_by_host_and_port() {
        assert!(!elsewhere("example.org:8080", "http://Example.org:8080", &[]));
        assert!(!elsewhere("example.org", "https://example.org", &[]));
        assert!(!elsewhere("example.org:443", "https://example.org", &[]));
        assert!(!elsewhere("[2001:db8::1]", "http://[2001:db8::1]", &[]));
        assert!(!elsewhere("example.org", "http://example.org:8080", &[("SERVER_PORT", "8080")]));
        for (host, origin) in [
            ("example.org", "null"),
            ("example.org", "https://evil.example"),
            ("example.org", "https://example.org:8443"),
            ("example.org", "example.org"),
            ("example.org:8080", "https://example.org"),
            ("example.org:8080", "http://example.org:8081"),
            ("example.org:443", "http://example.org"),
            ("", "https://example.org"),
            ("", "https://"),
        ] {
            assert!(elsewhere(host, origin, &[("SERVER_PORT", "80")]), "{origin} on {host}");
        }
    }

    #[test]
    fn a_browser_tells_on_a_form_of_another_site() {
        let says = |site: &str| is_from_elsewhere(&Variables::of(&[("HTTP_SEC_FETCH_SITE", site)]));
        for site in ["cross-site", "same-site", "none", "x"] {
            assert!(says(site), "{site}");
        }
        assert!(!says("same-origin") && !is_from_elsewhere(&Variables::of(&[("HTTP_HOST", "example.org")])));
        assert!(elsewhere("example.org", "https://evil.example", &[("HTTP_SEC_FETCH_SITE", "same-origin")]));
    }
}

#[cfg(test)]
mod speculative_tests {
    use super::*;

    #[test]
    fn every_form_of_a_prefetch_is_known() {
        for (name, value) in [
            ("HTTP_SEC_PURPOSE", "prefetch"),
            ("HTTP_SEC_PURPOSE", "prerender"),
            ("HTTP_SEC_PURPOSE", "prefetch;prerender"),
            ("HTTP_SEC_PURPOSE", "prefetch; anonymous-client-ip"),
            ("HTTP_PURPOSE", "Prefetch"),
            ("HTTP_X_MOZ", "prefetch"),
            ("HTTP_X_PURPOSE", "preview"),
        ] {
            assert!(is_speculative(&Variables::of(&[(name, value)])), "{name}: {value}");
        }
        for (name, value) in [
            ("HTTP_SEC_PURPOSE", "navigate"),
            ("HTTP_SEC_PURPOSE", ""),
            ("HTTP_X_MOZ", "livebookmarks"),
            ("HTTP_ACCEPT", "prefetch"),
        ] {
            assert!(!is_speculative(&Variables::of(&[(name, value)])), "{name}: {value}");
        }
    }
}
