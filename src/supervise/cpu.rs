//! CPU time of a whole tree. There are two ways to count, and both can only miss something: what the living show, with
//! the children that they have waited for, and what was reaped; or what each process that was ever seen showed last.
//! The larger is the better. A child whose parent does not wait for it (because it ignores SIGCHLD) shows up in neither
//! but as it was last seen; where there are such, looks have to be frequent.

use std::{collections::BTreeMap, time::Duration};

use super::{
    proc::Stat,
    sys::{self, Reaped},
};
use crate::model::process::ProcessId;

/// What a process showed, and whose child it was. Ticks.
#[derive(Clone, Copy)]
struct Seen {
    parent: i32,
    own: u64,
    waited: u64,
}

/// The count so far.
pub(super) struct CpuMeter {
    ticks_per_second: u64,
    /// Of children of ours that were reaped, with their own.
    reaped: Duration,
    last_seen: BTreeMap<ProcessId, Seen>,
    /// Children have ended whose parent did not wait for them.
    unwaited: bool,
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
            unwaited: false,
            vanished: 0,
            total: Duration::ZERO,
        }
    }

    pub(super) const fn total(&self) -> Duration {
        self.total
    }

    /// Whether there are children that only looks can count.
    pub(super) const fn is_blind(&self) -> bool {
        self.unwaited
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
        let seen = |stat: &Stat| Seen { parent: stat.parent, own: stat.own, waited: stat.waited };
        let now: BTreeMap<_, _> = members.iter().map(|stat| (stat.process, seen(stat))).collect();
        let before = std::mem::replace(&mut self.last_seen, now);
        let gone = before.iter().filter(|(process, _)| !self.last_seen.contains_key(process));
        for (_, child) in gone {
            self.vanished += child.own;
            self.unwaited |= child.own > 0 && self.was_unwaited(*child, &before);
        }
        self.vanished + self.last_seen.values().map(|seen| seen.own).sum::<u64>()
    }

    /// Whether the parent of a child that has vanished is still there and has not been told what the child used.
    fn was_unwaited(&self, child: Seen, before: &BTreeMap<ProcessId, Seen>) -> bool {
        let parent = before.iter().find(|(process, _)| process.pid == child.parent);
        let waited = parent.and_then(|(process, then)| Some((then.waited, self.last_seen.get(process)?.waited)));
        waited.is_some_and(|(then, now)| now < then + child.own)
    }

    fn time(&self, ticks: u64) -> Duration {
        Duration::from_millis(ticks.saturating_mul(1000) / self.ticks_per_second.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: i32, own: u64, waited: u64) -> Stat {
        let process = ProcessId { pid, start: 1 };
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
    fn a_parent_that_does_not_wait_is_noticed() {
        let child = |of: i32| Stat { parent: of, ..stat(11, 50, 0) };
        for (waited, blind) in [(0, true), (49, true), (50, false)] {
            let mut meter = meter();
            meter.look(&[stat(10, 100, 0), child(10)], None, Vec::new);
            assert!(!meter.is_blind());
            meter.look(&[stat(10, 100, waited)], None, Vec::new);
            assert_eq!(meter.is_blind(), blind, "{waited}");
        }
        let mut orphaned = meter();
        orphaned.look(&[stat(10, 100, 0), child(10)], None, Vec::new);
        orphaned.look(&[], None, Vec::new);
        assert!(!orphaned.is_blind(), "they were reaped together");
    }

    #[test]
    fn a_limit_is_not_passed_by_counting_twice() {
        let mut meter = meter();
        let limit = Some(Duration::from_secs(8));
        meter.look(&[stat(11, 500, 0), stat(10, 0, 500)], limit, || vec![stat(10, 0, 510)]);
        assert_eq!(meter.total(), Duration::from_millis(5100));
    }
}
