//! The real program in a small world: real processes, real files, a real database.

mod answers;
mod browser;
mod cgi;
mod crowd;
mod kills;
mod large;
mod lint;
mod races;
mod refusals;
mod request;
mod servers;
mod site;
mod ticks;
mod together;
mod web;
