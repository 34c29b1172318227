//! Words: what a job, an attempt and an answer are, and the decisions that need no file and no database.

pub mod age;
pub mod answer;
pub mod breaker;
pub mod client;
pub mod clock;
pub mod estimate;
pub mod failpoint;
pub mod filename;
pub mod format;
pub mod job;
pub mod limits;
pub mod misfit;
pub mod moment;
pub mod passing;
pub mod process;
pub mod retry;
pub mod safe;
pub mod status;
pub mod template;
