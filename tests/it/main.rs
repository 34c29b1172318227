//! The real program in a small world: real processes, real files, a real database.

mod admin;
mod after;
mod answers;
mod bad_input;
mod bad_places;
mod clocks;
mod crowd;
mod derived;
mod dry;
mod full_disk;
mod jobs;
mod kills;
mod pruning;
mod queues;
mod races;
mod refusals;
mod request;
mod rooms;
mod site;
mod status;
mod ticks;
mod together;
mod waiting;
