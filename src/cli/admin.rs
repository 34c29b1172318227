//! The words of `pressroom queues`, `status`, `backup` and `restore`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

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

#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 well, 1 warning, 2 critical.\n\n\
`pressroom status --cgi` answers one request of a web server with the status page; see docs/status-page.md.")]
pub struct StatusArgs {
    /// For people, for programs, or for Prometheus (for a textfile collector)
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: StatusFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StatusFormat {
    #[default]
    Text,
    Json,
    Prometheus,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 the backup is complete and on the disk, 65 FILE is there already, 64 wrong usage, \
69 the database is busy, 74 I/O, 78 configuration or database, or run as root."
)]
pub struct BackupArgs {
    /// Where to save it; readable by its owner alone
    pub file: PathBuf,
    /// Replace FILE if it is there
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 the database is restored, 65 FILE cannot be restored, 66 there is no FILE, 64 wrong usage, \
69 a tick or an export is running, 74 I/O, 78 configuration, a newer database, or run as root."
)]
pub struct RestoreArgs {
    /// What `pressroom backup` has saved
    pub file: PathBuf,
}
