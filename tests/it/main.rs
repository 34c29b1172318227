//! The real program in a small world: real processes, real files, a real database.

mod crowd;
mod request;
mod site;
mod ticks;
mod together;
