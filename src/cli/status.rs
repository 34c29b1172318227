//! `pressroom status`.

use clap::{Args, ValueEnum};

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
