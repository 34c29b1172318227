//! A process tree as others see it: who it is, and how to end it.

use crate::model::process::ProcessId;
use std::{fmt, io, time::Duration};

use super::{members::Tree, sweep};

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
    end_within(ids, kill_after, sweep::PATIENCE)
}

/// The same for a tree of which something is known to be stuck: it is killed once more and not waited for.
pub fn end_stuck_tree(ids: &TreeIds) -> Swept {
    end_within(ids, Duration::ZERO, Duration::ZERO)
}

fn end_within(ids: &TreeIds, kill_after: Duration, patience: Duration) -> Swept {
    let ended = ProcessId::this().map(|me| Tree::new(ids.clone(), me)).and_then(|mut tree| {
        sweep::kill_run(&mut tree)?;
        Ok(sweep::end(&mut tree, kill_after, patience))
    });
    ended.unwrap_or_else(|error| Swept::Stuck(vec![Stuck::unknown(&error)]))
}
