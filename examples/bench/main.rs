//! Measures Pressroom against floors and peers, one after the other in the same minutes, and writes what it found.
//! `make bench` builds and installs what it needs and runs it; docs/benchmarks.md explains each figure.

mod admin;
mod contender;
mod crowd;
mod figures;
mod fill;
mod group;
mod hit;
mod idle;
mod json;
mod latency;
mod machine;
mod memory;
mod million;
mod peers;
mod plot;
mod process;
mod queueing;
mod setup;
mod site;
mod stamps;
mod stats;
mod table;
mod thousand;
mod web;

use std::fs;

use anyhow::{Context, Result, ensure};
use group::Group;
use machine::Machine;
use setup::Setup;

type Measure = fn(&Setup) -> Result<Vec<Group>>;

/// In the order of the table.
const MEASURES: [(&str, Measure); 9] = [
    ("hit", hit::measure),
    ("queueing", queueing::measure),
    ("crowd", crowd::measure),
    ("latency", latency::measure),
    ("thousand", thousand::measure),
    ("million", million::measure),
    ("admin", admin::measure),
    ("web", web::measure),
    ("idle", idle::measure),
];

fn main() -> Result<()> {
    let setup = Setup::from_env()?;
    let machine = Machine::look(setup.dir());
    let (mut groups, mut failed) = (Vec::new(), Vec::new());
    for (name, measure) in MEASURES.iter().filter(|(name, _)| setup.wants(name)) {
        eprintln!("measuring {name}");
        match measure(&setup) {
            Ok(found) => groups.extend(found),
            Err(error) => failed.push(format!("{name}: {error:#}")),
        }
    }
    print!("{}", table::terminal(&groups));
    write(&setup, "results.md", &table::markdown(&groups, &machine.sentence(&setup)))?;
    write(&setup, "results.json", &json::text(&setup, &machine, &groups))?;
    figures::draw(&setup, &groups)?;
    ensure!(failed.is_empty(), "not measured: {}", failed.join("; "));
    Ok(())
}

fn write(setup: &Setup, name: &str, text: &str) -> Result<()> {
    let path = setup.out.join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}
