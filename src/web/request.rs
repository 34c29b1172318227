//! What a visitor requests: the exporter, its parameters, and the few reserved parameters, among them `after=` and
//! `refresh=1`, which require a copy that is new enough, as far as `http.refresh` allows.

use std::{io::Read, os::fd::AsFd, time::Duration};

use super::{
    body,
    problem::WebProblem,
    url::{self, Address, Pair},
    variables::Variables,
};
use crate::model::{clock::Stamp, misfit::Misfit, moment};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    Post,
}

/// `format=`: the form of the answer, whatever `Accept` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    /// JSON, and nothing is queued: how a page checks again.
    Look,
    /// A page in every state, a ready file's included; the number of times that it has reloaded itself.
    Page(u32),
    /// The file itself as soon as there is one, a page until then.
    File,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WebRequest {
    pub(super) method: Method,
    pub(super) exporter: Vec<u8>,
    /// The exporter was named by `exporter=`, not by the path.
    pub(super) exporter_in_query: bool,
    /// Decoded, in the order in which they were given.
    pub(super) values: Vec<Pair>,
    pub(super) format: Option<Format>,
    pub(super) after: Option<String>,
    pub(super) wait: Option<Duration>,
    pub(super) refresh: bool,
}

impl WebRequest {
    /// Reads the request; a POST's body comes from `input`.
    pub(super) fn read(variables: &Variables, input: impl Read + AsFd) -> Result<Self, WebProblem> {
        let method = method(variables)?;
        let query = url::decode(variables.query());
        match method {
            Method::Get | Method::Head => Self::of(method, variables, query),
            Method::Post => {
                let named = query.into_iter().filter(|(name, _)| name == b"exporter");
                let form = url::decode(&body::read(variables, input)?);
                Self::of(method, variables, named.chain(form).collect())
            }
        }
    }

    fn of(method: Method, variables: &Variables, mut pairs: Vec<Pair>) -> Result<Self, WebProblem> {
        let in_path = exporter_in_path(variables.bytes("PATH_INFO").unwrap_or_default())?;
        let in_query = take(&mut pairs, "exporter")?;
        let exporter_in_query = in_query.is_some();
        let exporter = match (in_path, in_query) {
            (Some(_), Some(_)) => return Err(twice("exporter")),
            (path, query) => path.or(query.map(String::into_bytes)).ok_or(WebProblem::Unknown)?,
        };
        let format = take(&mut pairs, "format")?.map(|text| format(&text)).transpose()?.flatten();
        let after = take(&mut pairs, "after")?.filter(|text| !text.is_empty());
        let wait = take(&mut pairs, "wait")?.map(|text| wait(&text)).transpose()?;
        let refresh = take(&mut pairs, "refresh")?.map_or(Ok(false), |text| yes_or_no(&text))?;
        Ok(Self { method, exporter, exporter_in_query, values: pairs, format, after, wait, refresh })
    }

    /// Whether it only asks for the state of a job: a page that is still open somewhere must not queue again what was
    /// cancelled or given up.
    pub(super) fn must_not_enqueue(&self) -> bool {
        self.method == Method::Head || matches!(self.format, Some(Format::Look | Format::Page(1..)))
    }

    /// The address of the same file or task, without the parameters that say how to answer.
    pub(super) fn address(&self, variables: &Variables) -> Address {
        let exporter = self.exporter_in_query.then(|| (b"exporter".to_vec(), self.exporter.clone()));
        let after = self.after.iter().map(|after| ("after".to_owned(), after.clone()));
        Address::of(variables, exporter.iter().chain(&self.values).map(url::lossy).chain(after))
    }

    /// The parameters that say how to answer, as they are written.
    pub(super) fn answer_options(&self) -> Vec<(&'static str, String)> {
        let wait = self.wait.map(|wait| ("wait", humantime::format_duration(wait).to_string()));
        let format = self.format.map(|format| match format {
            Format::Json => "json",
            Format::Look => "look",
            Format::Page(_) => "page",
            Format::File => "file",
        });
        wait.into_iter().chain(format.map(|format| ("format", format.to_owned()))).collect()
    }
}

/// An unknown method is an error.
pub(super) fn method(variables: &Variables) -> Result<Method, WebProblem> {
    match variables.text("REQUEST_METHOD") {
        Some("GET") => Ok(Method::Get),
        Some("HEAD") => Ok(Method::Head),
        Some("POST") => Ok(Method::Post),
        _ => Err(WebProblem::Method),
    }
}

/// The only segment of the path; there is nothing below an exporter.
fn exporter_in_path(path: &[u8]) -> Result<Option<Vec<u8>>, WebProblem> {
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let path = path.strip_suffix(b"/").unwrap_or(path);
    if path.contains(&b'/') {
        return Err(WebProblem::Unknown);
    }
    Ok((!path.is_empty()).then(|| path.to_vec()))
}

/// Takes out the one value of a reserved parameter.
fn take(pairs: &mut Vec<Pair>, word: &'static str) -> Result<Option<String>, WebProblem> {
    let mut found = pairs.extract_if(.., |(name, _)| name == word.as_bytes()).map(|(_, value)| value);
    let value = found.next();
    if found.next().is_some() {
        return Err(twice(word));
    }
    let text = value.map(String::from_utf8).transpose();
    text.map_err(|_| WebProblem::Bad(Misfit::WordNotUtf8(word)))
}

fn twice(word: &'static str) -> WebProblem {
    WebProblem::Bad(Misfit::WordRepeated(word))
}

fn format(text: &str) -> Result<Option<Format>, WebProblem> {
    let page = |count: &str| count.parse().ok().map(Format::Page);
    let format = match text {
        "" => return Ok(None),
        "json" => Some(Format::Json),
        "look" => Some(Format::Look),
        "file" => Some(Format::File),
        "page" => Some(Format::Page(0)),
        text => text.strip_prefix("page.").and_then(page),
    };
    format.map(Some).ok_or(WebProblem::Bad(Misfit::Said("format must be json, look, page or file")))
}

/// `30s`, or `30` for seconds.
fn wait(text: &str) -> Result<Duration, WebProblem> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let duration = seconds.or_else(|| humantime::parse_duration(text).ok());
    duration.ok_or(WebProblem::Bad(Misfit::Said("wait must be a duration such as 10s")))
}

fn yes_or_no(text: &str) -> Result<bool, WebProblem> {
    match text {
        "1" => Ok(true),
        "" | "0" => Ok(false),
        _ => Err(WebProblem::Bad(Misfit::Said("refresh must be 1 or 0"))),
    }
}

/// How far ahead `after` may lie: clocks differ a little.
const AHEAD_MS: i64 = 5_000;

/// The moment after which the export must have begun. A copy that is younger than `allowed` counts in any case; without
/// `allowed` every copy does.
pub(super) fn moment(after: Option<&str>, allowed: Option<Duration>, now: Stamp) -> Result<Option<Stamp>, WebProblem> {
    let Some(text) = after else { return Ok(None) };
    let no_time = |sentence| WebProblem::Bad(Misfit::NotATime { text: text.to_owned(), sentence });
    if moment::parse(text).map_err(no_time)? > now.plus_ms(AHEAD_MS) {
        return Err(WebProblem::Bad(Misfit::Ahead("after")));
    }
    let asked = moment::parse_rounded_up(text).map_err(no_time)?;
    Ok(allowed.map(|young| asked.min(now.minus(young))))
}

/// `now` as `after` has it, always with milliseconds: without them it would be rounded up to the next second.
pub(super) fn written(now: Stamp) -> String {
    jiff::Timestamp::from_millisecond(now.0).map_or_else(|_| now.rfc3339(), |time| format!("{time:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<WebRequest, WebProblem> {
        let (reader, _) = std::io::pipe().unwrap();
        WebRequest::read(&Variables::of(variables), reader)
    }

    fn get(path: &str, query: &str) -> Result<WebRequest, WebProblem> {
        read(&[("REQUEST_METHOD", "GET"), ("PATH_INFO", path), ("QUERY_STRING", query)])
    }

    #[test]
    fn the_exporter_is_in_the_path_or_in_the_query() {
        let path = get("/epub", "title=A").unwrap();
        assert_eq!((path.exporter, path.values), (b"epub".to_vec(), vec![(b"title".to_vec(), b"A".to_vec())]));
        let query = get("", "exporter=epub&title=A").unwrap();
        assert!(query.exporter == b"epub" && query.exporter_in_query && query.values.len() == 1);
        assert_eq!(get("/epub/", "").unwrap().exporter, b"epub");
        assert_eq!(get("/epub", "exporter=epub").unwrap_err().status(), 400);
        for nowhere in ["", "/", "//", "/../../etc/passwd", "/epub/../pdf", "/epub/x", "/epub//"] {
            assert_eq!(get(nowhere, "").map(|request| request.exporter), Err(WebProblem::Unknown), "{nowhere}");
        }
    }

    #[test]
    fn an_exporter_named_in_the_query_stays_there() {
        let variables =
            [("REQUEST_METHOD", "GET"), ("REQUEST_URI", "/x"), ("QUERY_STRING", "exporter=epub&t=1&wait=1&after=@5")];
        let address = read(&variables).unwrap().address(&Variables::of(&variables));
        assert_eq!(address.to_string(), "/x?exporter=epub&t=1&after=%405");
    }

    #[test]
    fn reserved_parameters_are_not_the_exporters() {
        let request = get("/epub", "format=page.7&wait=1m&refresh=1&after=@1&title=A").unwrap();
        assert_eq!(request.format, Some(Format::Page(7)));
        assert_eq!(
            (request.wait, request.refresh, request.after.as_deref()),
            (Some(Duration::from_mins(1)), true, Some("@1"))
        );
        assert_eq!(request.values.len(), 1);
        assert_eq!(get("/epub", "wait=5").unwrap().wait, Some(Duration::from_secs(5)));
        for bad in ["format=xml", "format=page.-1", "wait=soon", "refresh=yes", "wait=1&wait=2", "after=%FF"] {
            assert_eq!(get("/epub", bad).unwrap_err().status(), 400, "{bad}");
        }
    }

    #[test]
    fn other_methods_are_refused() {
        for method in ["PUT", "get", "OPTIONS", ""] {
            assert_eq!(read(&[("REQUEST_METHOD", method)]), Err(WebProblem::Method));
        }
    }
}

#[cfg(test)]
mod since_tests {
    use super::*;

    const NOW: Stamp = Stamp(1_772_366_400_000);
    const MINUTE: Option<Duration> = Some(Duration::from_mins(1));

    #[test]
    fn a_young_copy_counts_whatever_is_asked() {
        let of = |after| moment(Some(after), MINUTE, NOW).unwrap();
        assert_eq!(of("2026-03-01T12:00:00.000Z"), Some(NOW.plus_ms(-60_000)));
        assert_eq!(of("2026-03-01T11:00:00Z"), Some(NOW.plus_ms(-3_600_000 + 1000)));
        assert_eq!(moment(None, MINUTE, NOW), Ok(None));
        assert_eq!(moment(Some("2026-03-01T12:00:00Z"), None, NOW), Ok(None));
    }

    #[test]
    fn a_moment_that_is_none_or_lies_ahead_is_refused() {
        for after in ["soon", "2026-03-01", "2026-03-01T12:00:06Z"] {
            assert_eq!(moment(Some(after), None, NOW).unwrap_err().status(), 400, "{after}");
        }
        assert!(moment(Some("2026-03-01T12:00:05Z"), MINUTE, NOW).is_ok());
    }

    #[test]
    fn now_is_written_with_milliseconds() {
        assert_eq!(written(NOW), "2026-03-01T12:00:00.000Z");
        assert_eq!(written(NOW.plus_ms(5)), "2026-03-01T12:00:00.005Z");
    }
}
