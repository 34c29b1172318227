//! An HTTP response and how it is sent: by CGI (RFC 3875, section 6), or by a header that lets the web server send the file:
//! `X-Accel-Redirect` (nginx) and `X-Sendfile` (Apache, lighttpd).
//!
//! Such a header names a file only if the server cannot read it as the name of another exporter's file, whether it decodes
//! the header or not. In doubt we send the open file ourselves.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
    os::{fd::AsFd, unix::fs::FileTypeExt},
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};

use super::variables::Variables;
use crate::{
    cache::Cached,
    config::{PathForm, Sendfile},
};

const BUFFER: usize = 64 << 10;

/// The body of a response.
#[derive(Debug)]
pub(super) enum Body {
    None,
    Text(String),
    /// A part of an open file.
    File(File, Range<u64>),
}

#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    headers: Vec<(&'static str, String)>,
    pub(super) body: Body,
}

impl Response {
    /// With the headers of every response. Search engines must not index exports.
    pub(super) fn new(status: u16) -> Self {
        let everywhere =
            [("X-Robots-Tag", "noindex, nofollow"), ("Vary", "Accept"), ("X-Content-Type-Options", "nosniff")];
        let headers = everywhere.map(|(name, value)| (name, value.to_owned())).into();
        Self { status, headers, body: Body::None }
    }

    /// A response that is valid only at this moment.
    pub(super) fn no_store(status: u16) -> Self {
        Self::new(status).with("Cache-Control", "no-store")
    }

    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    #[must_use]
    pub(super) fn with_optional(self, name: &'static str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value.to_string()),
            None => self,
        }
    }

    #[must_use]
    pub(super) fn text(self, content_type: &str, text: String) -> Self {
        let this = self.with("Content-Type", content_type).with("Content-Length", text.len().to_string());
        Self { body: Body::Text(text), ..this }
    }

    #[must_use]
    pub(super) fn file(self, file: File, part: Range<u64>) -> Self {
        Self { body: Body::File(file, part), ..self }
    }

    /// The same for HEAD.
    #[must_use]
    pub(super) fn without_body(self) -> Self {
        Self { body: Body::None, ..self }
    }

    /// The header block. `Status` comes first, as busybox requires; no value can break out of its line.
    fn head(&self) -> String {
        let mut head = format!("Status: {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            head.push_str(name);
            head.push_str(": ");
            head.extend(value.chars().filter(|c| !c.is_control()));
            head.push_str("\r\n");
        }
        head + "\r\n"
    }

    /// Writes the whole response. Into a pipe the file goes by sendfile(2) or splice(2), which `io::copy` uses between descriptors.
    pub(super) fn send(self, out: impl AsFd) -> io::Result<()> {
        let mut out = File::from(out.as_fd().try_clone_to_owned()?);
        let mut head = self.head().into_bytes();
        match self.body {
            Body::None => out.write_all(&head),
            Body::Text(text) => {
                head.extend(text.into_bytes());
                out.write_all(&head)
            }
            Body::File(mut file, part) => {
                out.write_all(&head)?;
                file.seek(SeekFrom::Start(part.start))?;
                let mut part = file.take(part.end - part.start);
                if out.metadata()?.file_type().is_socket() {
                    pass_on(&mut part, &mut out)
                } else {
                    io::copy(&mut part, &mut out).map(drop)
                }
            }
        }
    }

    #[cfg(test)]
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value)
    }
}

/// Through a large buffer: on a socket of this host sendfile(2), which goes page by page, is slower.
fn pass_on(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => to.write_all(&buffer[..length])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether the client has gone away, which is no error of ours.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted
    )
}

const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        206 => "Partial Content",
        303 => "See Other",
        304 => "Not Modified",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        status if status < 500 => "Client Error",
        _ => "Server Error",
    }
}

/// What is not escaped for servers that decode. Names in the cache contain `%`, so it is escaped, too.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The header that lets the web server send the file. `None`: we send it ourselves.
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
        // A path that is not UTF-8 cannot be written into a header.
        Sendfile::XSendfile(form) => Some(("X-Sendfile", path_for_server(*form, variables, cached.path.to_str()?)?)),
    }
}

/// Whether the name stays a single segment, however often it is decoded: `..%2fprivate%2fpayroll.txt` is not.
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

/// The path in the form that the server expects. lighttpd decodes it. `mod_xsendfile` takes it literally up to version 0.12
/// and decodes it from 1.0 on (`XSendFileUnescape`). No variable says which, so Apache gets only paths that mean the same
/// either way.
fn path_for_server(form: PathForm, variables: &Variables, path: &str) -> Option<String> {
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

    fn sent(response: Response) -> String {
        let (mut reader, writer) = io::pipe().unwrap();
        response.send(&writer).unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_value_stays_in_its_line() {
        let text =
            sent(Response::no_store(400).with("X-A", "a\r\nSet-Cookie: b\u{85}c").text("text/plain", "no\n".into()));
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, "no\n");
        assert!(head.starts_with("Status: 400 Bad Request\r\n"), "{head}");
        assert!(head.contains("\r\nX-A: aSet-Cookie: bc\r\n") && head.ends_with("Content-Length: 3"), "{head}");
    }

    #[test]
    fn a_part_of_a_file_is_sent_and_no_more() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let text = sent(Response { body: Body::File(file, 3..7), ..Response::new(206) });
        assert!(text.ends_with("\r\n\r\n3456"), "{text}");
    }
}

#[cfg(test)]
mod sendfile_tests {
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
