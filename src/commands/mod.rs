//! The commands: here the rooms below are brought together.

pub mod check;
pub mod ending;
pub mod request;
pub mod run;
pub mod tick;
pub mod trial;
pub mod usage;
pub mod world;
