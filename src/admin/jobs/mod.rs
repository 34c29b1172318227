//! `pressroom jobs`: what is stuck, why, and how to get it going again.

mod bulk;
pub mod cancel;
pub mod dismiss;
pub mod filter;
pub mod find;
pub mod history;
mod invalidate;
pub mod json;
pub mod list;
mod log;
pub mod retry;
pub mod show;
pub mod table;

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
        JobsCommand::Retry(args) => retry::run(&context, args),
        JobsCommand::Cancel(args) => cancel::run(&context, args),
        JobsCommand::Dismiss(args) => dismiss::run(&context, args),
        JobsCommand::Invalidate(args) => invalidate::run(&context, args),
    }
}
