//! `pressroom request`: a fresh file first, then the job's row, then exactly one new row.
//!
//! It never forks and never runs an exporter: it may be running inside a web server's worker.

mod admit;
mod ask;
mod bar;
mod chain;
mod dropped;
mod estimate;
pub mod fit;
mod name;
pub mod output;
mod patience;
mod pipeline;
mod renew;
mod wait;

pub use self::{
    admit::{breaker_of, disk_is_low, disk_is_low_with, full as admit_queue},
    ask::{Ask, pair},
    chain::{Placed, enqueue, source_of},
    name::download as download_name,
    pipeline::{answer, at_once, ready},
    renew::{SourceState, renew_source},
    wait::until_settled,
};

use super::{
    cli::{Format, Global, RequestArgs},
    context::{By, Context, explained},
    exit::Failure,
    logging,
    model::answer::Answer,
};

/// Answers one request on stdout, with the exit code of its state.
pub fn run(global: &Global, args: &RequestArgs) -> Result<(), Failure> {
    match find_answer(global, args) {
        Ok(answer) => output::out(&answer, args.format),
        Err(failure) => Err(output::failure(explained(failure, global, By::Group), args.format)),
    }
}

fn find_answer(global: &Global, args: &RequestArgs) -> Result<Answer, Failure> {
    let context = Context::load(global)?;
    let ask = match Ask::read(&context.config, args)? {
        Ok(ask) => ask,
        Err(refused) => return Ok(refused),
    };
    if let Some(ready) = at_once(&context, &ask)? {
        return Ok(ready);
    }
    if let Err(refused) = ask.vet(&context.config)? {
        return Ok(refused);
    }
    let first = answer(&context, &ask)?;
    warn(&first, args.format);
    match args.wait {
        Some(limit) => wait::until_settled(&context, &ask, first, limit),
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
