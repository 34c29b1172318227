//! Resident memory of a whole tree: the sum is cheap but counts shared pages again for each process, the proportional
//! sum is right but dear. It is asked for only where the answer could matter.

use std::time::Duration;

/// How long a proportional sum is believed if nothing has grown.
const BELIEVED: Duration = Duration::from_secs(5);

/// The limit, and what was counted so far. Bytes.
pub(super) struct MemoryMeter {
    limit: Option<u64>,
    /// The last proportional sum, the plain sum at that time, and when that was.
    last: Option<(u64, u64, Duration)>,
    now: u64,
    peak: u64,
}

impl MemoryMeter {
    pub(super) const fn new(limit: Option<u64>) -> Self {
        Self { limit, last: None, now: 0, peak: 0 }
    }

    pub(super) const fn now(&self) -> u64 {
        self.now
    }

    pub(super) const fn peak(&self) -> u64 {
        self.peak
    }

    /// How long it takes to reach the limit at that many bytes per second.
    pub(super) fn time_left(&self, per_second: u64) -> Duration {
        let left = self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.now));
        Duration::from_millis(left / (per_second / 1000).max(1))
    }

    /// The largest single process, which the kernel tells when it is reaped.
    pub(super) fn reaped(&mut self, peak_rss: u64) {
        self.peak = self.peak.max(peak_rss);
    }

    /// One look: the plain sum, and how to find the proportional one.
    pub(super) fn look(&mut self, rss: u64, at: Duration, pss: impl FnOnce() -> u64) {
        self.now = match self.limit {
            Some(limit) if rss > limit => self.proportional(limit, rss, at, pss),
            _ => rss,
        };
        self.peak = self.peak.max(self.now);
    }

    fn proportional(&mut self, limit: u64, rss: u64, at: Duration, pss: impl FnOnce() -> u64) -> u64 {
        if let Some((was_pss, was_rss, when)) = self.last {
            let at_most = was_pss + rss.saturating_sub(was_rss);
            if at_most <= limit && at < when + BELIEVED {
                return at_most.min(rss);
            }
        }
        let pss = pss().min(rss);
        self.last = Some((pss, rss, at));
        pss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dear_sum_is_asked_for_only_above_the_limit() {
        let mut meter = MemoryMeter::new(Some(100));
        meter.look(100, Duration::ZERO, || panic!("not needed"));
        meter.look(250, Duration::ZERO, || 60);
        assert_eq!((meter.now(), meter.peak()), (60, 100));
    }

    #[test]
    fn it_is_asked_for_again_when_the_plain_sum_has_grown_enough_or_time_has_passed() {
        let mut meter = MemoryMeter::new(Some(100));
        meter.look(250, Duration::ZERO, || 60);
        meter.look(280, Duration::from_secs(1), || panic!("cannot be above 90"));
        assert_eq!(meter.now(), 90);
        meter.look(300, Duration::from_secs(2), || 110);
        assert_eq!(meter.now(), 110);
        let mut meter = MemoryMeter::new(Some(100));
        meter.look(250, Duration::ZERO, || 60);
        meter.look(250, Duration::from_secs(6), || 120);
        assert_eq!(meter.now(), 120);
    }

    #[test]
    fn the_next_look_is_before_the_limit_can_be_reached() {
        let mut meter = MemoryMeter::new(Some(5_000_000));
        meter.look(1_000_000, Duration::ZERO, || 0);
        assert_eq!(meter.time_left(2_000_000), Duration::from_secs(2));
        assert!(MemoryMeter::new(None).time_left(2_000_000) > Duration::from_hours(1));
    }
}
