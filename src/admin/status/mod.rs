//! `pressroom status`: how the site is, for people, for programs and for Prometheus; 0 well, 1 warning, 2 critical.
//!
//! It takes no lock that matters and changes nothing: attempts' locks are looked at and let go at once, the locks of
//! ticks are not looked at, the database is read.

mod findings;
mod gather;
pub mod json;
mod prometheus;
mod report;
pub mod text;

pub use self::report::{Finding, Level, Report, RunningJob};

use crate::{
    cli::{Global, StatusArgs, StatusFormat},
    context::{By, Context, explained},
    exit::{Exit, Failure},
    output::Output,
    site::Site,
};

/// Looks, tells, and ends with the worst that was found.
pub fn run(global: &Global, args: &StatusArgs) -> Result<(), Failure> {
    let mut paper = Output::new();
    let worst = match look(global) {
        Ok((context, report)) => {
            tell(&context, &report, args.format, &mut paper);
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

fn look(global: &Global) -> Result<(Context, Report), Failure> {
    let context = Context::load(global)?;
    Site::open(&context.config).map_err(anyhow::Error::from)?;
    let store = context.view_store()?;
    let report = Report::gather(&context, &store.view())?;
    Ok((context, report))
}

fn tell(context: &Context, report: &Report, format: StatusFormat, paper: &mut Output) {
    match format {
        StatusFormat::Text => text::print(report, paper),
        StatusFormat::Json => paper.json(&json::object(report)),
        StatusFormat::Prometheus => prometheus::print(context, report, paper),
    }
}

/// Without a configuration, a site or a database there is nothing to look at, and nothing works.
fn broken(failure: &Failure, format: StatusFormat, paper: &mut Output) {
    let reason = failure.error.as_ref().map_or_else(String::new, |error| format!("{error:#}"));
    match format {
        StatusFormat::Text => reason.trim_end().lines().for_each(|line| paper.line(format!("critical: {line}"))),
        StatusFormat::Json => paper.json(&json::broken(&reason)),
        StatusFormat::Prometheus => prometheus::broken(paper),
    }
}
