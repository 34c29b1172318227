//! Times that people and programs write: `--after`, `--not-before`, `--since`.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use super::clock::Stamp;

/// A written time and the unit of its last digit, both in nanoseconds.
struct Written {
    nanos: i128,
    unit: i128,
}

/// The exact moment. RFC 3339, the same without an offset (UTC), or `@` and seconds since 1970.
pub fn parse(text: &str) -> Result<Stamp, String> {
    let written = read(text)?;
    Ok(to_stamp(written.nanos))
}

/// The first moment that is surely later than everything that `text` may mean: its last digit is counted up by one.
pub fn parse_rounded_up(text: &str) -> Result<Stamp, String> {
    let written = read(text)?;
    Ok(to_stamp(written.nanos + written.unit))
}

/// Up to the next whole millisecond.
fn to_stamp(nanos: i128) -> Stamp {
    Stamp(i64::try_from(nanos.div_euclid(1_000_000) + i128::from(nanos.rem_euclid(1_000_000) > 0)).unwrap_or(i64::MAX))
}

fn read(text: &str) -> Result<Written, String> {
    let nanos = match text.strip_prefix('@') {
        Some(seconds) => epoch_nanos(seconds),
        None => calendar_nanos(text),
    };
    let refused = || format!("\"{text}\" is not a time; write one like 2026-03-01T12:00:00Z, with seconds");
    Ok(Written { nanos: nanos.ok_or_else(refused)?, unit: unit(text) })
}

fn epoch_nanos(seconds: &str) -> Option<i128> {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || whole.len() > 12 || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    format!("{whole}{fraction:0<9}").parse().ok()
}

/// A date alone, or a time without seconds, is refused: rounded up it would mean tomorrow, or the next minute.
fn calendar_nanos(text: &str) -> Option<i128> {
    let (_, time) = text.split_once(['T', 't', ' '])?;
    let clock = time.split(['Z', 'z', '+', '-', '.']).next()?;
    if clock.split(':').count() != 3 {
        return None;
    }
    let timestamp = text.parse::<Timestamp>().or_else(|_| {
        let local: DateTime = text.parse()?;
        TimeZone::UTC.to_timestamp(local)
    });
    timestamp.ok().map(Timestamp::as_nanosecond)
}

fn unit(text: &str) -> i128 {
    let fraction = text.split_once('.').map_or("", |(_, rest)| rest);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    10_i128.pow(9 - u32::try_from(digits.min(9)).unwrap_or(9))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 1_772_366_400_000;

    #[test]
    fn the_last_digit_is_rounded_up() {
        let rounded = |text| parse_rounded_up(text).unwrap().0 - NOON;
        assert_eq!(rounded("2026-03-01T12:00:00Z"), 1000);
        assert_eq!(rounded("2026-03-01T12:00:00.1Z"), 200);
        assert_eq!(rounded("2026-03-01T12:00:00.123Z"), 124);
        assert_eq!(rounded("2026-03-01T12:00:00.123456Z"), 124);
        assert_eq!(rounded("2026-03-01T14:00:00+02:00"), 1000);
        assert_eq!(rounded("2026-03-01 12:00:00"), 1000);
        assert_eq!(rounded("@1772366400"), 1000);
        assert_eq!(rounded("@1772366400.25"), 260);
    }

    #[test]
    fn an_exact_time_stays_as_it_is() {
        assert_eq!(parse("2026-03-01T12:00:00Z").unwrap().0, NOON);
        assert_eq!(parse("2026-03-01T12:00:00.5Z").unwrap().0, NOON + 500);
    }

    #[test]
    fn what_is_no_time_with_seconds_is_refused_by_name() {
        for text in
            ["", "now", "2026-03-01", "2026-03-01T12:00Z", "@", "@1.", "@-1", "12:00:00", "2026-13-01T12:00:00Z"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("gestern").unwrap_err().contains("\"gestern\""));
    }
}
