//! `Range` (RFC 9110, section 14): one part of a file, for downloads that go on where they broke off.

use std::ops::Range;

/// What a `Range` header asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The whole: there is no such header, it cannot be read, or it asks for several parts.
    Whole,
    Part(Range<u64>),
    /// Nothing of it lies within the file.
    Nothing,
}

/// Reads a `Range` header for a file of `size` bytes.
pub(super) fn read(header: Option<&str>, size: u64) -> Wanted {
    let Some(specs) = header.and_then(specs) else { return Wanted::Whole };
    let mut parts = specs.split(',').map(|one| part(one, size));
    match (parts.next(), parts.next()) {
        (Some(only), None) => only,
        // Several parts are not sent, but that none of them lies within the file is told.
        (Some(Wanted::Nothing), Some(Wanted::Nothing)) if parts.all(|part| part == Wanted::Nothing) => Wanted::Nothing,
        _ => Wanted::Whole,
    }
}

fn part(spec: &str, size: u64) -> Wanted {
    let Some((first, last)) = spec.trim().split_once('-') else { return Wanted::Whole };
    let (first, last) = (first.trim_end(), last.trim_start());
    match (number(first), number(last)) {
        (Some(first), Some(last)) if last < first => Wanted::Whole,
        (Some(first), _) if first >= size => Wanted::Nothing,
        (Some(first), Some(last)) => Wanted::Part(first..last.saturating_add(1).min(size)),
        (Some(first), None) if last.is_empty() => Wanted::Part(first..size),
        (None, Some(length)) if first.is_empty() => suffix(length, size),
        _ => Wanted::Whole,
    }
}

fn suffix(length: u64, size: u64) -> Wanted {
    if length == 0 || size == 0 { Wanted::Nothing } else { Wanted::Part(size.saturating_sub(length)..size) }
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

    #[test]
    fn a_single_part_is_cut_to_the_file() {
        let of = |text| read(Some(text), 10);
        assert_eq!(of("bytes=0-3"), Wanted::Part(0..4));
        assert_eq!(of("bytes=4-"), Wanted::Part(4..10));
        assert_eq!(of("bytes=-4"), Wanted::Part(6..10));
        assert_eq!(of("Bytes = 9-99"), Wanted::Part(9..10));
        assert_eq!(of("bytes=-99"), Wanted::Part(0..10));
        assert_eq!(of("bytes=0-99999999999999999999999999"), Wanted::Part(0..10));
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
            assert_eq!(read(Some(text), 10), Wanted::Nothing, "{text}");
        }
        assert_eq!(read(Some("bytes=0-"), 0), Wanted::Nothing);
        assert_eq!(read(Some("bytes=-1"), 0), Wanted::Nothing);
    }

    #[test]
    fn what_cannot_be_read_is_no_range() {
        assert_eq!(read(None, 10), Wanted::Whole);
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
            assert_eq!(read(Some(text), 10), Wanted::Whole, "{text}");
        }
    }
}
