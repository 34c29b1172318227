//! What a tree uses: memory, CPU time, and both as anybody can see them from outside.
//!
//! Resident memory: the sum is cheap but counts shared pages again for each process, the proportional sum is right but
//! dear. It is asked for only where the answer could matter, and then at every look: what was shared a moment ago is
//! somebody's own when the others have ended or written to it, and no plain sum shows that.
//!
//! CPU time: there are two ways to count, and both can only miss something: what the living show, with the children that
//! they have waited for, and what was reaped; or what each process that was ever seen showed last. The larger is the
//! better. A child whose parent does not wait for it (because it ignores SIGCHLD) shows up in neither but as it was last
//! seen; where there are such, looks have to be frequent.
//!
//! From outside the run is found by its command line, which is no secret, and the exporter's processes by their descent.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::Duration,
};

use super::{
    proc::{self, Stat},
    sys::{self, Reaped},
};
use crate::model::process::ProcessId;

/// Of all processes that the exporter has just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Resident bytes; what several of them share counts for each.
    pub memory: u64,
    /// User and system, with the children that they have waited for.
    pub cpu: Duration,
}

/// `None`: it has no process here, or none is shown to us (`hidepid`).
pub fn usage(attempt: &str) -> Option<Use> {
    let pids = proc::pids().ok()?;
    let run = *pids.iter().find(|pid| is_run_of(**pid, attempt))?;
    let all: BTreeMap<i32, Stat> = pids.iter().filter_map(|pid| Some((*pid, proc::stat(*pid).ok()??))).collect();
    let members = descendants(run, &all);
    let (ticks_per_second, page) = sys::units();
    let ticks: u64 = members.iter().map(|stat| stat.own.saturating_add(stat.waited)).sum();
    let memory = members.iter().map(|stat| stat.resident.saturating_mul(page)).sum();
    let cpu = Duration::from_millis(ticks.saturating_mul(1000) / ticks_per_second.max(1));
    (!members.is_empty()).then_some(Use { memory, cpu })
}

fn is_run_of(pid: i32, attempt: &str) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
    words.ends_with(&[b"run", attempt.as_bytes()])
}

fn descendants(run: i32, all: &BTreeMap<i32, Stat>) -> Vec<Stat> {
    let (mut found, mut parents) = (BTreeSet::new(), vec![run]);
    while let Some(parent) = parents.pop() {
        let children = all.values().filter(|stat| stat.parent == parent).map(|stat| stat.process.pid);
        parents.extend(children.filter(|pid| *pid != run && found.insert(*pid)));
    }
    found.iter().filter_map(|pid| all.get(pid).copied()).collect()
}

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
    use crate::model::process::ProcessId;

    #[test]
    fn descent_is_followed_and_a_circle_ends() {
        let stat = |pid: i32, parent: i32| {
            let process = ProcessId { pid, start: 1 };
            let stat =
                Stat { process, parent, group: 1, session: 1, state: b'R', own: 0, waited: 0, threads: 1, resident: 0 };
            (pid, stat)
        };
        let all = BTreeMap::from([stat(2, 1), stat(3, 2), stat(4, 3), stat(5, 1), stat(6, 7), stat(7, 6)]);
        let pids = |run| descendants(run, &all).iter().map(|stat| stat.process.pid).collect::<Vec<_>>();
        assert_eq!(pids(2), [3, 4]);
        assert_eq!(pids(6), [7]);
    }
}

#[cfg(test)]
mod memory_tests {
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

#[cfg(test)]
mod cpu_tests {
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
