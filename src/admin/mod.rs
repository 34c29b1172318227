//! The commands of an admin, from `jobs` to `restore`; what they report is what the status pages draw.

pub mod actor;
pub mod backup;
pub mod check;
pub mod jobs;
pub mod queues;
pub mod restore;
pub mod status;
pub mod trial;
