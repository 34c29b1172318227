//! `after=` and `refresh=1`: asking for a copy that is new enough, as far as `http.refresh` allows.

use std::time::Duration;

use super::problem::WebProblem;
use crate::model::{clock::Stamp, misfit::Misfit, moment};

/// How far ahead `after` may lie: clocks differ a little.
const AHEAD_MS: i64 = 5_000;

/// The moment since when the making must have begun. `allowed` is the age below which a copy counts all the same;
/// without it visitors get what there is.
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
