//! The watched limits: memory, CPU and work directory of a whole tree, looked at as often as is cheap.

use std::{collections::HashMap, os::unix::fs::MetadataExt, path::PathBuf, time::Duration};

use super::{
    classify::EndedBy,
    kill_state::PhaseError,
    proc::{self, Stat},
    process_tree::Tree,
    spawn::Leader,
    sys::{self, Reaped},
    usage::{CpuMeter, MemoryMeter},
    work,
};
use crate::model::{clock::since_boot, limits::Limits};

/// Bytes per second that a tree may fill at most, generously: nobody has to look before the limit can be reached.
const FASTEST: u64 = 4 << 30;
/// A look may cost one part in so many of the time until the next one.
const SHARE: u32 = 100;
const WORK_SHARE: u32 = 20;
const BLIND_SHARE: u32 = 10;
pub(super) const SOONEST: Duration = Duration::from_millis(100);
const LATEST: Duration = Duration::from_secs(1);
/// Between two looks at children that nobody waits for: what they use after the last one is not counted.
const BLIND: Duration = Duration::from_millis(10);
/// Entries of the work directory that are counted at once.
const ENTRIES: usize = 20_000;
/// How long a stranger is believed to be one: its number has to come round again before a member is missed.
const STRANGE: Duration = Duration::from_secs(5);

/// What a tree uses, and what it may use.
pub(super) struct LimitsMonitor {
    limits: Limits,
    dir: PathBuf,
    page: u64,
    pub cpu: CpuMeter,
    pub memory: MemoryMeter,
    pub processes: usize,
    pub peak_processes: usize,
    given: u64,
    work: u64,
    peak_work: u64,
    /// A count that is not finished yet, and what it has taken so far.
    counting: Option<(work::SizeCount, Duration)>,
    /// Time since boot.
    next: Duration,
    next_thorough: Duration,
    next_work: Duration,
}

impl LimitsMonitor {
    /// The watch over a tree that has just been started. A short one may end before the first look: what its processes
    /// used the kernel tells when they are reaped.
    pub(super) fn new(limits: Limits, dir: PathBuf, leader: &Leader) -> Self {
        let first = leader.started + SOONEST;
        Self {
            cpu: CpuMeter::new(),
            memory: MemoryMeter::new(limits.memory),
            page: sys::units().1,
            given: leader.given,
            limits,
            dir,
            processes: 0,
            peak_processes: 0,
            work: 0,
            peak_work: 0,
            counting: None,
            next: first,
            next_thorough: leader.started + STRANGE,
            next_work: first,
        }
    }

    /// When the next look is due.
    pub(super) fn next(&self) -> Duration {
        self.next.min(self.next_work)
    }

    /// Looks at whatever is due.
    pub(super) fn look(&mut self, tree: &mut Tree) {
        let now = since_boot();
        if self.next <= now {
            self.look_at_processes(tree, now);
            let took = since_boot().saturating_sub(now);
            let soonest = self.memory.time_left(FASTEST).clamp(SOONEST, LATEST);
            self.next = since_boot()
                + if self.limits.cpu.is_some() && self.cpu.is_blind() {
                    (took * BLIND_SHARE).clamp(BLIND, LATEST)
                } else {
                    (took * SHARE).clamp(soonest, LATEST)
                };
        }
        if self.next_work <= now {
            self.look_at_work(tree);
        }
    }

    /// The limit that is passed, if any.
    pub(super) fn trouble(&self) -> Option<PhaseError> {
        let over = |reason, used: u64, limit: Option<u64>| {
            let limit = limit.filter(|limit| used > *limit)?;
            Some(PhaseError { reason, urgent: used > limit + limit / 4 })
        };
        over(EndedBy::Memory, self.memory.now(), self.limits.memory)
            .or_else(|| over(EndedBy::WorkSize, self.work, self.limits.work_size))
            .or_else(|| {
                let over = self.limits.cpu.is_some_and(|limit| self.cpu.total() > limit);
                over.then_some(PhaseError { reason: EndedBy::Cpu, urgent: false })
            })
    }

    /// The most that the exporter had in its directory, `at_end` included. Bytes.
    pub(super) fn peak_work(&self, at_end: u64) -> u64 {
        self.peak_work.max(at_end.saturating_sub(self.given))
    }

    /// Children of ours that have ended.
    pub(super) fn reaped(&mut self, reaped: &[Reaped]) {
        self.cpu.reaped(reaped);
        for one in reaped {
            self.memory.reaped(one.peak_rss);
        }
    }

    fn look_at_processes(&mut self, tree: &mut Tree, now: Duration) {
        if self.next_thorough <= now {
            tree.forget_strangers();
            self.next_thorough = now + STRANGE;
        }
        let members = tree.look();
        self.reaped(&tree.take_reaped());
        let alive = members.iter().filter(|stat| !stat.is_dead());
        self.processes = alive.clone().count();
        self.peak_processes = self.peak_processes.max(self.processes);
        let rss = alive.map(|stat| stat.resident * self.page).sum();
        self.memory.look(rss, || pss(&members, self.page));
        self.cpu.look(&members, self.limits.cpu, || tree.look());
    }

    /// One slice of a count. What was found by then is too much already if it is more than the limit.
    fn look_at_work(&mut self, tree: &mut Tree) {
        let began = since_boot();
        let (mut count, took) =
            self.counting.take().unwrap_or_else(|| (work::SizeCount::begin(&self.dir, None), Duration::ZERO));
        let is_all = count.go_on(ENTRIES);
        let unnamed = if is_all { self.unnamed(tree) } else { 0 };
        let found = (count.found.total + unnamed).saturating_sub(self.given);
        self.work = if is_all { found } else { found.max(self.work) };
        self.peak_work = self.peak_work.max(self.work);
        let took = took + since_boot().saturating_sub(began);
        if is_all {
            self.next_work = since_boot() + (took * WORK_SHARE).clamp(LATEST, LATEST * 60);
        } else {
            self.next_work = since_boot();
            self.counting = Some((count, took));
        }
    }

    /// Bytes of files without a name that the tree has open, on the disk that the work directory is on.
    fn unnamed(&self, tree: &mut Tree) -> u64 {
        let Ok(device) = std::fs::metadata(&self.dir).map(|meta| meta.dev()) else { return 0 };
        let members = tree.look();
        let files = members.iter().flat_map(|stat| proc::unnamed(stat.process.pid));
        let ours = files.filter(|(of, ..)| *of == device).map(|(_, inode, bytes)| (inode, bytes));
        ours.collect::<HashMap<_, _>>().into_values().sum()
    }
}

/// A process that does not let us see its proportion counts in full.
fn pss(members: &[Stat], page: u64) -> u64 {
    let one = |stat: &Stat| proc::pss(stat.process.pid).unwrap_or(stat.resident * page);
    members.iter().filter(|stat| !stat.is_dead()).map(one).sum()
}
