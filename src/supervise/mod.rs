//! The exporter's contract: start it under its limits, watch its whole process tree, end the tree, tell what ended it.
//!
//! A run is single-threaded and supervises one attempt: `become_run`, `spawn`, `supervise`, `classify`. It is the
//! subreaper of everything that the exporter starts, so each process of the tree stays its descendant. When the
//! leader has been reaped and no child is left, nobody is; the number of the leader's group and session cannot pass to
//! strangers while one of its members is there.
//!
//! `process_tree::end_tree` does the same from outside, for what a dead run has left behind.

#[expect(unsafe_code, reason = "runs between fork and exec")]
mod child;
mod classify;
mod events;
mod exec_spec;
mod ids;
mod kill_state;
mod limits_monitor;
pub mod output;
mod proc;
pub mod process_tree;
mod progress;
mod spawn;
mod stage;
mod supervisor;
#[expect(unsafe_code, reason = "system calls that nobody wraps, an allocator, SQLite's pointers to functions")]
mod sys;
mod usage;
mod work;

pub use self::{
    classify::{EndedBy, ProcessResult, classify},
    exec_spec::{ExecSpec, environment, resolve, unsettable},
    ids::{new_id, nonce, prepare_ids},
    proc::without_pidfd,
    progress::{Overseer, Progress, StopOrder, read_message},
    spawn::{Leader, SpawnError, spawn},
    stage::{
        become_run, become_trial, cannot_supervise, hear_children, heed_stop_signals, inherited_lock,
        survive_file_limit, with_file_limit,
    },
    supervisor::supervise,
    sys::{clock_is_synchronised, give_back, guard as guard_database, may_be_written},
    usage::usage,
};

#[cfg(test)]
mod tests;
