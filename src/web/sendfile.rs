//! Leaving the bytes to the web server: `X-Accel-Redirect` (nginx) and `X-Sendfile` (Apache, lighttpd).
//!
//! A header names a file only in a way that the server cannot read as the name of another exporter's file, whether it
//! decodes what it gets or not. In doubt we send the file ourselves, from where we have opened it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};

use super::variables::Variables;
use crate::{
    cache::Cached,
    config::{PathForm, Sendfile},
};

/// Escaped for servers that decode it. Names in the cache hold `%` themselves, so nothing may be decoded by accident.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The header that names the file to the server. `None`: we send it ourselves.
pub(super) fn header(
    how: &Sendfile,
    variables: &Variables,
    filename: &str,
    cached: &Cached,
) -> Option<(&'static str, String)> {
    if !stays_below_its_exporter(filename) {
        return None;
    }
    match how {
        Sendfile::Off => None,
        Sendfile::XAccelRedirect(location) => Some(("X-Accel-Redirect", format!("{location}/{}", escaped(filename)))),
        // A path that is no text cannot be written into a header.
        Sendfile::XSendfile(form) => Some(("X-Sendfile", as_read_by(*form, variables, cached.path.to_str()?)?)),
    }
}

/// Whether the file's name is one name, however often it is decoded: `..%2fprivate%2fpayroll.txt` is not.
fn stays_below_its_exporter(filename: &str) -> bool {
    let Some((_, name)) = filename.split_once('/') else { return false };
    let mut name = name.as_bytes().to_vec();
    loop {
        if name.iter().any(|byte| matches!(byte, b'/' | b'\\' | 0)) || matches!(&*name, b"" | b"." | b"..") {
            return false;
        }
        let decoded: Vec<u8> = percent_decode(&name).collect();
        if decoded == name {
            return true;
        }
        name = decoded;
    }
}

/// The path as the server has to get it. lighttpd decodes it. `mod_xsendfile` takes it as it stands up to version 0.12
/// and decodes it from 1.0 on (`XSendFileUnescape`), which no variable tells: Apache gets what means the same either way.
fn as_read_by(form: PathForm, variables: &Variables, path: &str) -> Option<String> {
    let software = variables.text("SERVER_SOFTWARE").unwrap_or_default();
    match form {
        PathForm::Raw => Some(path.to_owned()),
        PathForm::Encoded => Some(escaped(path)),
        PathForm::Known if software.starts_with("lighttpd") => Some(escaped(path)),
        PathForm::Known if software.starts_with("Apache") && !path.contains('%') => Some(path.to_owned()),
        PathForm::Known => None,
    }
}

fn escaped(path: &str) -> String {
    utf8_percent_encode(path, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAW: Sendfile = Sendfile::XSendfile(PathForm::Raw);
    const KNOWN: Sendfile = Sendfile::XSendfile(PathForm::Known);

    fn named(how: &Sendfile, software: &str, name: &str) -> Option<String> {
        let filename = format!("epub/{name}");
        let cached = Cached { path: format!("/s/cache/{filename}").into(), ..Cached::default() };
        header(how, &Variables::of(&[("SERVER_SOFTWARE", software)]), &filename, &cached).map(|(_, value)| value)
    }

    fn of(how: &Sendfile, software: &str) -> Option<String> {
        named(how, software, "d’A%20b+c.epub")
    }

    #[test]
    fn a_path_is_written_as_the_server_decodes_it() {
        let (plain, encoded) = ("/s/cache/epub/d’A%20b+c.epub", "/s/cache/epub/d%E2%80%99A%2520b%2Bc.epub");
        let accel = Sendfile::XAccelRedirect("/internal".into());
        assert_eq!(of(&Sendfile::Off, "nginx/1.22.1"), None);
        assert_eq!(of(&accel, "nginx/1.22.1"), Some("/internal/epub/d%E2%80%99A%2520b%2Bc.epub".into()));
        assert_eq!(of(&KNOWN, "lighttpd/1.4.69"), Some(encoded.into()));
        assert_eq!(of(&Sendfile::XSendfile(PathForm::Encoded), "www"), Some(encoded.into()));
        assert_eq!(of(&RAW, "www"), Some(plain.into()));
    }

    #[test]
    fn a_server_that_is_not_known_to_read_the_path_so_gets_none() {
        assert_eq!(of(&KNOWN, "www"), None);
        assert_eq!(of(&KNOWN, ""), None);
        assert_eq!(of(&KNOWN, "Apache/2.4.62 (Debian)"), None);
        assert_eq!(named(&KNOWN, "Apache/2.4.62 (Debian)", "Emma.epub"), Some("/s/cache/epub/Emma.epub".into()));
        assert_eq!(named(&KNOWN, "www", "Emma.epub"), None);
    }

    #[test]
    fn no_server_gets_a_name_that_would_lead_elsewhere_once_decoded() {
        let accel = Sendfile::XAccelRedirect("/internal".into());
        for name in ["..%2fprivate%2fpayroll.epub", "%2E%2e%2Fx.epub", "..%252fx.epub", "a%00.epub", "%2e%2e", "a%5cb"]
        {
            for how in [&RAW, &KNOWN, &accel, &Sendfile::XSendfile(PathForm::Encoded)] {
                for software in ["www", "lighttpd/1.4.69", "Apache", "nginx/1.22.1"] {
                    assert_eq!(named(how, software, name), None, "{name}");
                }
            }
        }
    }
}
