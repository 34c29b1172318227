//! `pressroom jobs`: what is stuck, why, and how to get it going again.

pub mod actions;
mod bulk;
pub mod filter;
pub mod find;
pub mod history;
mod invalidate;
pub mod json;
pub mod list;
mod log;
pub mod show;

use crate::{
    cli::{Global, JobsArgs, JobsCommand},
    context::Context,
    exit::Failure,
    site::Site,
};

/// Runs one of the commands about jobs.
pub fn run(global: &Global, args: &JobsArgs) -> Result<(), Failure> {
    let context = Context::load(global)?;
    Site::open(&context.config).map_err(anyhow::Error::from)?;
    match &args.command {
        JobsCommand::List(args) => list::run(&context, args),
        JobsCommand::Show(args) => show::run(&context, args),
        JobsCommand::Log(args) => log::run(&context, args),
        JobsCommand::History(args) => history::run(&context, args),
        JobsCommand::Retry(args) => actions::retry(&context, args),
        JobsCommand::Cancel(args) => actions::cancel(&context, args),
        JobsCommand::Dismiss(args) => actions::dismiss(&context, args),
        JobsCommand::Invalidate(args) => invalidate::run(&context, args),
    }
}
