//! The real program in a small world: real processes, real files, a real database.

mod answers;
mod answers_age;
mod crowd;
mod kills;
mod late;
mod races;
mod records;
mod recovery;
mod refusals;
mod request;
mod retries;
mod rogue;
mod rogue_memory;
mod rogue_output;
mod rogue_processes;
mod rogue_results;
mod running;
mod site;
mod spoken;
mod stops;
mod strays;
mod ticks;
mod timeouts;
mod together;
