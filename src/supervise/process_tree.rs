//! The processes of an attempt: who belongs to its tree, and how the tree is ended.
//!
//! Descent is enough while the run lives, since it is the subreaper: whoever loses its parent becomes its child. Group,
//! session and cookie find what a dead run has left, and each process that was recognised once stays recognised.
//!
//! Ending is: ask, wait, kill, look again. A signal goes through a handle that was opened before the process was recognised
//! once more, so it reaches nobody else. Killing stops everybody first: what forks while it is being killed would never be
//! caught up with.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashSet},
    fmt, io,
    time::Duration,
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::Signal,
};

use super::{
    proc::{self, Handle, Stat},
    sys::{self, Reaped},
};
use crate::model::{clock::since_boot, process::ProcessId};

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

/// What is known of an attempt's processes. Numbers of another boot must not be put in here: leave `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeIds {
    /// The attempt's id, the cookie in the environment.
    pub attempt: String,
    pub run: Option<ProcessId>,
    /// Its number is also that of its group and session.
    pub leader: Option<ProcessId>,
}

/// A process that is still there after SIGKILL, or of which nobody knows whether it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// `None`: it cannot be told who is there.
    pub process: Option<ProcessId>,
    /// Its name and why it is still there.
    pub reason: String,
}

impl Stuck {
    /// Something that would have to be known could not be read.
    pub(super) fn unknown(error: &io::Error) -> Self {
        Self { process: None, reason: format!("its processes cannot be looked for: {error}") }
    }
}

impl fmt::Display for Stuck {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            Some(process) => write!(to, "process {} {}", process.pid, self.reason),
            None => to.write_str(&self.reason),
        }
    }
}

/// What became of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swept {
    /// Two looks in a row found nobody.
    Gone,
    /// Its slot stays taken.
    Stuck(Vec<Stuck>),
}

/// Ends a tree: SIGTERM and SIGCONT, after `kill_after` SIGKILL; zero kills at once. A run that is still alive (and
/// is not this process) is killed first. Takes at most `kill_after` and about three seconds. What cannot be read leaves
/// the tree "stuck": nobody may be taken for gone who was not looked at.
pub fn end_tree(ids: &TreeIds, kill_after: Duration) -> Swept {
    end_within(ids, kill_after, KILL_TIMEOUT)
}

/// The same for a tree of which something is known to be stuck: it is killed once more and not waited for.
pub fn end_stuck_tree(ids: &TreeIds) -> Swept {
    end_within(ids, Duration::ZERO, Duration::ZERO)
}

fn end_within(ids: &TreeIds, kill_after: Duration, patience: Duration) -> Swept {
    let ended = ProcessId::this().map(|me| Tree::new(ids.clone(), me)).and_then(|mut tree| {
        kill_run(&mut tree)?;
        Ok(end(&mut tree, kill_after, patience))
    });
    ended.unwrap_or_else(|error| Swept::Stuck(vec![Stuck::unknown(&error)]))
}

/// How long a killed process may take to go before it is called stuck.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest wait between two looks.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Descriptors that are waited on at once.
const WAITED: usize = 64;
/// So often in a row something may be unreadable before it is said.
const TRIES: usize = 3;

/// Kills a run that is alive and is not this process, after its tree was looked at: its children will lose their
/// parent, and with it what leads to them. So it stays if they cannot be read.
pub(super) fn kill_run(tree: &mut Tree) -> io::Result<()> {
    let Some(run) = tree.ids.run.filter(|_| !tree.is_ours()) else { return Ok(()) };
    if run.is_alive()? {
        tree.look_everywhere();
        if let Some(error) = tree.unread() {
            return Err(error);
        }
        let _ = send(run, Signal::SIGKILL);
    }
    Ok(())
}

/// Ends everybody; who is there for `patience` after being killed is stuck. Looks twice before it says that they are gone.
pub(super) fn end(tree: &mut Tree, kill_after: Duration, patience: Duration) -> Swept {
    let kill_at = since_boot().saturating_add(kill_after);
    let (mut unseen, mut unread) = (0, 0);
    while unseen < 2 {
        let alive = living(tree);
        if alive.is_empty() {
            let Some(error) = tree.unread() else {
                unseen += 1;
                continue;
            };
            (unseen, unread) = (0, unread + 1);
            if unread == TRIES {
                return Swept::Stuck(vec![Stuck::unknown(&error)]);
            }
            wait(&[], LOOK_INTERVAL);
        } else if since_boot() < kill_at {
            unseen = 0;
            wait(&ask(tree, &alive), LOOK_INTERVAL);
        } else if since_boot() < kill_at.saturating_add(patience) {
            unseen = 0;
            wait(&kill(&alive), LOOK_INTERVAL);
        } else {
            return Swept::Stuck(alive.iter().map(why).collect());
        }
    }
    Swept::Gone
}

/// Why each of those is still there that were killed.
pub(super) fn stuck(tree: &mut Tree) -> Vec<Stuck> {
    living(tree).iter().map(why).collect()
}

/// The members that have not ended.
pub(super) fn living(tree: &mut Tree) -> Vec<Stat> {
    let mut members = tree.look_everywhere();
    members.retain(|stat| !stat.is_dead());
    members
}

/// SIGTERM, once, and SIGCONT, without which a stopped process would not hear it.
pub(super) fn ask(tree: &mut Tree, alive: &[Stat]) -> Vec<Handle> {
    let mut handles = Vec::new();
    for stat in alive {
        let Ok(Some(handle)) = Handle::open(stat.process) else { continue };
        if tree.asked.insert(stat.process) {
            let _ = handle.signal(Signal::SIGTERM);
            let _ = handle.signal(Signal::SIGCONT);
        }
        hold(&mut handles, handle);
    }
    handles
}

/// Stops everybody, then kills everybody.
pub(super) fn kill(alive: &[Stat]) -> Vec<Handle> {
    for stat in alive {
        let _ = send(stat.process, Signal::SIGSTOP);
    }
    let mut handles = Vec::new();
    for stat in alive {
        let Ok(Some(handle)) = Handle::open(stat.process) else { continue };
        let _ = handle.signal(Signal::SIGKILL);
        hold(&mut handles, handle);
    }
    handles
}

fn hold(handles: &mut Vec<Handle>, handle: Handle) {
    if handles.len() < WAITED {
        handles.push(handle);
    }
}

/// Waits until all have ended, or for `at_most`.
fn wait(handles: &[Handle], at_most: Duration) {
    let until = since_boot() + at_most;
    let left = || PollTimeout::try_from(until.saturating_sub(since_boot())).unwrap_or(PollTimeout::ZERO);
    for pidfd in handles.iter().filter_map(Handle::pidfd) {
        let _ = poll(&mut [PollFd::new(pidfd, PollFlags::POLLIN)], left());
    }
    if handles.iter().all(|handle| handle.pidfd().is_none()) {
        let _ = poll(&mut [], left());
    }
}

fn send(process: ProcessId, signal: Signal) -> io::Result<()> {
    Handle::open(process)?.ok_or_else(|| io::Error::from(Errno::ESRCH))?.signal(signal)
}

fn why(stat: &Stat) -> Stuck {
    let process = stat.process;
    let reason = match (send(process, Signal::SIGKILL), stat.state) {
        (Err(error), _) => format!("cannot be killed: {error}"),
        (Ok(()), b'D') => match proc::sleeps_in(process.pid) {
            Some(place) => format!("is in uninterruptible sleep in {place}"),
            None => "is in uninterruptible sleep".into(),
        },
        (Ok(()), state) => format!("has not ended after SIGKILL, state {}", char::from(state)),
    };
    Stuck { process: Some(process), reason: format!("({}) {reason}", proc::name(process.pid)) }
}
