//! Leaving the bytes to the web server: `X-Accel-Redirect` (nginx) and `X-Sendfile` (Apache, lighttpd).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::variables::Variables;
use crate::{cache::Cached, config::Sendfile};

/// Escaped for servers that decode it. Names in the cache hold `%` themselves, so nothing may be decoded by accident.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The header that names the file to the server. `None`: we send it ourselves.
pub(super) fn header(
    how: &Sendfile,
    variables: &Variables,
    filename: &str,
    cached: &Cached,
) -> Option<(&'static str, String)> {
    match how {
        Sendfile::Off => None,
        Sendfile::XAccelRedirect(location) => Some(("X-Accel-Redirect", format!("{location}/{}", escaped(filename)))),
        // A path that is no text cannot be written into a header.
        Sendfile::XSendfile => cached.path.to_str().map(|path| ("X-Sendfile", as_decoded_by(variables, path))),
    }
}

/// lighttpd decodes the path, `mod_xsendfile` takes it as it stands.
fn as_decoded_by(variables: &Variables, path: &str) -> String {
    let software = variables.text("SERVER_SOFTWARE").unwrap_or_default();
    if software.starts_with("lighttpd") { escaped(path) } else { path.to_owned() }
}

fn escaped(path: &str) -> String {
    utf8_percent_encode(path, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(how: &Sendfile, software: &str) -> Option<(&'static str, String)> {
        let path = "/s/cache/epub/d’A%20b+c.epub";
        let cached = Cached { path: path.into(), ..Cached::default() };
        header(how, &Variables::of(&[("SERVER_SOFTWARE", software)]), "epub/d’A%20b+c.epub", &cached)
    }

    #[test]
    fn a_path_is_written_as_the_server_decodes_it() {
        let accel = Sendfile::XAccelRedirect("/internal".into());
        assert_eq!(of(&Sendfile::Off, "nginx/1.22.1"), None);
        assert_eq!(
            of(&accel, "nginx/1.22.1"),
            Some(("X-Accel-Redirect", "/internal/epub/d%E2%80%99A%2520b%2Bc.epub".into()))
        );
        assert_eq!(
            of(&Sendfile::XSendfile, "lighttpd/1.4.69"),
            Some(("X-Sendfile", "/s/cache/epub/d%E2%80%99A%2520b%2Bc.epub".into()))
        );
        assert_eq!(
            of(&Sendfile::XSendfile, "Apache/2.4.62 (Debian)"),
            Some(("X-Sendfile", "/s/cache/epub/d’A%20b+c.epub".into()))
        );
    }
}
