//! `pressroom request`: a fresh file first, then the job's row, then exactly one new row.
//!
//! It never forks and never runs an exporter: it may be running inside a web server's worker.

mod admit;
mod ask;
mod bar;
mod chain;
mod dropped;
mod estimate;
mod name;
mod patience;
mod pipeline;
mod renew;
pub mod say;
mod wait;

pub use admit::{breaker_of, disk_is_low, disk_is_low_with, full as admit_queue};
pub use ask::{Ask, pair};
pub use chain::{Placed, enqueue, source_of};
pub use name::download as download_name;
pub use pipeline::{answer, at_once, ready};
pub use renew::{SourceState, renew_source};
pub use wait::until_settled;

use super::{
    denied::{By, explained},
    world::World,
};
use crate::{
    cli::{Format, Global, RequestArgs},
    exit::Failure,
    logging,
    model::answer::Answer,
};

/// Answers one request on stdout, with the exit code of its state.
pub fn run(global: &Global, args: &RequestArgs) -> Result<(), Failure> {
    match find_answer(global, args) {
        Ok(answer) => say::out(&answer, args.format),
        Err(failure) => Err(say::failure(explained(failure, global, By::Group), args.format)),
    }
}

fn find_answer(global: &Global, args: &RequestArgs) -> Result<Answer, Failure> {
    let world = World::load(global)?;
    let ask = match Ask::read(&world.config, args)? {
        Ok(ask) => ask,
        Err(refused) => return Ok(refused),
    };
    if let Some(ready) = at_once(&world, &ask)? {
        return Ok(ready);
    }
    if let Err(refused) = ask.vet(&world.config)? {
        return Ok(refused);
    }
    let first = answer(&world, &ask)?;
    warn(&first, args.format);
    match args.wait {
        Some(limit) => wait::until_settled(&world, &ask, first, limit),
        None => Ok(first),
    }
}

/// What delays a queued job, and what became of an earlier one, is said on stderr as well, for callers that read only the
/// state.
fn warn(answer: &Answer, format: Format) {
    use crate::model::answer::State::{Absent, Queued};
    if let (Queued | Absent, Format::Text) = (answer.state, format) {
        answer.reason.iter().chain(&answer.dropped).for_each(logging::diagnostic_line);
    }
}
