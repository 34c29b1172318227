//! Validators and conditions (RFC 9110, sections 8.8 and 13): whether a visitor's copy is still the one we have.

use std::time::{SystemTime, UNIX_EPOCH};

use super::variables::Variables;
use crate::{cache::Cached, model::clock::Stamp};

/// What tells one version of a file from every other.
#[derive(Clone, Debug)]
pub(super) struct Validators {
    /// Strong: a file is never changed in place, and inode, size and time together are never used twice.
    pub(super) etag: String,
    /// Whole seconds since 1970.
    modified: u64,
    now: u64,
}

/// What the conditions of a request come to.
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
    pub(super) fn of(cached: &Cached, now: Stamp) -> Self {
        let etag = format!("\"{:x}-{:x}-{:x}\"", cached.inode, cached.size, cached.mtime_ns);
        let now = seconds(now.system_time());
        Self { etag, modified: seconds(cached.made.system_time()).min(now), now }
    }

    /// As an HTTP date; never ahead of now.
    pub(super) fn last_modified(&self) -> String {
        httpdate::fmt_http_date(UNIX_EPOCH + std::time::Duration::from_secs(self.modified))
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
            (None, Some(date)) => self.modified <= date,
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

    /// `If-Range`. A date is good enough only if no second version can have come in the same second.
    fn is_exactly(&self, validator: &str) -> bool {
        validator == self.etag || (self.modified < self.now && date(validator) == Some(self.modified))
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

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: &str = "Sun, 01 Mar 2026 12:00:00 GMT";
    const NOON_MS: i64 = 1_772_366_400_000;

    fn validators(age_ms: i64) -> Validators {
        let made = Stamp(NOON_MS + 250);
        let cached = Cached { path: "/c/epub/a.epub".into(), size: 16, made, mtime_ns: 255, inode: 10, device: 1 };
        Validators::of(&cached, made.plus_ms(age_ms))
    }

    fn verdict(headers: &[(&str, &str)]) -> Verdict {
        validators(60_000).judge(&Variables::of(headers))
    }

    #[test]
    fn a_tag_is_strong_and_a_date_is_in_whole_seconds() {
        assert_eq!(validators(0).etag, "\"a-10-ff\"");
        assert_eq!(validators(0).last_modified(), NOON);
        assert_eq!(validators(-60_000).last_modified(), "Sun, 01 Mar 2026 11:59:00 GMT");
    }

    #[test]
    fn a_copy_that_is_current_is_not_sent_again() {
        for tags in ["\"a-10-ff\"", "W/\"a-10-ff\"", "*", "\"x,y\", \"a-10-ff\"", "\"\",\"a-10-ff\""] {
            assert_eq!(verdict(&[("HTTP_IF_NONE_MATCH", tags)]), Verdict::NotModified, "{tags}");
        }
        assert_eq!(verdict(&[("HTTP_IF_MODIFIED_SINCE", NOON)]), Verdict::NotModified);
    }

    #[test]
    fn a_copy_that_is_not_current_is_sent() {
        for tags in ["\"b\"", "a-10-ff", "\"a-10-ff", "\"x, \"a-10-f\""] {
            assert_eq!(verdict(&[("HTTP_IF_NONE_MATCH", tags)]), Verdict::Serve, "{tags}");
        }
        assert_eq!(verdict(&[("HTTP_IF_MODIFIED_SINCE", "Sun, 01 Mar 2026 11:59:59 GMT")]), Verdict::Serve);
        assert_eq!(verdict(&[("HTTP_IF_MODIFIED_SINCE", "yesterday")]), Verdict::Serve);
        // The tag says more than the date.
        assert_eq!(verdict(&[("HTTP_IF_NONE_MATCH", "\"b\""), ("HTTP_IF_MODIFIED_SINCE", NOON)]), Verdict::Serve);
    }

    #[test]
    fn a_part_fits_only_to_its_own_version() {
        assert_eq!(verdict(&[("HTTP_IF_RANGE", "\"a-10-ff\"")]), Verdict::Serve);
        assert_eq!(verdict(&[("HTTP_IF_RANGE", NOON)]), Verdict::Serve);
        for other in ["\"b\"", "W/\"a-10-ff\"", "Sun, 01 Mar 2026 12:00:01 GMT", "*", ""] {
            let verdict = verdict(&[("HTTP_IF_RANGE", other)]);
            assert_eq!(verdict, if other.is_empty() { Verdict::Serve } else { Verdict::Whole }, "{other}");
        }
        let same_second = validators(500).judge(&Variables::of(&[("HTTP_IF_RANGE", NOON)]));
        assert_eq!(same_second, Verdict::Whole);
    }

    #[test]
    fn who_wants_the_old_version_or_none_is_told() {
        assert_eq!(verdict(&[("HTTP_IF_MATCH", "\"b\"")]), Verdict::Failed);
        assert_eq!(verdict(&[("HTTP_IF_MATCH", "W/\"a-10-ff\"")]), Verdict::Failed);
        assert_eq!(verdict(&[("HTTP_IF_MATCH", "\"a-10-ff\"")]), Verdict::Serve);
        assert_eq!(verdict(&[("HTTP_IF_UNMODIFIED_SINCE", "Sun, 01 Mar 2026 11:00:00 GMT")]), Verdict::Failed);
        assert_eq!(verdict(&[("HTTP_IF_UNMODIFIED_SINCE", NOON)]), Verdict::Serve);
    }
}
