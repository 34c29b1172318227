//! The wall clock for people and the monotonic clock for limits (invariant 11).
//!
//! In debug builds, which the tests use, the file named by `PRESSROOM_TEST_CLOCK` holds a number of seconds
//! that the wall clock is ahead; a release build does not look.
//!
//! Whether the wall clock can be believed is a pure decision. Within one boot the clock that nobody sets tells how much time has passed, so that a step of the wall clock is known
//! to the millisecond. Across boots a clock can only be told to be wrong if it shows less than it did, or far more. A clock
//! that is doubted is believed again when it comes back to where it should be, when it has gone on steadily for long
//! enough, or when the admin says so.

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

#[cfg(any(debug_assertions, feature = "failpoints"))]
fn test_offset_ms() -> i64 {
    let Some(file) = std::env::var_os("PRESSROOM_TEST_CLOCK") else { return 0 };
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let seconds = text.trim().parse::<f64>().unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, reason = "a test's number of seconds")]
    let ms = (seconds * 1000.0) as i64;
    ms
}

#[cfg(not(any(debug_assertions, feature = "failpoints")))]
const fn test_offset_ms() -> i64 {
    0
}

/// The two clocks may drift apart so far between two ticks.
pub const DRIFT: Duration = Duration::from_mins(1);
/// A machine that was off is not doubted for what is less than this; a step of more needs a good witness.
const FAR: Duration = Duration::from_hours(30 * 24);
/// A step is doubted for as long as it is wide, but not for longer than this.
const LONG: Duration = Duration::from_hours(24);
/// A time service that has set the clock far away has to stand by it for so long.
const WITNESSED: Duration = Duration::from_hours(1);

/// What is known while the clock is not believed.
#[derive(Clone, Debug, PartialEq)]
pub struct Doubt {
    /// What a right clock would have shown at the last round.
    pub right: Stamp,
    /// Or later than that: the machine was started anew in between.
    pub is_exact: bool,
    /// The doubted clock may have written stamps from this moment of its own on.
    pub from: Stamp,
    /// For how long it has gone on without a step.
    pub steady: Duration,
}

/// What to make of the clock in a round.
#[derive(Clone, Debug, PartialEq)]
pub enum Belief {
    Good,
    /// It is right again. What it stamped between these two moments happened later than that.
    Back(Stamp, Stamp),
    /// It was doubted, or stepped, and is believed from now on.
    Accepted,
    Doubted(Doubt),
}

/// Judges this moment by the last round and by what was known then.
pub fn judge(last: &TickMark, doubt: Option<&Doubt>, here: &TickMark, is_synchronised: bool) -> Belief {
    let passed = passed(last, here);
    let right = doubt.map_or(last.at, |doubt| doubt.right).plus(passed.unwrap_or_default());
    let is_exact = doubt.is_none_or(|doubt| doubt.is_exact) && passed.is_some();
    let off = here.at.0.saturating_sub(right.0);
    if is_plausible(off, is_exact) {
        return doubt.map_or(Belief::Good, |doubt| Belief::Back(doubt.from, last.at.plus(passed.unwrap_or_default())));
    }
    let found =
        Doubt { right, is_exact, from: here.at.minus(passed.unwrap_or(here.since_boot)), steady: Duration::ZERO };
    let found = doubt.filter(|_| goes_on(last, here, passed)).map_or(found, |doubt| Doubt {
        right,
        is_exact,
        from: doubt.from,
        steady: doubt.steady.saturating_add(passed.unwrap_or_default()),
    });
    if found.steady >= patience(off, is_synchronised) { Belief::Accepted } else { Belief::Doubted(found) }
}

impl Doubt {
    /// How much longer the clock has to go on as it does to be believed.
    pub fn left(&self, now: Stamp, is_synchronised: bool) -> Duration {
        patience(now.0.saturating_sub(self.right.0), is_synchronised).saturating_sub(self.steady)
    }
}

/// The time between two moments of one boot.
pub fn passed(last: &TickMark, here: &TickMark) -> Option<Duration> {
    let same_boot = last.boot_id == here.boot_id && !here.boot_id.is_empty();
    same_boot.then(|| here.since_boot.saturating_sub(last.since_boot))
}

fn is_plausible(off_ms: i64, is_exact: bool) -> bool {
    let most = if is_exact { DRIFT } else { FAR };
    (-millis(DRIFT)..=millis(most)).contains(&off_ms)
}

/// Whether the clock was not set since the last round.
fn goes_on(last: &TickMark, here: &TickMark, passed: Option<Duration>) -> bool {
    let off = here.at.0.saturating_sub(last.at.plus(passed.unwrap_or_default()).0);
    is_plausible(off, passed.is_some())
}

fn patience(off_ms: i64, is_synchronised: bool) -> Duration {
    let off = Duration::from_millis(off_ms.unsigned_abs());
    match is_synchronised {
        true if off < FAR => Duration::ZERO,
        true => WITNESSED,
        false => off.min(LONG),
    }
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

#[cfg(test)]
mod doubt_tests {
    use proptest::prelude::*;

    use super::*;

    const DAY_S: i64 = 86_400;

    fn mark(at_s: i64, boot_s: i64, boot: &str) -> TickMark {
        let since_boot = Duration::from_secs(boot_s.unsigned_abs());
        TickMark { at: Stamp(at_s * 1000), since_boot, boot_id: boot.into() }
    }

    /// Rounds a minute apart whose clock is so many seconds off, in one boot; the last belief.
    fn rounds(offsets: &[i64], is_synchronised: bool) -> Belief {
        let (mut last, mut doubt, mut belief) = (mark(10 * 365 * DAY_S, 1000, "a"), None, Belief::Good);
        for (offset, minute) in offsets.iter().zip(1..) {
            let here = mark(10 * 365 * DAY_S + minute * 60 + offset, 1000 + minute * 60, "a");
            belief = judge(&last, doubt.as_ref(), &here, is_synchronised);
            doubt = if let Belief::Doubted(doubt) = &belief { Some(doubt.clone()) } else { None };
            last = here;
        }
        belief
    }

    #[test]
    fn a_minute_is_no_step_and_a_night_off_no_doubt() {
        assert_eq!(rounds(&[0, 1, -1, 59], false), Belief::Good);
        assert_eq!(judge(&mark(1000, 50, "a"), None, &mark(40_000, 3, "b"), false), Belief::Good);
    }

    #[test]
    fn a_clock_that_went_far_and_came_back_was_only_doubted() {
        for far in [400 * DAY_S, -400 * DAY_S, 7200, -7200] {
            assert!(matches!(rounds(&[0, far, far, far], false), Belief::Doubted(_)), "{far}");
            assert!(matches!(rounds(&[0, far, far, 0], false), Belief::Back(..)), "{far}");
            assert_eq!(rounds(&[0, far, far, 0, 0], false), Belief::Good, "{far}");
        }
    }

    #[test]
    fn a_step_is_believed_after_as_long_as_it_is_wide_but_a_day_at_most() {
        let accepted = |step: i64, minutes: usize| {
            matches!(rounds(&vec![step; minutes], false), Belief::Accepted)
                && (1..minutes).all(|less| matches!(rounds(&vec![step; less], false), Belief::Doubted(_)))
        };
        assert!(accepted(7200, 121));
        assert!(accepted(-1800, 31));
        assert!(accepted(400 * DAY_S, 24 * 60 + 1));
    }

    #[test]
    fn a_time_service_is_believed_at_once_unless_it_goes_far() {
        assert_eq!(rounds(&[86_400], true), Belief::Accepted);
        assert!(matches!(rounds(&[-400 * DAY_S; 60], true), Belief::Doubted(_)));
        assert_eq!(rounds(&[-400 * DAY_S; 61], true), Belief::Accepted);
    }

    #[test]
    fn after_a_boot_less_than_before_and_a_month_more_are_doubted() {
        let last = mark(10 * 365 * DAY_S, 1000, "a");
        let after = |at| judge(&last, None, &mark(at, 5, "b"), false);
        assert!(matches!(after(0), Belief::Doubted(_)));
        assert!(matches!(after(10 * 365 * DAY_S - 120), Belief::Doubted(_)));
        assert_eq!(after(10 * 365 * DAY_S + 29 * DAY_S), Belief::Good);
        assert!(matches!(after(10 * 365 * DAY_S + 31 * DAY_S), Belief::Doubted(_)));
    }

    #[test]
    fn a_doubted_clock_that_is_corrected_tells_when_its_stamps_are_from() {
        let last = mark(10 * 365 * DAY_S, 1000, "a");
        let Belief::Doubted(doubt) = judge(&last, None, &mark(30, 30, "b"), false) else { panic!("it is believed") };
        let wrong = mark(90, 90, "b");
        let right = mark(10 * 365 * DAY_S + 7 * DAY_S, 150, "b");
        assert_eq!(judge(&wrong, Some(&doubt), &right, false), Belief::Back(Stamp(0), Stamp(150_000)));
    }

    proptest! {
        /// Whatever the clock does meanwhile: if it is right before and after, it is believed in no other state.
        #[test]
        fn shifts_and_back_are_never_accepted(shifts in prop::collection::vec(-400 * DAY_S..400 * DAY_S, 1..40)) {
            let far = shifts.into_iter().map(|shift| if shift.abs() < 3600 { 3600 } else { shift });
            let mut offsets: Vec<_> = far.collect();
            for end in 1..=offsets.len() {
                prop_assert!(matches!(rounds(&offsets[..end], false), Belief::Doubted(_)));
            }
            offsets.push(0);
            prop_assert!(matches!(rounds(&offsets, false), Belief::Back(..)));
        }
    }
}
