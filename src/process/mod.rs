//! The exporter's contract: start it under its limits, watch its whole process tree, end the tree, tell what ended it.
//!
//! A run is single-threaded and supervises one attempt: `become_run`, `spawn`, `supervise`, `classify`. It is the
//! subreaper of everything that the exporter starts, so each process of the tree stays its descendant. The leader is
//! seen dying without being reaped; its process number, and with it the number of its group and session, cannot pass
//! to strangers while the rest is ended.
//!
//! `tree::end_tree` does the same from outside, for what a dead run has left behind.

mod classify;
mod ending;
pub mod log;
mod order;
mod overseer;
mod progress;
mod spawn;
mod stage;
mod supervise;
pub mod tree;

pub use classify::classify;
pub use ending::{Ending, Reason};
pub use order::{Order, PATH, environment, resolve};
pub use overseer::{Overseer, Progress, Wish};
pub use progress::{read_message, read_progress};
pub use spawn::{Leader, SpawnError, spawn};
pub use stage::{become_run, become_trial};
pub use supervise::supervise;
pub use tree::{Process, start_time};
