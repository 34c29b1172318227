//! Ending a tree: ask, wait, kill, look again.
//!
//! A signal goes through a pidfd that was opened before the process was recognised once more, so it reaches nobody
//! else. Killing stops everybody first: what forks while it is being killed would never be caught up with.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    time::Duration,
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::Signal,
};

use super::{
    members::Tree,
    proc::{self, Stat},
    sys,
    tree::{Process, Stuck, Swept},
};
use crate::model::clock::since_boot;

/// How long a killed process may take to go before it is called stuck.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
/// The longest wait between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// Descriptors that are waited on at once.
const WAITED: usize = 64;

/// Kills a run that is alive and is not this process, after its tree was looked at: its children will lose their
/// parent, and with it what leads to them.
pub(super) fn kill_run(tree: &mut Tree) {
    let Some(run) = tree.ids.run.filter(|_| !tree.is_ours()) else { return };
    if run.is_alive() {
        tree.look_everywhere();
        let _ = send(run, Signal::SIGKILL);
    }
}

/// Ends everybody. Looks twice before it says that they are gone.
pub(super) fn end(tree: &mut Tree, kill_after: Duration) -> Swept {
    let kill_at = since_boot().saturating_add(kill_after);
    let mut unseen = 0;
    while unseen < 2 {
        let alive = living(tree);
        if alive.is_empty() {
            unseen += 1;
        } else if since_boot() < kill_at {
            unseen = 0;
            wait(&ask(tree, &alive), PAUSE);
        } else if since_boot() < kill_at + PATIENCE {
            unseen = 0;
            wait(&kill(&alive), PAUSE);
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
pub(super) fn ask(tree: &mut Tree, alive: &[Stat]) -> Vec<OwnedFd> {
    let mut fds = Vec::new();
    for stat in alive {
        let Some(pidfd) = open(stat.process) else { continue };
        if tree.asked.insert(stat.process) {
            let _ = sys::pidfd_signal(pidfd.as_fd(), Signal::SIGTERM);
            let _ = sys::pidfd_signal(pidfd.as_fd(), Signal::SIGCONT);
        }
        hold(&mut fds, pidfd);
    }
    fds
}

/// Stops everybody, then kills everybody.
pub(super) fn kill(alive: &[Stat]) -> Vec<OwnedFd> {
    for stat in alive {
        let _ = send(stat.process, Signal::SIGSTOP);
    }
    let mut fds = Vec::new();
    for stat in alive {
        let Some(pidfd) = open(stat.process) else { continue };
        let _ = sys::pidfd_signal(pidfd.as_fd(), Signal::SIGKILL);
        hold(&mut fds, pidfd);
    }
    fds
}

fn hold(fds: &mut Vec<OwnedFd>, pidfd: OwnedFd) {
    if fds.len() < WAITED {
        fds.push(pidfd);
    }
}

/// Waits until all have ended, or for `at_most`.
fn wait(pidfds: &[OwnedFd], at_most: Duration) {
    let until = since_boot() + at_most;
    let left = || PollTimeout::try_from(until.saturating_sub(since_boot())).unwrap_or(PollTimeout::ZERO);
    for pidfd in pidfds {
        let _ = poll(&mut [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)], left());
    }
    if pidfds.is_empty() {
        let _ = poll(&mut [], left());
    }
}

/// A descriptor for exactly this process; `None` if it has ended.
fn open(process: Process) -> Option<OwnedFd> {
    let pidfd = sys::pidfd_open(process.pid).ok()?;
    process.is_alive().then_some(pidfd)
}

fn send(process: Process, signal: Signal) -> io::Result<()> {
    let pidfd = open(process).ok_or_else(|| io::Error::from(Errno::ESRCH))?;
    sys::pidfd_signal(pidfd.as_fd(), signal)
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
    Stuck { process, reason: format!("({}) {reason}", proc::name(process.pid)) }
}
