//! A ready file over HTTP: whole, in part, or not at all because the client has it already; and the names under which it
//! is saved (`Content-Disposition`, RFC 6266): one in ASCII for old programs and the real one.

use std::fs::File;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    conditions::{self, RequestedRange, Validators, Verdict},
    request::Method,
    response::{self, Response},
    variables::Variables,
};
use crate::{cache::Cached, config::Sendfile, model::clock::Stamp};

/// Seconds for which a client may use its copy of a file that never expires, before it asks whether the tag is current.
const DAY: u64 = 86_400;

/// An open file and what its headers say. Size and age are those of the open file, whatever happens to its name.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) file: File,
    pub(super) cached: Cached,
    /// Below `cache/`.
    pub(super) filename: String,
    /// Under which it is saved.
    pub(super) name: String,
    pub(super) content_type: String,
    /// `None`: never.
    pub(super) expires: Option<Stamp>,
    pub(super) stale: bool,
}

impl OpenFile {
    pub(super) fn response(self, how: &Sendfile, method: Method, request: &Variables, now: Stamp) -> Response {
        let header = response::header(how, request, &self.filename, &self.cached);
        let ours = Validators::of(&self.cached, now);
        let (header, validators) = match how {
            // nginx sends validators of its own, so clients never have ours.
            Sendfile::XAccelRedirect(_) if header.is_some() => (header, Validators::of_nginx(&self.cached)),
            _ => (header.filter(|_| ours.are_complete()), ours),
        };
        let size = self.cached.size;
        match (validators.judge(request), conditions::requested_range(asked_range(method, request), size)) {
            (Verdict::Failed, _) => Response::no_store(412).with("Content-Length", "0"),
            (Verdict::Serve, RequestedRange::Unsatisfiable) => unsatisfiable(size),
            (verdict, part) => match header {
                Some(header) => self.handed_over(header, &validators, now),
                None => self.answered(verdict, part, &validators, now),
            },
        }
    }

    /// The web server sends the file and decides about the conditions that let it send less.
    fn handed_over(&self, (name, value): (&'static str, String), validators: &Validators, now: Stamp) -> Response {
        let response = self.validated(self.described(Response::new(200), now), validators, now);
        // nginx adds its own to ours; Apache and lighttpd replace ours.
        let ranges = (name != "X-Accel-Redirect").then_some("bytes");
        response.with_optional("Accept-Ranges", ranges).with(name, value)
    }

    fn answered(self, verdict: Verdict, part: RequestedRange, validators: &Validators, now: Stamp) -> Response {
        let size = self.cached.size;
        match (verdict, part) {
            (Verdict::NotModified, _) => self.validated(Response::new(304), validators, now),
            (Verdict::Serve, RequestedRange::Part(part)) => {
                let span = format!("bytes {}-{}/{size}", part.start, part.end - 1);
                self.sent(Response::new(206).with("Content-Range", span), validators, part, now)
            }
            _ => self.sent(Response::new(200), validators, 0..size, now),
        }
    }

    fn sent(self, response: Response, validators: &Validators, part: std::ops::Range<u64>, now: Stamp) -> Response {
        let response = self.validated(self.described(response, now), validators, now);
        let length = (part.end - part.start).to_string();
        response.with("Accept-Ranges", "bytes").with("Content-Length", length).file(self.file, part)
    }

    /// With the headers that describe the document.
    fn described(&self, response: Response, now: Stamp) -> Response {
        let response = response
            .with("Content-Type", &*self.content_type)
            .with("Content-Disposition", attachment(&self.name))
            .with_optional("Content-Security-Policy", can_run_scripts(&self.content_type).then_some("sandbox"));
        response.with_optional("Cache-Status", self.stale.then(|| self.cache_status(now)))
    }

    /// With the headers that say which version it is and how long it stays current.
    fn validated(&self, response: Response, validators: &Validators, now: Stamp) -> Response {
        response
            .with("ETag", &*validators.etag)
            .with_optional("Last-Modified", validators.last_modified())
            .with("Cache-Control", format!("private, max-age={}", self.seconds_left(now)))
    }

    fn seconds_left(&self, now: Stamp) -> u64 {
        self.expires.map_or(DAY, |expires| expires.since(now).as_secs())
    }

    /// A stale file says so as caches do (RFC 9211): by the seconds since it expired.
    fn cache_status(&self, now: Stamp) -> String {
        let seconds = self.expires.map_or(0, |expires| now.since(expires).as_secs());
        format!("pressroom; hit; ttl=-{seconds}")
    }
}

/// Ranges are defined for GET alone (RFC 9110, section 14.2).
fn asked_range(method: Method, request: &Variables) -> Option<&str> {
    request.text("HTTP_RANGE").filter(|_| method == Method::Get)
}

fn unsatisfiable(size: u64) -> Response {
    Response::no_store(416).with("Content-Range", format!("bytes */{size}")).with("Content-Length", "0")
}

/// Documents that a browser would run within our site.
fn can_run_scripts(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(&*kind, "text/html" | "text/xml" | "application/xml") || kind.ends_with("+xml")
}

/// All but the `attr-char` of RFC 8187.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// The header's value for a file of this name.
pub(super) fn attachment(name: &str) -> String {
    format!("attachment; filename=\"{}\"; filename*=UTF-8''{}", plain(name), utf8_percent_encode(name, ESCAPED))
}

/// Programs disagree about `"`, `\` and `%` within the quotes (RFC 6266, appendix D), so none is there.
fn plain(name: &str) -> String {
    let is_safe = |c: char| (c.is_ascii_graphic() || c == ' ') && !matches!(c, '"' | '\\' | '%');
    name.chars().map(|c| if is_safe(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::PathForm, web::response::Body};

    const MADE: Stamp = Stamp(1_772_366_400_000);
    const TAG: &str = "\"2-a-1898b5d9b3d68000\"";

    fn ready() -> OpenFile {
        let cached =
            Cached { size: 10, made: MADE, mtime_ns: i128::from(MADE.0) * 1_000_000, inode: 2, ..Cached::default() };
        OpenFile {
            file: tempfile::tempfile().unwrap(),
            cached,
            filename: "epub/a.epub".into(),
            name: "a.epub".into(),
            content_type: "application/epub+zip".into(),
            expires: Some(MADE.plus_ms(600_000)),
            stale: false,
        }
    }

    fn asked(headers: &[(&str, &str)]) -> Response {
        ready().response(&Sendfile::Off, Method::Get, &Variables::of(headers), MADE.plus_ms(100_000))
    }

    #[test]
    fn a_whole_file_has_all_its_headers() {
        let whole = asked(&[]);
        assert_eq!(whole.status, 200);
        for (name, value) in [
            ("Content-Type", "application/epub+zip"),
            ("Content-Length", "10"),
            ("ETag", TAG),
            ("Last-Modified", "Sun, 01 Mar 2026 12:00:00 GMT"),
            ("Accept-Ranges", "bytes"),
            ("Cache-Control", "private, max-age=500"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Robots-Tag", "noindex, nofollow"),
            ("Vary", "Accept"),
        ] {
            assert_eq!(whole.header(name), Some(value), "{name}");
        }
        assert_eq!(whole.header("Content-Security-Policy"), None);
    }

    #[test]
    fn a_part_says_which() {
        let part = asked(&[("HTTP_RANGE", "bytes=4-")]);
        assert_eq!((part.status, part.header("Content-Range")), (206, Some("bytes 4-9/10")));
        assert_eq!(part.header("Content-Length"), Some("6"));
        assert!(matches!(part.body, Body::File(_, part) if part == (4..10)));
        let other = asked(&[("HTTP_RANGE", "bytes=4-"), ("HTTP_IF_RANGE", "\"x\"")]);
        assert_eq!((other.status, other.header("Content-Range")), (200, None));
        let head = ready().response(&Sendfile::Off, Method::Head, &Variables::of(&[("HTTP_RANGE", "bytes=4-")]), MADE);
        assert_eq!(head.status, 200);
    }

    #[test]
    fn an_answer_without_the_document_does_not_carry_its_name() {
        for (header, value, status) in
            [("HTTP_RANGE", "bytes=10-", 416), ("HTTP_IF_NONE_MATCH", TAG, 304), ("HTTP_IF_MATCH", "\"x\"", 412)]
        {
            let answer = asked(&[(header, value)]);
            assert_eq!(answer.status, status);
            assert_eq!((answer.header("Content-Type"), answer.header("Content-Disposition")), (None, None));
            assert!(matches!(answer.body, Body::None));
        }
        assert_eq!(asked(&[("HTTP_RANGE", "bytes=10-")]).header("Content-Range"), Some("bytes */10"));
        assert_eq!(asked(&[("HTTP_IF_NONE_MATCH", "*")]).header("Cache-Control"), Some("private, max-age=500"));
    }

    #[test]
    fn what_could_run_is_put_into_a_sandbox() {
        for kind in ["text/html; charset=utf-8", "image/svg+xml", "application/xhtml+xml", "Text/XML"] {
            assert!(can_run_scripts(kind), "{kind}");
        }
        assert!(!can_run_scripts("application/epub+zip") && !can_run_scripts("text/plain"));
    }

    #[test]
    fn a_stale_file_says_since_when() {
        let stale = OpenFile { stale: true, ..ready() };
        let answer = stale.response(&Sendfile::Off, Method::Get, &Variables::default(), MADE.plus_ms(660_000));
        assert_eq!(answer.header("Cache-Status"), Some("pressroom; hit; ttl=-60"));
        assert_eq!(answer.header("Cache-Control"), Some("private, max-age=0"));
    }

    #[test]
    fn a_server_that_sends_the_file_decides_about_ranges() {
        let variables = Variables::of(&[("HTTP_RANGE", "bytes=4-"), ("HTTP_IF_NONE_MATCH", "*")]);
        let answer = ready().response(&Sendfile::XAccelRedirect("/i".into()), Method::Get, &variables, MADE);
        assert_eq!((answer.status, answer.header("X-Accel-Redirect")), (200, Some("/i/epub/a.epub")));
        assert!(answer.header("Content-Length").is_none() && matches!(answer.body, Body::None));
    }

    #[test]
    fn what_cannot_be_sent_is_never_handed_to_the_server() {
        let answer = |how: &Sendfile, header: &str, value: &str| {
            let software = ("SERVER_SOFTWARE", "lighttpd/1.4.69");
            ready().response(how, Method::Get, &Variables::of(&[software, (header, value)]), MADE.plus_ms(1000))
        };
        let (accel, other) = (Sendfile::XAccelRedirect("/i".into()), Sendfile::XSendfile(PathForm::Known));
        for (how, tag) in [(&accel, "\"69a42a40-a\""), (&other, TAG)] {
            for (header, value, status) in [
                ("HTTP_IF_MATCH", "\"x\"", 412),
                ("HTTP_RANGE", "bytes=10-", 416),
                ("HTTP_RANGE", "bytes=10-,20-", 416),
            ] {
                let refused = answer(how, header, value);
                assert_eq!((refused.status, refused.header("Content-Disposition")), (status, None));
                assert!(refused.header("X-Sendfile").is_none() && refused.header("X-Accel-Redirect").is_none());
            }
            assert_eq!(answer(how, "HTTP_IF_MATCH", tag).status, 200);
            assert!(answer(how, "HTTP_IF_NONE_MATCH", tag).header("Content-Disposition").is_some());
        }
    }
}

#[cfg(test)]
mod disposition_tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_names_are_given() {
        assert_eq!(
            attachment("Candide-fr.epub"),
            "attachment; filename=\"Candide-fr.epub\"; filename*=UTF-8''Candide-fr.epub"
        );
        assert_eq!(
            attachment("d’Ägypte; \"50%\"\\.epub"),
            "attachment; filename=\"d__gypte; _50___.epub\"; \
             filename*=UTF-8''d%E2%80%99%C3%84gypte%3B%20%2250%25%22%5C.epub"
        );
    }

    proptest! {
        #[test]
        fn no_name_leaves_its_quotes_or_its_line(name in ".{0,40}") {
            let header = attachment(&name);
            prop_assert!(header.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()));
            prop_assert_eq!(header.matches('"').count(), 2);
            let (_, escaped) = header.rsplit_once("''").unwrap();
            let decoded = percent_encoding::percent_decode_str(escaped).decode_utf8().unwrap();
            prop_assert_eq!(decoded, name);
        }
    }
}
