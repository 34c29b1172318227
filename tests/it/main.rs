//! The real program in a small world: real processes, real files, a real database.

mod admin;
mod answers;
mod check;
mod crowd;
mod jobs;
mod kills;
mod queues;
mod races;
mod refusals;
mod request;
mod site;
mod status;
mod ticks;
mod together;
