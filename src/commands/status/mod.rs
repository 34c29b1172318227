//! `pressroom status`: how the site is, for people, for programs and for Prometheus; 0 well, 1 warning, 2 critical.
//!
//! It takes no lock that matters and changes nothing: attempts' locks are looked at and let go at once, the locks of
//! ticks are not looked at, the database is read.

mod clock;
mod findings;
mod gather;
pub mod json;
mod prometheus;
mod running;
pub mod text;

pub use findings::{Finding, Level};
pub use gather::Report;
pub use running::Running;

use super::{
    denied::{By, explained},
    paper::Paper,
    world::World,
};
use crate::{
    cli::{Global, StatusArgs, StatusFormat},
    exit::{Exit, Failure},
    site::Site,
};

/// Looks, tells, and ends with the worst that was found.
pub fn run(global: &Global, args: &StatusArgs) -> Result<(), Failure> {
    let mut paper = Paper::new();
    let worst = match look(global) {
        Ok((world, report)) => {
            tell(&world, &report, args.format, &mut paper);
            report.worst()
        }
        Err(failure) => {
            broken(&explained(failure, global, By::Admin), args.format, &mut paper);
            Some(Level::Critical)
        }
    };
    paper.close()?;
    match worst {
        None => Ok(()),
        Some(Level::Warning) => Err(Failure::code(Exit::Warning)),
        Some(Level::Critical) => Err(Failure::code(Exit::Critical)),
    }
}

fn look(global: &Global) -> Result<(World, Report), Failure> {
    let world = World::load(global)?;
    Site::open(&world.config).map_err(anyhow::Error::from)?;
    let store = world.view_store()?;
    let report = Report::gather(&world, &store.view())?;
    Ok((world, report))
}

fn tell(world: &World, report: &Report, format: StatusFormat, paper: &mut Paper) {
    match format {
        StatusFormat::Text => text::print(report, paper),
        StatusFormat::Json => paper.json(&json::object(report)),
        StatusFormat::Prometheus => prometheus::print(world, report, paper),
    }
}

/// Without a configuration, a site or a database there is nothing to look at, and nothing works.
fn broken(failure: &Failure, format: StatusFormat, paper: &mut Paper) {
    let reason = failure.error.as_ref().map_or_else(String::new, |error| format!("{error:#}"));
    match format {
        StatusFormat::Text => reason.trim_end().lines().for_each(|line| paper.line(format!("critical: {line}"))),
        StatusFormat::Json => paper.json(&json::broken(&reason)),
        StatusFormat::Prometheus => prometheus::broken(paper),
    }
}
