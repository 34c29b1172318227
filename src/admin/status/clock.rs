//! The last tick, and whether the clock can be believed.

use std::time::Duration;

use crate::{
    context::Context,
    model::clock::{Belief, Doubt, Stamp, TickMark},
    tick::clock::{here, judged, was_set},
};

/// A last tick further ahead than this shows a clock that was set back.
const TOLERANCE_MS: i64 = 60_000;

/// How long nobody has ticked, and what is wrong with the clock.
pub struct Clock {
    /// `None`: nobody ever has.
    pub quiet: Option<Duration>,
    /// It was set since the last tick.
    pub was_set: bool,
    /// The last tick lies so far ahead.
    pub ahead: Option<Duration>,
    /// A round would not believe the clock. Others than the owner know that when a round has seen it.
    pub doubt: Option<Doubt>,
}

/// Compares this moment with the last tick.
pub fn of(context: &Context, last: Option<&TickMark>, now: Stamp) -> Clock {
    Clock {
        quiet: last.map(|last| now.since(last.at)),
        was_set: last.is_some_and(|last| was_set(last, &here(now))),
        ahead: last
            .map(|last| last.at.since(now))
            .filter(|ahead| ahead.as_millis() > TOLERANCE_MS.unsigned_abs().into()),
        doubt: doubt(context, now),
    }
}

fn doubt(context: &Context, now: Stamp) -> Option<Doubt> {
    match judged(&context.site.last_round()?, &here(now)) {
        Belief::Doubted(doubt) => Some(doubt),
        _ => None,
    }
}
