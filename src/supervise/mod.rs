//! The exporter's contract: start it under its limits, watch its whole process tree, end the tree, tell what ended it.
//!
//! A run is single-threaded and supervises one attempt: `become_run`, `spawn`, `supervise`, `classify`. It is the
//! subreaper of everything that the exporter starts, so each process of the tree stays its descendant. When the
//! leader has been reaped and no child is left, nobody is; the number of the leader's group and session cannot pass to
//! strangers while one of its members is there.
//!
//! `tree::end_tree` does the same from outside, for what a dead run has left behind.

#[expect(unsafe_code, reason = "runs between fork and exec")]
mod child;
mod classify;
mod cpu;
mod events;
mod exec_spec;
mod handle;
#[expect(unsafe_code, reason = "an allocator is an unsafe trait")]
mod heap;
mod ids;
mod kill_state;
pub mod log;
mod members;
mod memory;
mod outside;
mod overseer;
mod phase;
mod proc;
mod progress;
#[expect(unsafe_code, reason = "the kernel is told what is not needed")]
mod release_memory;
#[expect(unsafe_code, reason = "SQLite takes system calls as pointers to functions")]
mod removing;
mod result;
mod rlimits;
mod spawn;
mod stage;
mod supervisor;
mod sweep;
#[expect(unsafe_code, reason = "system calls that nobody wraps")]
mod sys;
mod tail;
pub mod tree;
mod watch;
mod work;

pub use self::classify::classify;
pub use self::exec_spec::{ExecSpec, environment, resolve};
pub use self::handle::without_pidfd;
pub use self::ids::{new_id, nonce, prepare_ids};
pub use self::outside::usage;
pub use self::overseer::{Overseer, Progress, StopOrder};
pub use self::progress::read_message;
pub use self::release_memory::give_back;
pub use self::removing::guard as guard_database;
pub use self::result::{EndedBy, ProcessResult};
pub use self::rlimits::unsettable;
pub use self::spawn::{Leader, SpawnError, spawn};
pub use self::stage::{
    become_run, become_trial, cannot_supervise, hear_children, heed_stop_signals, inherited_lock, survive_file_limit,
    with_file_limit,
};
pub use self::supervisor::supervise;
pub use self::sys::{clock_is_synchronised, may_be_written};

#[cfg(test)]
mod tests;
