//! `pressroom jobs`.

use clap::{Args, Subcommand, ValueEnum};

use super::Format;
use crate::model::status::Outcome;

/// What is said about names in each command that takes one.
const NAMES: &str = "A JOB is named by its id, its filename, a unique beginning of its filename, or the id of one of \
its attempts. The id of a job that has ended still names its attempts. Exit status: 0 done, 66 nothing found, 64 ambiguous or wrong usage, 65 not in this state, 78 configuration.";

/// What bulk forms say of themselves.
const BULK: &str = "Without JOB, all that the filters match are meant: asked about first on a terminal, with --yes \
elsewhere. A JOB is named by its id, its filename, a unique beginning of its filename, or the id of one of its \
attempts. Exit status: 0 done, 66 nothing found, 64 ambiguous or wrong usage, 65 not in this state, 78 configuration.";

#[derive(Debug, Args)]
pub struct JobsArgs {
    #[command(subcommand)]
    pub command: JobsCommand,
}

#[derive(Debug, Subcommand)]
pub enum JobsCommand {
    /// Queued, started and failed jobs
    List(ListArgs),
    /// Everything about one job: its row, its attempts with limits and usage, the end of its log
    #[command(after_help = NAMES)]
    Show(ShowArgs),
    /// What an attempt has written
    #[command(after_help = NAMES)]
    Log(LogArgs),
    /// Past attempts
    History(HistoryArgs),
    /// Queue failed jobs again, as if they were new
    #[command(after_help = BULK)]
    Retry(BulkArgs),
    /// Forget queued jobs; end started ones and forget them
    #[command(after_help = BULK)]
    Cancel(BulkArgs),
    /// Forget failed jobs, so that the next request queues them anew; their attempts stay in the history
    #[command(after_help = BULK)]
    Dismiss(BulkArgs),
    /// Expire cached files so that the next request regenerates them
    #[command(after_help = INVALIDATE)]
    Invalidate(InvalidateArgs),
}

const INVALIDATE: &str = "A FILE is named as below cache/, `epub/Candide-fr-serif.epub`, or by a unique beginning; \
without any, all that the filters match are meant: asked about first on a terminal, with --yes elsewhere. \
Since and until are about when the file was made; parameters are those of the attempt that made it, and a file whose \
history is forgotten has none.";

/// Which jobs, attempts or files are meant.
#[derive(Clone, Debug, Default, Args)]
pub struct Which {
    /// Of this exporter
    #[arg(long, value_name = "NAME")]
    pub exporter: Option<String>,
    /// With this value of a parameter; may be repeated
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub params: Vec<String>,
    /// At or after TIME: 2h for two hours ago, 2026-03-01, "2026-03-01 12:00", or RFC 3339
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Before TIME
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
}

/// Which jobs or attempts are meant.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Filters")]
pub struct Filters {
    #[command(flatten)]
    pub which: Which,
    /// In this queue
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
    /// Asked for by this client: its address or name, or the hash that is stored
    #[arg(long, value_name = "ID")]
    pub client: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum StatusWord {
    Queued,
    Started,
    /// Both kinds of failures
    Failed,
    FailedTimeout,
    FailedUnknown,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// With this status; may be repeated
    #[arg(long, value_enum, value_name = "STATUS", value_delimiter = ',')]
    pub status: Vec<StatusWord>,
    /// id, filename, status, submitted, started, failed, attempts, priority, or turn for the order of claiming; a
    /// leading - reverses the order
    #[arg(long, value_name = "KEY", default_value = "-id", allow_hyphen_values = true)]
    pub sort: String,
    /// At most so many; 0: all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: u32,
    /// A table, or one object a line
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
    #[command(flatten)]
    pub filters: Filters,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Which one
    pub job: String,
    /// How many attempts to show, the newest first
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub attempts: u32,
    /// For people, or one object
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct LogArgs {
    /// Which one; of a job the last attempt
    pub job: String,
    /// Stay and show what comes until the attempt has ended
    #[arg(short, long)]
    pub follow: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Since and until are about the end of an attempt. What no index tells (queue, client, parameter, \
a sort key other than ended) is looked for among the newest 100000 attempts that match the rest; when there are \
older ones, stderr says so."
)]
pub struct HistoryArgs {
    /// Only attempts at this job or file
    pub job: Option<String>,
    /// With this result; may be repeated
    #[arg(long, value_name = "RESULT", value_delimiter = ',', value_parser = outcome)]
    pub result: Vec<Outcome>,
    /// With a result that leads to this status; may be repeated
    #[arg(long, value_enum, value_name = "STATUS", value_delimiter = ',')]
    pub status: Vec<StatusWord>,
    /// ended, duration, memory or cpu; a leading - reverses the order
    #[arg(long, value_name = "KEY", default_value = "-ended", allow_hyphen_values = true)]
    pub sort: String,
    /// At most so many; 0: all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: u32,
    /// A table, or one object a line
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
    #[command(flatten)]
    pub filters: Filters,
}

#[derive(Debug, Args)]
pub struct BulkArgs {
    /// Which ones
    #[arg(value_name = "JOB")]
    pub jobs: Vec<String>,
    /// With this status; may be repeated
    #[arg(long, value_enum, value_name = "STATUS", value_delimiter = ',')]
    pub status: Vec<StatusWord>,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
    #[command(flatten)]
    pub filters: Filters,
}

#[derive(Debug, Args)]
pub struct InvalidateArgs {
    /// Which ones
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    #[command(flatten)]
    pub which: Which,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

fn outcome(word: &str) -> Result<Outcome, String> {
    let names: Vec<_> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
    Outcome::from_name(word).ok_or_else(|| format!("results are {}", names.join(", ")))
}
