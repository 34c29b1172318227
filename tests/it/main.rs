//! The real program in a small world: real processes, real files, a real database.

mod admin;
mod after;
mod answers;
mod bad_input;
mod bad_places;
mod books;
mod clocks;
mod cron;
mod crowd;
mod derived;
mod jobs;
mod kills;
mod outside;
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
mod users;
mod waiting;
