//! What a running attempt uses just now, as anybody can see it: its run is found by its command line, which is no secret,
//! and the exporter's processes by their descent from it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::Duration,
};

use super::{
    proc::{self, Stat},
    sys,
};

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
