//! The real program in a small world: real processes, real files, a real database.

mod answers;
mod crowd;
mod kills;
mod races;
mod refusals;
mod request;
mod site;
mod ticks;
mod together;
