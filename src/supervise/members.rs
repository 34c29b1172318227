//! Who belongs to a tree.
//!
//! Descent is enough while the run lives, since it is the subreaper: whoever loses its parent becomes its child. Group,
//! session and cookie find what a dead run has left, and each process that was recognised once stays recognised.

use crate::model::process::ProcessId;
use std::{
    cell::RefCell,
    collections::{BTreeSet, HashSet},
    io,
};

use super::{
    proc::{self, Stat},
    sys::{self, Reaped},
    tree::TreeIds,
};

/// A tree that is being watched or ended.
pub(super) struct Tree {
    pub ids: TreeIds,
    me: ProcessId,
    known: BTreeSet<ProcessId>,
    /// ProcessId numbers that were found to be somebody else's.
    strangers: HashSet<i32>,
    /// Whom SIGTERM has reached.
    pub asked: BTreeSet<ProcessId>,
    /// Orphans of the tree that ended and were reaped, since the last [`Tree::take_reaped`].
    reaped: Vec<Reaped>,
    /// What the last look could not read.
    unread: RefCell<Option<io::Error>>,
}

impl Tree {
    pub(super) fn new(ids: TreeIds, me: ProcessId) -> Self {
        Self::among(HashSet::new(), ids, me)
    }

    /// A tree of which nobody was there yet when the numbers of `strangers` were read.
    pub(super) fn among(strangers: HashSet<i32>, ids: TreeIds, me: ProcessId) -> Self {
        Self {
            ids,
            me,
            known: BTreeSet::new(),
            strangers,
            asked: BTreeSet::new(),
            reaped: Vec::new(),
            unread: RefCell::new(None),
        }
    }

    /// What the last look could not read: somebody may be there whom it has not found.
    pub(super) fn unread(&self) -> Option<io::Error> {
        self.unread.borrow_mut().take()
    }

    /// A value that was read, or nothing, which is remembered.
    fn read_or_note<T>(&self, read: io::Result<Option<T>>) -> Option<T> {
        read.unwrap_or_else(|error| {
            *self.unread.borrow_mut() = Some(error);
            None
        })
    }

    /// Whether this process is the run of the tree, and thus the parent of its orphans.
    pub(super) fn is_ours(&self) -> bool {
        self.ids.run == Some(self.me)
    }

    /// The members by descent, group and session, the dead ones that wait for their parents included. Cheap: whoever
    /// was found to be a stranger is not looked at.
    pub(super) fn look(&mut self) -> Vec<Stat> {
        let all = self.read();
        let (members, others) = self.divide(all);
        // A child of somebody who could not be read would be a stranger for long.
        if self.unread.borrow().is_none() {
            self.strangers.extend(others.iter().map(|stat| stat.process.pid));
        }
        self.keep(members)
    }

    /// The same, and whoever carries the cookie; every process of the machine is looked at.
    pub(super) fn look_everywhere(&mut self) -> Vec<Stat> {
        self.forget_strangers();
        self.look_for_cookies()
    }

    /// The same, but whoever is known as a stranger is not looked at.
    pub(super) fn look_for_cookies(&mut self) -> Vec<Stat> {
        let all = self.read();
        let (mut members, others) = self.divide(all);
        members.extend(others.into_iter().filter(|stat| self.has_cookie(stat)));
        self.keep(members)
    }

    /// The number of a stranger that has ended can pass to a member.
    pub(super) fn forget_strangers(&mut self) {
        self.strangers.clear();
    }

    /// What the orphans used that were reaped since the last call.
    pub(super) fn take_reaped(&mut self) -> Vec<Reaped> {
        std::mem::take(&mut self.reaped)
    }

    fn read(&self) -> Vec<Stat> {
        let strange = |pid: &i32| *pid <= 1 || *pid == self.me.pid || self.strangers.contains(pid);
        self.unread.replace(None);
        let pids = self.read_or_note(proc::pids().map(Some)).unwrap_or_default();
        let wanted = pids.into_iter().filter(|pid| !strange(pid));
        wanted.filter_map(|pid| self.read_or_note(proc::stat(pid))).collect()
    }

    /// Members first, then the others.
    fn divide(&self, mut all: Vec<Stat>) -> (Vec<Stat>, Vec<Stat>) {
        all.sort_unstable_by_key(|stat| stat.parent);
        let numbers_are_ours = self.numbers_are_ours(&all);
        let mut inside: Vec<bool> =
            all.iter().map(|stat| self.is_root(stat) || (numbers_are_ours && self.has_number(stat))).collect();
        spread(&all, &mut inside);
        let (mut members, mut others) = (Vec::new(), Vec::new());
        for (stat, inside) in all.into_iter().zip(inside) {
            if inside { members.push(stat) } else { others.push(stat) }
        }
        (members, others)
    }

    fn is_root(&self, stat: &Stat) -> bool {
        let child = self.is_ours() && stat.parent == self.me.pid;
        child || self.known.contains(&stat.process) || [self.ids.run, self.ids.leader].contains(&Some(stat.process))
    }

    /// The number of a group or session is not given away while it has members, unless the leader's number has passed
    /// to somebody else since.
    fn numbers_are_ours(&self, all: &[Stat]) -> bool {
        self.ids
            .leader
            .is_some_and(|leader| all.iter().all(|stat| stat.process.pid != leader.pid || stat.process == leader))
    }

    /// It is in the leader's session or group, and of our user: another user's has been given the number since.
    fn has_number(&self, stat: &Stat) -> bool {
        let Some(leader) = self.ids.leader else { return false };
        (stat.session == leader.pid || stat.group == leader.pid)
            && stat.process.start >= leader.start
            && self.read_or_note(proc::is_of_our_user(stat.process.pid)).unwrap_or(false)
            && self.read_or_note(proc::cookie(stat.process.pid)).is_none_or(|cookie| cookie == self.ids.attempt)
    }

    fn has_cookie(&self, stat: &Stat) -> bool {
        const KTHREADD: i32 = 2;
        // Nobody knew the cookie before the leader was started.
        let late = self.ids.leader.is_none_or(|leader| stat.process.start >= leader.start);
        let cookie = || self.read_or_note(proc::cookie(stat.process.pid));
        late && stat.parent != KTHREADD && cookie().as_deref() == Some(&*self.ids.attempt)
    }

    /// Remembers the members, and reaps those that have become our children and ended.
    fn keep(&mut self, mut members: Vec<Stat>) -> Vec<Stat> {
        members.retain(|stat| !self.reap_orphan(stat));
        if self.unread.borrow().is_none() {
            self.known.clear();
        }
        self.known.extend(members.iter().map(|stat| stat.process));
        members
    }

    /// Never the leader: as long as it is not reaped, its number is nobody else's.
    fn reap_orphan(&mut self, stat: &Stat) -> bool {
        let orphan = self.is_ours() && stat.parent == self.me.pid && Some(stat.process) != self.ids.leader;
        let reaped = if orphan && stat.is_dead() { sys::reap(stat.process.pid) } else { None };
        self.reaped.extend(reaped);
        reaped.is_some()
    }
}

/// Marks the descendants of those that are marked. `all` is sorted by parent.
fn spread(all: &[Stat], inside: &mut [bool]) {
    let mut todo: Vec<usize> = (0..all.len()).filter(|index| inside[*index]).collect();
    while let Some(index) = todo.pop() {
        let parent = all[index].process.pid;
        let first = all.partition_point(|stat| stat.parent < parent);
        for child in (first..all.len()).take_while(|child| all[*child].parent == parent) {
            if !std::mem::replace(&mut inside[child], true) {
                todo.push(child);
            }
        }
    }
}
