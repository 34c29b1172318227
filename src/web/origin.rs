//! Whether a form comes from a page of this site, as far as the browser says.

use super::variables::Variables;

/// Whether the browser says that another site sends this (Fetch Metadata; RFC 6454, section 7). A program that says
/// nothing of the kind is no browser that somebody has lured here.
pub(super) fn is_from_elsewhere(variables: &Variables) -> bool {
    let elsewhere = variables.bytes("HTTP_SEC_FETCH_SITE").is_some_and(|site| site != b"same-origin");
    elsewhere || variables.bytes("HTTP_ORIGIN").is_some_and(|origin| !is_ours(origin, variables))
}

/// Whether an origin is this host, port included. Where the server hands on the host's name alone, as Debian's
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

#[cfg(test)]
mod tests {
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
