//! An answer in HTTP, and how it leaves by CGI (RFC 3875, section 6).

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
    os::{fd::AsFd, unix::fs::FileTypeExt},
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
    /// With what every answer carries: search engines have no business with exports.
    pub(super) fn new(status: u16) -> Self {
        let everywhere =
            [("X-Robots-Tag", "noindex, nofollow"), ("Vary", "Accept"), ("X-Content-Type-Options", "nosniff")];
        let headers = everywhere.map(|(name, value)| (name, value.to_owned())).into();
        Self { status, headers, body: Body::None }
    }

    /// An answer that holds for this moment only.
    pub(super) fn passing(status: u16) -> Self {
        Self::new(status).with("Cache-Control", "no-store")
    }

    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    #[must_use]
    pub(super) fn maybe(self, name: &'static str, value: Option<impl ToString>) -> Self {
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

    /// Status first, as busybox wants it; no value can leave its line.
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

    /// Writes it all. Into a pipe the file goes by sendfile(2) or splice(2), which `io::copy` uses between descriptors.
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

/// A visitor who goes away is no fault of anybody's.
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
            sent(Response::passing(400).with("X-A", "a\r\nSet-Cookie: b\u{85}c").text("text/plain", "no\n".into()));
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
