//! The real program in a small world: real processes, real files, a real database.

mod abandoned;
mod answers;
mod bad_classes;
mod classes;
mod crowd;
mod delayed;
mod fairness;
mod kills;
mod lanes;
mod many_rows;
mod moments;
mod moved;
mod queues;
mod races;
mod refusals;
mod request;
mod schedules;
mod site;
mod sources;
mod stale;
mod tasks;
mod ticks;
mod together;
