//! Validators and conditions (RFC 9110, sections 8.8 and 13): whether a visitor's copy is still the one we have.

use std::time::{SystemTime, UNIX_EPOCH};

use super::variables::Variables;
use crate::{cache::Cached, model::clock::Stamp};

/// In nanoseconds.
const SECOND: i128 = 1_000_000_000;

/// What tells one version of a file from every other.
#[derive(Clone, Debug)]
pub(super) struct Validators {
    /// Strong: a file is never changed in place, and inode, size and time together are never used twice.
    pub(super) etag: String,
    /// Whole seconds since 1970.
    modified: u64,
    /// Whether no second version can come with the same date any more (RFC 9110, section 8.8.2.2).
    is_date_strong: bool,
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
    /// The date is the end of the second in which the file was made, and is told only a second after that. So whoever
    /// knows this date has this version, though another one was made in the same second.
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

    /// Whether a server may send the file with these: it would make up a date of its own for one that has none.
    pub(super) const fn are_complete(&self) -> bool {
        self.is_date_strong
    }

    /// As an HTTP date. `None`: it does not tell this version from another one yet.
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
