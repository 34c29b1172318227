//! What goes to stderr: diagnostics, which are always shown, and `tracing` events, one for every change of state, of
//! which by default none is shown, so that cron mails only what matters.
//!
//! Stderr may be a closed pipe or a file on a full disk. What cannot be written there is dropped: no answer and no round
//! depends on it.

use std::{fmt::Display, io::Write as _};

use tracing_subscriber::{EnvFilter, fmt};

use crate::{
    cli::{Global, LogFormat},
    model::safe,
};

/// Shows events on stderr as `-v`, `-vv` or `PRESSROOM_LOG` ask for.
pub fn start(global: &Global) {
    let Some(filter) = filter(global.verbose) else { return };
    // Its own complaint about a stderr that cannot be written would be a panic.
    let log = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false).log_internal_errors(false);
    match global.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
}

/// `None` costs nothing: no subscriber is made at all.
fn filter(verbose: u8) -> Option<EnvFilter> {
    let level = match verbose {
        0 => return std::env::var("PRESSROOM_LOG").ok().filter(|text| !text.is_empty()).map(EnvFilter::new),
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    Some(EnvFilter::new(level))
}

/// Writes a diagnostic. Each of its lines is one write(2), so that neither a kill nor another process leaves half a line;
/// controls in it are shown as escapes.
pub fn diagnostic(text: impl Display) {
    for line in text.to_string().trim_end().split('\n') {
        let _ = std::io::stderr().write_all(format!("pressroom: {}\n", safe::diagnostic(line)).as_bytes());
    }
}

/// The same for text of which only one line may be made, whatever it contains.
pub fn diagnostic_line(text: impl Display) {
    diagnostic(text.to_string().trim_end().replace('\n', "; "));
}
