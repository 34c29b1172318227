//! Every change of state is one `tracing` event; by default none is shown, so that cron mails only what matters.

use tracing_subscriber::{EnvFilter, fmt};

use crate::cli::{Global, LogFormat};

/// Shows events on stderr as `-v`, `-vv` or `PRESSROOM_LOG` ask for.
pub fn start(global: &Global) {
    let Some(filter) = filter(global.verbose) else { return };
    let log = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
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
