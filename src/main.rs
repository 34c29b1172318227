//! Entry point: parse, run one command, turn its failure into an exit code.

mod config;
mod model;
mod process;

fn main() {}
