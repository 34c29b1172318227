//! The time zone in which people write and read times. Programs read UTC.
//!
//! It is looked for when the first time is written or read, so that a request that shows none opens no file for it.

use std::sync::OnceLock;

use jiff::{
    Timestamp,
    tz::{TimeZone, TimeZoneDatabase},
};

use super::clock::Stamp;

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
