//! Times that people and programs write, and the zone in which people do. Programs read UTC.
//!
//! A visitor's `after` is strict; `--after`, `--not-before` and `--since` take what people write as well: how long ago or
//! from now, and times of the configured zone. That is looked for when the first time is written or read, so that a
//! request that shows none opens no file for it.

use std::sync::OnceLock;

use jiff::{
    Timestamp, ToSpan,
    civil::{Date, DateTime, Time},
    tz::{TimeZone, TimeZoneDatabase},
};

use super::clock::{self, Stamp};

/// Where a duration leads, and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toward {
    /// `2h` is two hours ago, `21:00` the last one.
    Past,
    /// `2h` is in two hours, `21:00` the next one.
    Future,
}

/// The moment that somebody means on the command line.
///
/// # Errors
/// A sentence: the text is not a time, or it is ambiguous or skipped because the clocks change then.
pub fn meant(text: &str, now: Stamp, toward: Toward) -> Result<Stamp, String> {
    Ok(to_stamp(person(text, now, toward, zone())?.nanos))
}

/// The first moment that is surely later than all that is meant, as [`parse_rounded_up`] has it. What a person writes
/// without seconds is meant exactly.
///
/// # Errors
/// As [`meant`].
pub fn meant_rounded_up(text: &str, now: Stamp) -> Result<Stamp, String> {
    let written = person(text, now, Toward::Past, zone())?;
    Ok(to_stamp(written.nanos + written.unit))
}

fn person(text: &str, now: Stamp, toward: Toward, zone: &TimeZone) -> Result<Written, String> {
    if let Ok(written) = read_in(text, zone) {
        return written;
    }
    let exactly = |stamp: Stamp| Ok(Written { nanos: i128::from(stamp.0) * 1_000_000, unit: 0 });
    if let Ok(distance) = clock::parse_duration(text) {
        return exactly(if toward == Toward::Past { now.minus(distance) } else { now.plus(distance) });
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(Written { nanos: time.as_nanosecond(), unit: 0 });
    }
    if let Some(time) = text.parse::<Time>().ok().filter(|_| text.contains(':') && !text.contains('-')) {
        return Ok(Written { nanos: of_day(time, now, toward, zone)?, unit: 0 });
    }
    if let Ok(local) = text.parse::<DateTime>() {
        return Ok(Written { nanos: local_nanos(text, local, zone)?, unit: 0 });
    }
    let distance = if toward == Toward::Past { "ago" } else { "from now" };
    Err(format!(
        "\"{text}\" is not a time; write one like \"2026-03-01 12:00\", 2026-03-01, 2h (two hours {distance}), or \
         2026-03-01T12:00:00Z"
    ))
}

/// With seconds, and without an offset in this zone. The outer error: it is not written so.
fn read_in(text: &str, zone: &TimeZone) -> Result<Result<Written, String>, String> {
    let written = read(text)?;
    if text.starts_with('@') || text.parse::<Timestamp>().is_ok() {
        return Ok(Ok(written));
    }
    let local = text.parse::<DateTime>().map_err(|error| error.to_string())?;
    Ok(local_nanos(text, local, zone).map(|nanos| Written { nanos, ..written }))
}

/// A date alone is its beginning, whenever that is.
fn local_nanos(text: &str, local: DateTime, zone: &TimeZone) -> Result<i128, String> {
    let moment = zone.to_ambiguous_timestamp(local);
    let found =
        if text.parse::<Date>().is_ok() && !text.contains(':') { moment.compatible() } else { moment.unambiguous() };
    found.map(Timestamp::as_nanosecond).map_err(|_| {
        let name = zone.iana_name().unwrap_or("the local time zone");
        format!(
            "\"{text}\" is ambiguous or skipped in {name}, because the clocks change then; add an offset such as +01:00"
        )
    })
}

/// The last or the next time that it is so late.
fn of_day(time: Time, now: Stamp, toward: Toward, zone: &TimeZone) -> Result<i128, String> {
    let at = Timestamp::from_millisecond(now.0).map_err(|error| error.to_string())?;
    let today = at.to_zoned_datetime(zone.clone()).date();
    let day = |days: i64| {
        let date = today.checked_add(days.days()).map_err(|error| error.to_string())?;
        let moment = zone.to_ambiguous_timestamp(date.to_datetime(time)).compatible();
        moment.map(Timestamp::as_nanosecond).map_err(|error| error.to_string())
    };
    let (now, today) = (at.as_nanosecond(), day(0)?);
    match toward {
        Toward::Past if today > now => day(-1),
        Toward::Future if today <= now => day(1),
        _ => Ok(today),
    }
}

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

static NAME: OnceLock<Option<String>> = OnceLock::new();
static ZONE: OnceLock<TimeZone> = OnceLock::new();

/// Sets the configured zone, by its IANA name; `None` stands for the system's. The first call counts.
pub fn configure_zone(name: Option<&str>) {
    let _ = NAME.set(name.map(str::to_owned));
}

/// The configured zone; else that of `TZ` or `/etc/localtime`; UTC where it is not known.
pub fn zone() -> &'static TimeZone {
    ZONE.get_or_init(|| {
        let configured = NAME.get().and_then(Option::as_deref).map(zone_named);
        let found = configured.unwrap_or_else(|| TimeZone::try_system().ok());
        found.filter(|zone| !zone.is_unknown()).unwrap_or(TimeZone::UTC)
    })
}

/// `None`: this machine does not know it.
pub fn zone_named(name: &str) -> Option<TimeZone> {
    let is_utc = ["UTC", "Etc/UTC"].contains(&name);
    if is_utc { Some(TimeZone::UTC) } else { TimeZoneDatabase::from_env().get(name).ok() }
}

/// To the second, in the zone and with its abbreviation; in UTC as RFC 3339 has it.
pub fn shown(stamp: Stamp) -> String {
    shown_in(stamp, zone())
}

fn shown_in(stamp: Stamp, zone: &TimeZone) -> String {
    let whole = stamp.plus_ms(-stamp.0.rem_euclid(1000));
    match Timestamp::from_millisecond(whole.0) {
        Ok(time) if zone.to_offset_info(time).abbreviation() != "UTC" => {
            time.to_zoned_datetime(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
        }
        _ => whole.rfc3339(),
    }
}

/// Hours and minutes in the zone.
pub fn clock(stamp: Stamp) -> String {
    let time = Timestamp::from_millisecond(stamp.0).map(|time| time.to_zoned_datetime(zone().clone()));
    time.map_or_else(|_| String::new(), |time| time.strftime("%H:%M").to_string())
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
    fn what_people_write_is_understood_in_their_zone() {
        const HOUR: i64 = 3_600_000;
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        let at = |text, toward| to_stamp(person(text, Stamp(NOON), toward, &zone).unwrap().nanos).0 - NOON;
        for (text, past, future) in [
            ("2h", -2 * HOUR, 2 * HOUR),
            ("1h 30m", -HOUR * 3 / 2, HOUR * 3 / 2),
            ("2026-03-01 13:00", 0, 0),
            ("2026-03-01T14:00", HOUR, HOUR),
            ("2026-03-01 14:00:00", HOUR, HOUR),
            ("2026-03-01T12:00:00Z", 0, 0),
            ("2026-03-01T12:00Z", 0, 0),
            ("2026-03-01 12:00+02:00", -2 * HOUR, -2 * HOUR),
            ("2026-03-01", -13 * HOUR, -13 * HOUR),
            ("@1772366400", 0, 0),
            ("21:00", -16 * HOUR, 8 * HOUR),
            ("03:00:30", -10 * HOUR + 30_000, 14 * HOUR + 30_000),
        ] {
            assert_eq!((at(text, Toward::Past), at(text, Toward::Future)), (past, future), "{text}");
        }
        for wrong in ["", "gestern", "30.11.2026", "11/30/2026", "2026", "20", "12", "2026-02-30", "-2h", "2h ago", "@"]
        {
            assert!(person(wrong, Stamp(NOON), Toward::Past, &zone).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_time_at_which_clocks_are_set_is_asked_about() {
        let Some(berlin) = super::zone_named("Europe/Berlin") else { return };
        for twice_or_never in ["2026-10-25 02:30", "2026-03-29 02:30:00"] {
            let told = person(twice_or_never, Stamp(NOON), Toward::Past, &berlin).err().unwrap();
            assert!(told.contains("is ambiguous or skipped in Europe/Berlin"), "{told}");
        }
        assert!(person("2026-10-25 02:30+01:00", Stamp(NOON), Toward::Past, &berlin).is_ok());
    }

    #[test]
    fn only_what_has_seconds_is_rounded_up() {
        let unit = |text| person(text, Stamp(NOON), Toward::Past, &TimeZone::UTC).unwrap().unit;
        for exact in ["2h", "2026-03-01", "2026-03-01 12:00", "12:00", "2026-03-01T12:00Z"] {
            assert_eq!(unit(exact), 0, "{exact}");
        }
        assert_eq!((unit("2026-03-01 12:00:00"), unit("2026-03-01T12:00:00.5Z")), (1_000_000_000, 100_000_000));
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

#[cfg(test)]
mod zone_tests {
    use super::*;

    const NOON: Stamp = Stamp(1_772_366_400_123);

    #[test]
    fn people_read_local_time_and_which_it_is() {
        let Some(berlin) = zone_named("Europe/Berlin") else { return };
        assert_eq!(shown_in(NOON, &berlin), "2026-03-01 13:00:00 CET");
        assert_eq!(shown_in(Stamp(NOON.0 + 120 * 86_400_000), &berlin), "2026-06-29 14:00:00 CEST");
        assert_eq!(shown_in(NOON, &TimeZone::UTC), "2026-03-01T12:00:00Z");
    }

    #[test]
    fn a_zone_that_nobody_knows_is_none() {
        assert!(zone_named("Europe/Atlantis").is_none() && zone_named("../../etc/passwd").is_none());
    }
}
