//! The wall clock for people and the monotonic clock for limits (invariant 11).
//!
//! In debug builds, which the tests use, the file named by `PRESSROOM_TEST_CLOCK` holds a number of seconds
//! that the wall clock is ahead; a release build does not look.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// A moment of the wall clock: milliseconds since 1970-01-01T00:00:00 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp(pub i64);

/// A round of a tick, on the wall clock and on the clock that cannot be set.
#[derive(Clone, Debug, PartialEq)]
pub struct TickMark {
    pub at: Stamp,
    pub since_boot: Duration,
    /// Of the boot that `since_boot` counts from; empty if the kernel does not tell.
    pub boot_id: String,
}

impl Stamp {
    pub fn now() -> Self {
        Self::from(SystemTime::now()).plus_ms(test_offset_ms())
    }

    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        self.plus_ms(millis(duration))
    }

    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        self.plus_ms(millis(duration).saturating_neg())
    }

    /// How long ago `earlier` was; nothing if it lies ahead.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    pub fn system_time(self) -> SystemTime {
        match u64::try_from(self.0) {
            Ok(ms) => UNIX_EPOCH + Duration::from_millis(ms),
            Err(_) => UNIX_EPOCH,
        }
    }

    /// RFC 3339 in UTC with three digits behind the point, so that texts sort as the moments do.
    pub fn rfc3339_millis(self) -> String {
        jiff::Timestamp::from_millisecond(self.0).map_or_else(|_| self.0.to_string(), |time| format!("{time:.3}"))
    }

    /// RFC 3339 in UTC, with milliseconds only if there are any.
    pub fn rfc3339(self) -> String {
        jiff::Timestamp::from_millisecond(self.0).map_or_else(|_| self.0.to_string(), |time| time.to_string())
    }
}

impl From<SystemTime> for Stamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self(millis(after)),
            Err(before) => Self(millis(before.duration()).saturating_neg()),
        }
    }
}

/// A thousand years: what is longer is the same to everybody, and can be added to any moment without an overflow.
pub const LONGEST: Duration = Duration::from_hours(1000 * 8766);

/// `90s`, `1h 30m`: a time as people write it, at most [`LONGEST`].
///
/// # Errors
/// What is wrong with the text.
pub fn parse_duration(text: &str) -> Result<Duration, humantime::DurationError> {
    Ok(humantime::parse_duration(text)?.min(LONGEST))
}

/// Whole milliseconds, as the database keeps them.
pub fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Time since boot, suspend included: the clock of every limit.
pub fn since_boot() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from)
}

#[cfg(debug_assertions)]
fn test_offset_ms() -> i64 {
    let Some(file) = std::env::var_os("PRESSROOM_TEST_CLOCK") else { return 0 };
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let seconds = text.trim().parse::<f64>().unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, reason = "a test's number of seconds")]
    let ms = (seconds * 1000.0) as i64;
    ms
}

#[cfg(not(debug_assertions))]
const fn test_offset_ms() -> i64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_print_as_utc() {
        assert_eq!(Stamp(0).rfc3339(), "1970-01-01T00:00:00Z");
        assert_eq!(Stamp(1_500).rfc3339(), "1970-01-01T00:00:01.5Z");
        assert_eq!(Stamp(1_500).rfc3339_millis(), "1970-01-01T00:00:01.500Z");
        assert_eq!(Stamp(0).rfc3339_millis(), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn moments_and_durations_end_where_they_cannot_be_counted() {
        for stamp in [Stamp(i64::MIN), Stamp(0), Stamp(i64::MAX)] {
            let _ = (stamp.plus(Duration::MAX), stamp.minus(Duration::MAX), stamp.system_time(), stamp.rfc3339());
            let _ = (Stamp(i64::MIN).since(stamp), Stamp(i64::MAX).since(stamp));
        }
        assert_eq!(parse_duration("580000000000y").unwrap(), LONGEST);
        assert!(std::time::Instant::now().checked_add(LONGEST).is_some());
    }

    #[test]
    fn a_moment_ahead_is_no_time_ago() {
        assert_eq!(Stamp(5).since(Stamp(9)), Duration::ZERO);
        assert_eq!(Stamp(9).since(Stamp(5)), Duration::from_millis(4));
    }
}
