//! The command line, as clap's derive reads it. Raw words become meaning in the commands.

mod admin;
pub mod fast_path;
mod jobs;

pub use self::{
    admin::{BackupArgs, QueuesArgs, QueuesCommand, RestoreArgs, StatusArgs, StatusFormat},
    jobs::{
        BulkArgs, Filters, HistoryArgs, InvalidateArgs, JobsArgs, JobsCommand, ListArgs, LogArgs, ShowArgs, StatusWord,
        Which,
    },
};

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::model::clock;

/// Makes files on demand for a web site, without a daemon.
#[derive(Debug, Parser)]
#[command(name = "pressroom", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Start with `pressroom check --create`; `pressroom COMMAND --help` tells about each command.")]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The configuration [default: $PRESSROOM_CONFIG, else /etc/pressroom/pressroom.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Tell on stderr what is done; twice tells more ($PRESSROOM_LOG takes a filter instead)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// How -v writes
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask for one file: serve it, report its progress, or queue it
    Request(RequestArgs),
    /// One round of the dispatcher, for cron: reap, prune, claim, launch, report
    Tick(TickArgs),
    /// Supervise one attempt (started by tick)
    #[command(hide = true)]
    Run(RunArgs),
    /// Run one export in the foreground, under its limits, and say what it used
    Try(TryArgs),
    /// Check the configuration and the state directory, or make the latter
    Check(CheckArgs),
    /// Look at jobs and their history; retry, cancel, dismiss, invalidate
    Jobs(JobsArgs),
    /// Look at queues; pause, resume, drain
    Queues(QueuesArgs),
    /// Save the database to a file, while everything runs
    Backup(BackupArgs),
    /// Put the database back as it was when a backup was made
    Restore(RestoreArgs),
    /// How the site is: well, or what is wrong and what to do
    Status(StatusArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 ready, 75 queued or started, 70 failed, 66 absent, 69 unavailable or limited, \
65 bad value, 64 wrong usage or unknown exporter, 78 configuration, 74 I/O.\n\n\
`pressroom request --cgi` answers one request of a web server instead; see docs/web.md.")]
pub struct RequestArgs {
    /// The exporter, as in [exporter.NAME]
    pub exporter: OsString,
    /// Its parameters
    #[arg(value_name = "NAME=VALUE")]
    pub values: Vec<OsString>,
    /// Who asks, for the limit on pending jobs of one client
    #[arg(long, value_name = "ID")]
    pub client: Option<String>,
    /// From -10 to 10; one step is worth ten minutes of waiting
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true,
          value_parser = clap::value_parser!(i64).range(-10..=10))]
    pub priority: i64,
    /// Only a file whose making began at or after TIME counts: 2h for two hours ago, "2026-03-01 12:00", or RFC 3339
    #[arg(long, value_name = "TIME")]
    pub after: Option<String>,
    /// Do not start before TIME: 2h for in two hours, 03:00, "2026-03-01 12:00", or RFC 3339
    #[arg(long, value_name = "TIME")]
    pub not_before: Option<String>,
    /// Wait so long for the file or the failure
    #[arg(long, value_name = "DURATION", value_parser = clock::parse_duration)]
    pub wait: Option<Duration>,
    /// Only look: queue nothing
    #[arg(long)]
    pub no_enqueue: bool,
    /// How to answer
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 the round is over, or another tick is at work (jobs may have failed); 64 wrong usage, 74 I/O, \
78 configuration, or root without --allow-root."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct TickArgs {
    /// Print what the next round does; change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// How to print the plan
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", requires = "dry_run")]
    pub format: Format,
    /// Stay so long and start jobs as soon as they are asked for
    #[arg(long = "for", value_name = "DURATION", value_parser = clock::parse_duration)]
    pub linger: Option<Duration>,
    /// Stay until the runs that this tick launched have ended
    #[arg(long)]
    pub wait: bool,
    /// Believe the clock from the next full round on, whatever earlier rounds have seen
    #[arg(long, conflicts_with = "dry_run")]
    pub accept_clock: bool,
    /// Run as root all the same (in a container)
    #[arg(long)]
    pub allow_root: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 the export succeeded, 70 it failed, 65 bad value, 64 wrong usage or unknown exporter, 74 I/O, \
78 configuration, or root without --allow-root."
)]
pub struct TryArgs {
    /// The exporter, as in [exporter.NAME]
    pub exporter: OsString,
    /// Its parameters
    #[arg(value_name = "NAME=VALUE")]
    pub values: Vec<OsString>,
    /// Copy the file that it makes to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Run as root all the same (in a container)
    #[arg(long)]
    pub allow_root: bool,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The attempt's id
    pub attempt: String,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 the site can be used, perhaps with warnings, 78 it cannot, 64 wrong usage.")]
pub struct CheckArgs {
    /// Make the state directory and the database where they are missing
    #[arg(long)]
    pub create: bool,
    /// Whom the state directory belongs to: the user of the crontab
    #[arg(long, value_name = "USER", requires = "create")]
    pub user: Option<String>,
    /// The group that this user and the web server share
    #[arg(long, value_name = "GROUP", requires = "create")]
    pub group: Option<String>,
    /// Let root own it all (in a container)
    #[arg(long)]
    pub allow_root: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
