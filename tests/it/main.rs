//! The real program in a small world: real processes, real files, a real database.

mod after;
mod answers;
mod bad_input;
mod bad_places;
mod clocks;
mod crowd;
mod derived;
mod dry;
mod full_disk;
mod kills;
mod pruning;
mod races;
mod refusals;
mod request;
mod site;
mod ticks;
mod together;
mod waiting;
