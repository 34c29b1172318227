//! Ending a tree: ask, wait, kill, look again.
//!
//! A signal goes through a handle that was opened before the process was recognised once more, so it reaches nobody
//! else. Killing stops everybody first: what forks while it is being killed would never be caught up with.

use crate::model::process::ProcessId;
use std::{io, time::Duration};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::Signal,
};

use super::{
    handle::Handle,
    members::Tree,
    proc::{self, Stat},
    tree::{Stuck, Swept},
};
use crate::model::clock::since_boot;

/// How long a killed process may take to go before it is called stuck.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
/// The longest wait between two looks.
pub(super) const PAUSE: Duration = Duration::from_millis(50);
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
            wait(&[], PAUSE);
        } else if since_boot() < kill_at {
            unseen = 0;
            wait(&ask(tree, &alive), PAUSE);
        } else if since_boot() < kill_at.saturating_add(patience) {
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
