//! Whether anything can be made at all: room on the disk, and an exporter whose machine works.

use crate::{
    config::Exporter,
    context::Context,
    model::{
        breaker::{self, Breaker},
        clock::Stamp,
    },
    site,
    store::View,
};

/// How many first attempts the breaker looks at, for each failure that it counts.
const LOOK_BACK: u32 = 4;

/// Below `min_free` nothing is claimed, so nothing is promised.
pub fn disk_is_low(context: &Context) -> bool {
    disk_is_low_with(context, 0)
}

/// The same when so many bytes more will be free.
pub fn disk_is_low_with(context: &Context, freed: u64) -> bool {
    site::free_bytes(&context.site.cache()).is_ok_and(|free| free.saturating_add(freed) < context.config.cache.min_free)
}

/// Whether the exporter's machine is broken, from its last first attempts.
pub fn breaker_of(view: &View, exporter: &Exporter, now: Stamp) -> anyhow::Result<Breaker> {
    let mut firsts = view.first_attempts(&exporter.name, exporter.breaker.failures.saturating_mul(LOOK_BACK))?;
    // A mark of the future, as a wrong clock leaves one, would let everything through until then.
    if let Some(closed) = view.breaker_closed(&exporter.name)?.filter(|closed| *closed <= now) {
        firsts.retain(|first| first.ended > closed);
    }
    Ok(breaker::state(&firsts, exporter.breaker.failures, exporter.breaker.pause, now))
}
