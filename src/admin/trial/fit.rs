//! From what one export used to limits that leave room for a busier machine and a somewhat larger job.

use std::time::Duration;

const MB: u64 = 1_000_000;
/// Memory and sizes: twice the peak.
const SIZE_ROOM: u64 = 2;
/// Times: on busy cores two to four times as much has been seen.
const TIME_ROOM: u32 = 4;

/// A size in the configuration's words, at least 16 MB.
pub fn size(used: u64) -> String {
    let megabytes = (used * SIZE_ROOM).div_ceil(MB).max(16);
    format!("{}MB", nice(megabytes))
}

/// A duration of whole seconds, at least ten.
pub fn time(used: Duration) -> Duration {
    let whole = u64::try_from((used * TIME_ROOM).as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
    Duration::from_secs(nice(whole.max(10)))
}

/// Up to the next number with at most two digits that count, in steps of five.
fn nice(number: u64) -> u64 {
    let step = if number < 100 { 1 } else { 5 * 10_u64.pow(number.ilog10() - 1) / 5 };
    let step = if number < 20 { 1 } else { step.max(5) };
    number.div_ceil(step) * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_round_and_never_below_twice_the_use() {
        assert_eq!(size(0), "16MB");
        assert_eq!(size(312_000_000), "630MB");
        assert_eq!(time(Duration::from_millis(300)), Duration::from_secs(10));
        assert_eq!(time(Duration::from_secs(13)), Duration::from_secs(55));
        for used in 1..5000 {
            assert!(nice(used) >= used && nice(used) <= used + used / 4 + 1, "{used}");
        }
    }
}
