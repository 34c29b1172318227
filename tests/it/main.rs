//! The real program in a small world: real processes, real files, a real database.

mod answers;
mod crowd;
mod kills;
mod races;
mod refusals;
mod request;
mod rogue;
mod rogue_memory;
mod rogue_output;
mod rogue_processes;
mod rogue_results;
mod site;
mod strays;
mod ticks;
mod timeouts;
mod together;
