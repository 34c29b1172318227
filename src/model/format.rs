//! Durations, sizes and times as people read them.

use std::time::Duration;

use super::{clock::Stamp, moment};

/// The two largest units: `1h 5m`, `3d 2h`; below ten seconds with a decimal.
pub fn duration(duration: Duration) -> String {
    if duration < Duration::from_secs(10) {
        return format!("{:.1}s", duration.as_secs_f64()).replace(".0s", "s");
    }
    let text = humantime::format_duration(Duration::from_secs(duration.as_secs())).to_string();
    text.split(' ').take(2).map(short).collect::<Vec<_>>().join(" ")
}

/// humantime writes `3days`, `1month`.
fn short(part: &str) -> String {
    let (number, unit) = part.split_at(part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len()));
    let unit = match unit {
        "day" | "days" => "d",
        "month" | "months" => "mo",
        "year" | "years" => "y",
        unit => unit,
    };
    format!("{number}{unit}")
}

/// For visitors, in the largest unit that says it exactly: `1 hour`, `90 minutes`.
pub fn spelled(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
    let (length, unit) = units.into_iter().find(|(length, _)| seconds.is_multiple_of(*length)).unwrap_or((1, "second"));
    count(seconds / length, unit)
}

const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
const BINARY_UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// A size that was measured, with at most one decimal: a MB is a million bytes, as in the configuration.
pub fn bytes(bytes: u64) -> String {
    let (unit, tenths) = in_unit(bytes, 10);
    decimal(tenths, 10, UNITS[unit])
}

/// A size of the configuration, as it was written there: in KiB, MiB and so on only what comes out even in those alone.
pub fn size(bytes: u64) -> String {
    let exact = |parts: u128| {
        let (unit, number) = in_unit(bytes, parts);
        (number * power(1000, unit) == u128::from(bytes) * parts).then(|| decimal(number, parts, UNITS[unit]))
    };
    exact(10).or_else(|| binary(bytes)).or_else(|| exact(1000)).unwrap_or_else(|| self::bytes(bytes))
}

/// The unit in which it is below a thousand, and how many parts of one it is, rounded.
fn in_unit(bytes: u64, parts: u128) -> (usize, u128) {
    let number = |unit| (u128::from(bytes) * parts + power(1000, unit) / 2) / power(1000, unit);
    let unit = (0..UNITS.len() - 1).find(|unit| number(*unit) < 1000 * parts).unwrap_or(UNITS.len() - 1);
    (unit, number(unit))
}

fn binary(bytes: u64) -> Option<String> {
    let even = |unit: &usize| u128::from(bytes) % power(1024, *unit) == 0;
    let unit = (1..BINARY_UNITS.len()).rev().find(even)?;
    Some(format!("{} {}", u128::from(bytes) / power(1024, unit), BINARY_UNITS[unit]))
}

fn power(base: u128, exponent: usize) -> u128 {
    (0..exponent).fold(1, |product, _| product * base)
}

/// A number of tenths or thousandths, without zeros at its end.
fn decimal(number: u128, parts: u128, unit: &str) -> String {
    let digits = if parts == 10 { 1 } else { 3 };
    let text = format!("{}.{:0digits$}", number / parts, number % parts);
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// To the second, in the time zone of the site.
pub fn time(stamp: Stamp) -> String {
    moment::shown(stamp)
}

/// `1 job`, `3 jobs`.
pub fn count(number: u64, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        let words = |ms| duration(Duration::from_millis(ms));
        assert_eq!(words(0), "0s");
        assert_eq!(words(1_540), "1.5s");
        assert_eq!(words(65_000), "1m 5s");
        assert_eq!(words(2 * 86_400_000 + 3_600_000 + 5_000), "2d 1h");
    }

    #[test]
    fn sizes_are_read_back_as_they_were_written() {
        for (number, text) in [
            (0, "0 B"),
            (1, "1 B"),
            (300_000_000, "300 MB"),
            (1_000_000_000, "1 GB"),
            (1_500_000_000, "1.5 GB"),
            (1_250_000_000, "1.25 GB"),
            (65_536, "64 KiB"),
            (1 << 20, "1 MiB"),
            (512 << 20, "512 MiB"),
            (i64::MAX.unsigned_abs(), "9.2 EB"),
        ] {
            assert_eq!(size(number), text);
        }
    }

    #[test]
    fn what_was_measured_has_one_decimal_at_most() {
        for (number, text) in [
            (999, "999 B"),
            (1_000, "1 kB"),
            (999_949, "999.9 kB"),
            (999_950, "1 MB"),
            (65_536, "65.5 kB"),
            (730_116_096, "730.1 MB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(bytes(number), text);
        }
    }

    #[test]
    fn durations_are_spelled_out_for_visitors() {
        let words = |seconds| spelled(Duration::from_secs(seconds));
        assert_eq!([3600, 5400, 61, 172_800].map(words), ["1 hour", "90 minutes", "61 seconds", "2 days"]);
    }

    #[test]
    fn counts_have_their_plural() {
        assert_eq!(count(1, "job"), "1 job");
        assert_eq!(count(0, "job"), "0 jobs");
    }
}
