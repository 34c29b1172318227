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

use super::world::World;
use crate::{
    cli::{Global, JobsArgs, JobsCommand},
    exit::Failure,
    site::Site,
};

/// Runs one of the commands about jobs.
pub fn run(global: &Global, args: &JobsArgs) -> Result<(), Failure> {
    let world = World::load(global)?;
    Site::open(&world.config).map_err(anyhow::Error::from)?;
    match &args.command {
        JobsCommand::List(args) => list::run(&world, args),
        JobsCommand::Show(args) => show::run(&world, args),
        JobsCommand::Log(args) => log::run(&world, args),
        JobsCommand::History(args) => history::run(&world, args),
        JobsCommand::Retry(args) => retry::run(&world, args),
        JobsCommand::Cancel(args) => cancel::run(&world, args),
        JobsCommand::Dismiss(args) => dismiss::run(&world, args),
        JobsCommand::Invalidate(args) => invalidate::run(&world, args),
    }
}
