//! When a queue that is full, or a client that has too much in it, has room again.

use std::time::Duration;

use crate::{
    config::Exporter,
    context::Context,
    model::{
        clock::Stamp,
        estimate::{Pace, Rhythm},
    },
    store::{Mode, View},
};

/// How many past attempts the time is taken from.
const SAMPLE: u32 = 21;
/// Seconds until there is room, when no past attempt tells.
const UNKNOWN: u64 = 60;
/// Seconds after which an administrator may have resumed a queue.
const PAUSED: u64 = 300;

/// The seconds until one of `these` jobs of a queue has probably gone, if they are spread evenly in it.
pub fn relief(
    context: &Context,
    view: &View,
    exporter: &Exporter,
    queue: &str,
    these: u64,
    now: Stamp,
) -> anyhow::Result<u64> {
    let state = view.queue(queue)?;
    if state.mode != Mode::Open {
        return Ok(PAUSED);
    }
    let typical = Pace::new(view.ok_durations(&exporter.name, SAMPLE)?).percentile(80);
    let Some(typical) = typical else { return Ok(UNKNOWN) };
    let seats =
        context.config.queues.get(queue).map_or(1, |queue| queue.max_running).min(context.config.host.max_running);
    let one =
        typical.as_secs().saturating_mul(state.due().max(1)) / u64::from(seats.max(1)).saturating_mul(these.max(1));
    // Whatever ends, a place becomes free when the next job is started.
    let rhythm = view.ticks()?.and_then(|ticks| Rhythm::of(&ticks, now));
    let round = rhythm.map_or(Duration::ZERO, |rhythm| rhythm.next_round()).as_secs();
    Ok(one.max(round).clamp(5, 600))
}
