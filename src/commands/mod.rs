//! The commands: here the rooms below are brought together.

pub mod actor;
mod adopt;
pub mod backup;
pub mod check;
pub mod denied;
mod ended_events;
pub mod ending;
mod fit;
pub mod jobs;
mod paper;
pub mod queues;
pub mod request;
pub mod restore;
pub mod run;
pub mod safe;
pub mod status;
pub mod tick;
pub mod trial;
pub mod usage;
pub mod words;
pub mod world;
