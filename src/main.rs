//! Entry point: parse, run one command, turn its failure into an exit code.

mod cache;
mod config;
mod model;
mod site;
mod store;

fn main() {}
