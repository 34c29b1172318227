//! The conditions of a request on the validators of the file (RFC 9110, sections 8.8 and 13), and `Range` (section 14): one
//! part of the file, for downloads that continue where they broke off.

use std::{
    ops::Range,
    time::{SystemTime, UNIX_EPOCH},
};

use super::variables::Variables;
use crate::{cache::Cached, model::clock::Stamp};

/// In nanoseconds.
const SECOND: i128 = 1_000_000_000;

/// What distinguishes one version of a file from every other.
#[derive(Clone, Debug)]
pub(super) struct Validators {
    /// Strong: a file is never changed in place, and inode, size and time together are never used twice.
    pub(super) etag: String,
    /// Whole seconds since 1970.
    modified: u64,
    /// Whether no second version with the same date is possible any more (RFC 9110, section 8.8.2.2).
    is_date_strong: bool,
}

/// The result of the conditions of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Serve it; `Range` counts.
    Serve,
    /// Serve it whole: the part that the visitor has is of another version.
    Whole,
    /// 304.
    NotModified,
    /// 412.
    Failed,
}

impl Validators {
    /// The date is the end of the second in which the file was made, and is sent only a second after that. So a client
    /// that has this date has this version, even if another one was made in the same second.
    pub(super) fn of(cached: &Cached, now: Stamp) -> Self {
        let etag = format!("\"{:x}-{:x}-{:x}\"", cached.inode, cached.size, cached.mtime_ns);
        let modified =
            u64::try_from(cached.mtime_ns.div_euclid(SECOND) + i128::from(cached.mtime_ns.rem_euclid(SECOND) > 0));
        let modified = modified.unwrap_or(0);
        Self { etag, modified, is_date_strong: modified < seconds(now.system_time()) }
    }

    /// Those that nginx gives a file which it sends itself.
    pub(super) fn of_nginx(cached: &Cached) -> Self {
        let modified = u64::try_from(cached.mtime_ns.div_euclid(SECOND)).unwrap_or(0);
        Self { etag: format!("\"{modified:x}-{:x}\"", cached.size), modified, is_date_strong: false }
    }

    /// Whether a web server may send the file with these: for a file without a date it would send one of its own.
    pub(super) const fn are_complete(&self) -> bool {
        self.is_date_strong
    }

    /// As an HTTP date. `None`: the date does not distinguish this version from another one yet.
    pub(super) fn last_modified(&self) -> Option<String> {
        let date = UNIX_EPOCH + std::time::Duration::from_secs(self.modified);
        self.is_date_strong.then(|| httpdate::fmt_http_date(date))
    }

    /// In the order of RFC 9110, section 13.2.2.
    pub(super) fn judge(&self, request: &Variables) -> Verdict {
        let header = |name| request.text(name);
        let misses = match (header("HTTP_IF_MATCH"), header("HTTP_IF_UNMODIFIED_SINCE").and_then(date)) {
            (Some(tags), _) => !self.is_among(tags, Strength::Strong),
            (None, Some(date)) => self.modified > date,
            (None, None) => false,
        };
        let unchanged = match (header("HTTP_IF_NONE_MATCH"), header("HTTP_IF_MODIFIED_SINCE").and_then(date)) {
            (Some(tags), _) => self.is_among(tags, Strength::Weak),
            // A date that is not ours is of another version, whichever of the two is the later one.
            (None, Some(date)) => self.is_date(date),
            (None, None) => false,
        };
        match header("HTTP_IF_RANGE") {
            _ if misses => Verdict::Failed,
            _ if unchanged => Verdict::NotModified,
            Some(validator) if !self.is_exactly(validator.trim()) => Verdict::Whole,
            _ => Verdict::Serve,
        }
    }

    fn is_among(&self, tags: &str, strength: Strength) -> bool {
        tags.trim() == "*" || entity_tags(tags).any(|tag| self.is_tag(tag, strength))
    }

    fn is_tag(&self, tag: &str, strength: Strength) -> bool {
        let opaque = if strength == Strength::Weak { tag.strip_prefix("W/").unwrap_or(tag) } else { tag };
        opaque == self.etag
    }

    /// `If-Range`.
    fn is_exactly(&self, validator: &str) -> bool {
        validator == self.etag || date(validator).is_some_and(|date| self.is_date(date))
    }

    fn is_date(&self, date: u64) -> bool {
        self.is_date_strong && self.modified == date
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Strength {
    Strong,
    Weak,
}

/// The tags of a list, quotes and `W/` included. A comma may stand within the quotes.
fn entity_tags(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = list;
    std::iter::from_fn(move || {
        let tag = rest.trim_start_matches([' ', '\t', ',']);
        let open = tag.find('"')?;
        let close = open + 1 + tag[open + 1..].find('"')?;
        rest = &tag[close + 1..];
        Some(&tag[..=close])
    })
}

fn date(text: &str) -> Option<u64> {
    httpdate::parse_http_date(text.trim()).ok().map(seconds)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What a `Range` header asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestedRange {
    /// The whole file: there is no such header, it cannot be read, or it asks for several parts.
    Whole,
    Part(Range<u64>),
    /// No byte of it lies within the file: 416.
    Unsatisfiable,
}

/// Reads a `Range` header for a file of `size` bytes.
pub(super) fn requested_range(header: Option<&str>, size: u64) -> RequestedRange {
    let Some(specs) = header.and_then(specs) else { return RequestedRange::Whole };
    let mut parts = specs.split(',').map(|one| part(one, size));
    match (parts.next(), parts.next()) {
        (Some(only), None) => only,
        // Several parts are not sent, but it is an error if none of them lies within the file.
        (Some(RequestedRange::Unsatisfiable), Some(RequestedRange::Unsatisfiable))
            if parts.all(|part| part == RequestedRange::Unsatisfiable) =>
        {
            RequestedRange::Unsatisfiable
        }
        _ => RequestedRange::Whole,
    }
}

fn part(spec: &str, size: u64) -> RequestedRange {
    let Some((first, last)) = spec.trim().split_once('-') else { return RequestedRange::Whole };
    let (first, last) = (first.trim_end(), last.trim_start());
    match (number(first), number(last)) {
        (Some(first), Some(last)) if last < first => RequestedRange::Whole,
        (Some(first), _) if first >= size => RequestedRange::Unsatisfiable,
        (Some(first), Some(last)) => RequestedRange::Part(first..last.saturating_add(1).min(size)),
        (Some(first), None) if last.is_empty() => RequestedRange::Part(first..size),
        (None, Some(length)) if first.is_empty() => suffix(length, size),
        _ => RequestedRange::Whole,
    }
}

fn suffix(length: u64, size: u64) -> RequestedRange {
    if length == 0 || size == 0 {
        RequestedRange::Unsatisfiable
    } else {
        RequestedRange::Part(size.saturating_sub(length)..size)
    }
}

/// The list behind `bytes=`.
fn specs(header: &str) -> Option<&str> {
    let (unit, specs) = header.split_once('=')?;
    unit.trim().eq_ignore_ascii_case("bytes").then_some(specs)
}

/// A number that does not fit into 64 bits lies behind the end of every file.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: &str = "Sun, 01 Mar 2026 12:00:00 GMT";
    const NOON_MS: i64 = 1_772_366_400_000;

    const TAG: &str = "\"a-10-1898b5d9ade09f00\"";

    /// Made a tenth of a second before noon.
    fn cached() -> Cached {
        let made = Stamp(NOON_MS - 100);
        let mtime_ns = i128::from(made.0) * 1_000_000;
        Cached { path: "/c/epub/a.epub".into(), size: 16, made, mtime_ns, inode: 10, device: 1 }
    }

    fn validators(age_ms: i64) -> Validators {
        Validators::of(&cached(), cached().made.plus_ms(age_ms))
    }

    fn verdict(headers: &[(&str, &str)]) -> Verdict {
        validators(60_000).judge(&Variables::of(headers))
    }

    #[test]
    fn a_tag_is_strong_and_a_date_is_told_when_its_second_is_over() {
        assert_eq!(validators(0).etag, TAG);
        assert_eq!(validators(1100).last_modified().as_deref(), Some(NOON));
        for early in [0, 99, 1099, -60_000] {
            assert_eq!(validators(early).last_modified(), None, "{early}");
        }
        let whole = Cached { mtime_ns: i128::from(NOON_MS) * 1_000_000, ..cached() };
        assert_eq!(Validators::of(&whole, Stamp(NOON_MS + 1000)).last_modified().as_deref(), Some(NOON));
    }

    #[test]
    fn a_date_of_the_same_second_is_no_proof() {
        let asked = Variables::of(&[("HTTP_IF_MODIFIED_SINCE", "Sun, 01 Mar 2026 11:59:59 GMT")]);
        assert_eq!(validators(60_000).judge(&asked), Verdict::Serve);
        let early = Variables::of(&[("HTTP_IF_MODIFIED_SINCE", NOON)]);
        assert_eq!(validators(50).judge(&early), Verdict::Serve);
        let later = Variables::of(&[("HTTP_IF_MODIFIED_SINCE", "Sun, 01 Mar 2026 12:00:01 GMT")]);
        assert_eq!(validators(60_000).judge(&later), Verdict::Serve);
    }

    #[test]
    fn a_copy_that_is_current_is_not_sent_again() {
        for tags in [TAG, &format!("W/{TAG}"), "*", &format!("\"x,y\", {TAG}"), &format!("\"\",{TAG}")] {
            assert_eq!(verdict(&[("HTTP_IF_NONE_MATCH", tags)]), Verdict::NotModified, "{tags}");
        }
        assert_eq!(verdict(&[("HTTP_IF_MODIFIED_SINCE", NOON)]), Verdict::NotModified);
    }

    #[test]
    fn a_copy_that_is_not_current_is_sent() {
        for tags in ["\"b\"", TAG.trim_matches('"'), TAG.trim_end_matches('"'), "\"x, \"a-10-f\""] {
            assert_eq!(verdict(&[("HTTP_IF_NONE_MATCH", tags)]), Verdict::Serve, "{tags}");
        }
        assert_eq!(verdict(&[("HTTP_IF_MODIFIED_SINCE", "Sun, 01 Mar 2026 11:59:59 GMT")]), Verdict::Serve);
        assert_eq!(verdict(&[("HTTP_IF_MODIFIED_SINCE", "yesterday")]), Verdict::Serve);
        // The tag says more than the date.
        assert_eq!(verdict(&[("HTTP_IF_NONE_MATCH", "\"b\""), ("HTTP_IF_MODIFIED_SINCE", NOON)]), Verdict::Serve);
    }

    #[test]
    fn a_part_fits_only_to_its_own_version() {
        assert_eq!(verdict(&[("HTTP_IF_RANGE", TAG)]), Verdict::Serve);
        assert_eq!(verdict(&[("HTTP_IF_RANGE", NOON)]), Verdict::Serve);
        for other in ["\"b\"", &format!("W/{TAG}"), "Sun, 01 Mar 2026 12:00:01 GMT", "*", ""] {
            let verdict = verdict(&[("HTTP_IF_RANGE", other)]);
            assert_eq!(verdict, if other.is_empty() { Verdict::Serve } else { Verdict::Whole }, "{other}");
        }
        let same_second = validators(50).judge(&Variables::of(&[("HTTP_IF_RANGE", NOON)]));
        assert_eq!(same_second, Verdict::Whole);
    }

    #[test]
    fn who_wants_the_old_version_or_none_is_told() {
        assert_eq!(verdict(&[("HTTP_IF_MATCH", "\"b\"")]), Verdict::Failed);
        assert_eq!(verdict(&[("HTTP_IF_MATCH", &format!("W/{TAG}"))]), Verdict::Failed);
        assert_eq!(verdict(&[("HTTP_IF_MATCH", TAG)]), Verdict::Serve);
        assert_eq!(verdict(&[("HTTP_IF_UNMODIFIED_SINCE", "Sun, 01 Mar 2026 11:00:00 GMT")]), Verdict::Failed);
        assert_eq!(verdict(&[("HTTP_IF_UNMODIFIED_SINCE", NOON)]), Verdict::Serve);
    }
}

#[cfg(test)]
mod range_tests {
    use super::*;

    #[test]
    fn a_single_part_is_cut_to_the_file() {
        let of = |text| requested_range(Some(text), 10);
        assert_eq!(of("bytes=0-3"), RequestedRange::Part(0..4));
        assert_eq!(of("bytes=4-"), RequestedRange::Part(4..10));
        assert_eq!(of("bytes=-4"), RequestedRange::Part(6..10));
        assert_eq!(of("Bytes = 9-99"), RequestedRange::Part(9..10));
        assert_eq!(of("bytes=-99"), RequestedRange::Part(0..10));
        assert_eq!(of("bytes=0-99999999999999999999999999"), RequestedRange::Part(0..10));
    }

    #[test]
    fn nothing_within_the_file_cannot_be_served() {
        for text in [
            "bytes=10-,20-",
            "bytes=10-, -0,11-12",
            "bytes=10-",
            "bytes=10-20",
            "bytes=-0",
            "bytes=99999999999999999999999999-",
        ] {
            assert_eq!(requested_range(Some(text), 10), RequestedRange::Unsatisfiable, "{text}");
        }
        assert_eq!(requested_range(Some("bytes=0-"), 0), RequestedRange::Unsatisfiable);
        assert_eq!(requested_range(Some("bytes=-1"), 0), RequestedRange::Unsatisfiable);
    }

    #[test]
    fn what_cannot_be_read_is_no_range() {
        assert_eq!(requested_range(None, 10), RequestedRange::Whole);
        for text in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=3-1",
            "bytes=0-1,4-5",
            "bytes=10-,4-5",
            "bytes=10-,x",
            "lines=0-1",
            "bytes=a-b",
            "bytes=1-x",
            "bytes=+1-2",
        ] {
            assert_eq!(requested_range(Some(text), 10), RequestedRange::Whole, "{text}");
        }
    }
}
