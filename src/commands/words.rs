//! Durations, sizes and times as people read them.

use std::time::Duration;

use bytesize::ByteSize;

use crate::model::clock::Stamp;

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

/// With a unit.
pub fn bytes(bytes: u64) -> String {
    ByteSize::b(bytes).to_string()
}

/// To the second.
pub fn time(stamp: Stamp) -> String {
    stamp.plus_ms(-stamp.0.rem_euclid(1000)).rfc3339()
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
    fn counts_have_their_plural() {
        assert_eq!(count(1, "job"), "1 job");
        assert_eq!(count(0, "job"), "0 jobs");
    }
}
