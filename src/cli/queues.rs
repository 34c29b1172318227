//! `pressroom queues`.

use clap::{Args, Subcommand};

use super::Format;

#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 done, 66 no such queue, 64 wrong usage, 78 configuration.")]
pub struct QueuesArgs {
    #[command(subcommand)]
    pub command: QueuesCommand,
}

#[derive(Debug, Subcommand)]
pub enum QueuesCommand {
    /// Every queue: its mode, how many jobs wait and run in it, and its limits
    List {
        /// A table, or one object a line
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Requests still queue, nothing is started
    Pause(QueueNames),
    /// Everything goes on
    Resume(QueueNames),
    /// Nothing is started and requests are turned away
    Drain(QueueNames),
}

#[derive(Debug, Args)]
pub struct QueueNames {
    /// Which ones
    #[arg(required = true, value_name = "QUEUE")]
    pub queues: Vec<String>,
}
