//! CPU time of a whole tree. There are two ways to count, and both can only miss something: what the living show, with
//! the children that they have waited for, and what was reaped; or what each process that was ever seen showed last.
//! The larger is the better.

use std::{collections::BTreeMap, time::Duration};

use super::{
    proc::Stat,
    sys::{self, Reaped},
    tree::Process,
};

/// The count so far.
pub(super) struct CpuMeter {
    ticks_per_second: u64,
    /// Of children of ours that were reaped, with their own.
    reaped: Duration,
    last_seen: BTreeMap<Process, u64>,
    /// Ticks of processes that have vanished.
    vanished: u64,
    total: Duration,
}

impl CpuMeter {
    pub(super) fn new() -> Self {
        Self {
            ticks_per_second: sys::units().0,
            reaped: Duration::ZERO,
            last_seen: BTreeMap::new(),
            vanished: 0,
            total: Duration::ZERO,
        }
    }

    pub(super) const fn total(&self) -> Duration {
        self.total
    }

    /// Children that were reaped since the last look.
    pub(super) fn reaped(&mut self, reaped: &[Reaped]) {
        self.reaped += reaped.iter().map(|one| one.cpu).sum::<Duration>();
        self.total = self.total.max(self.reaped);
    }

    /// One look at all members. Not a snapshot: a child that was read before its parent waited for it counts twice, so
    /// `confirm` gives a second look, and the smaller counts.
    pub(super) fn look(&mut self, members: &[Stat], limit: Option<Duration>, confirm: impl FnOnce() -> Vec<Stat>) {
        let mut now = self.count(members);
        if limit.is_some_and(|limit| now > limit && self.total <= limit) {
            now = now.min(self.count(&confirm()));
        }
        self.total = self.total.max(now);
    }

    fn count(&mut self, members: &[Stat]) -> Duration {
        let shown: u64 = members.iter().map(|stat| stat.own + stat.waited).sum();
        let ever_seen = self.ever_seen(members);
        (self.reaped + self.time(shown)).max(self.time(ever_seen))
    }

    fn ever_seen(&mut self, members: &[Stat]) -> u64 {
        let seen: BTreeMap<_, _> = members.iter().map(|stat| (stat.process, stat.own)).collect();
        let before = std::mem::replace(&mut self.last_seen, seen);
        let gone = before.iter().filter(|(process, _)| !self.last_seen.contains_key(process));
        self.vanished += gone.map(|(_, ticks)| ticks).sum::<u64>();
        self.vanished + self.last_seen.values().sum::<u64>()
    }

    fn time(&self, ticks: u64) -> Duration {
        Duration::from_millis(ticks.saturating_mul(1000) / self.ticks_per_second.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: i32, own: u64, waited: u64) -> Stat {
        let process = Process { pid, start: 1 };
        Stat { process, parent: 1, group: 1, session: 1, state: b'R', own, waited, threads: 1, resident: 0 }
    }

    fn meter() -> CpuMeter {
        CpuMeter { ticks_per_second: 100, ..CpuMeter::new() }
    }

    #[test]
    fn a_child_that_nobody_waited_for_still_counts() {
        let mut meter = meter();
        meter.look(&[stat(10, 100, 0), stat(11, 500, 0)], None, Vec::new);
        meter.look(&[stat(10, 200, 0)], None, Vec::new);
        assert_eq!(meter.total(), Duration::from_secs(7));
    }

    #[test]
    fn children_too_short_to_be_seen_count_with_their_parent() {
        let mut meter = meter();
        meter.look(&[stat(10, 100, 900)], None, Vec::new);
        assert_eq!(meter.total(), Duration::from_secs(10));
    }

    #[test]
    fn a_limit_is_not_passed_by_counting_twice() {
        let mut meter = meter();
        let limit = Some(Duration::from_secs(8));
        meter.look(&[stat(11, 500, 0), stat(10, 0, 500)], limit, || vec![stat(10, 0, 510)]);
        assert_eq!(meter.total(), Duration::from_millis(5100));
    }
}
