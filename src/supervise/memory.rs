//! Resident memory of a whole tree: the sum is cheap but counts shared pages again for each process, the proportional
//! sum is right but dear. It is asked for only where the answer could matter, and then at every look: what was shared
//! a moment ago is somebody's own when the others have ended or written to it, and no plain sum shows that.

use std::time::Duration;

/// The limit, and what was counted so far. Bytes.
pub(super) struct MemoryMeter {
    limit: Option<u64>,
    now: u64,
    peak: u64,
}

impl MemoryMeter {
    pub(super) const fn new(limit: Option<u64>) -> Self {
        Self { limit, now: 0, peak: 0 }
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
    pub(super) fn look(&mut self, rss: u64, pss: impl FnOnce() -> u64) {
        self.now = match self.limit {
            Some(limit) if rss > limit => pss().min(rss),
            _ => rss,
        };
        self.peak = self.peak.max(self.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dear_sum_is_asked_for_only_above_the_limit() {
        let mut meter = MemoryMeter::new(Some(100));
        meter.look(100, || panic!("not needed"));
        meter.look(250, || 60);
        assert_eq!((meter.now(), meter.peak()), (60, 100));
    }

    #[test]
    fn it_is_asked_for_at_every_look() {
        let mut meter = MemoryMeter::new(Some(100));
        for pss in [60, 110, 90] {
            meter.look(250, || pss);
            assert_eq!(meter.now(), pss);
        }
        assert_eq!(meter.peak(), 110);
    }

    #[test]
    fn the_next_look_is_before_the_limit_can_be_reached() {
        let mut meter = MemoryMeter::new(Some(5_000_000));
        meter.look(1_000_000, || 0);
        assert_eq!(meter.time_left(2_000_000), Duration::from_secs(2));
        assert!(MemoryMeter::new(None).time_left(2_000_000) > Duration::from_hours(1));
    }
}
