//! Why a request may not queue a job just now.

use std::time::Duration;

use super::{Ask, chain, estimate};
use crate::{
    config::{Exporter, Rate, params},
    context::Context,
    model::{
        answer::{Answer, State},
        breaker::{self, Breaker},
        clock::Stamp,
    },
    site,
    store::{Mode, View},
};

/// How many first attempts the breaker looks at, for each failure that it counts.
const LOOK_BACK: u32 = 4;

/// The refusal, if there is a reason for one: the client's rate, the queue, the client, the disk, the exporter.
pub fn refusal(context: &Context, view: &View, ask: &Ask, now: Stamp) -> anyhow::Result<Option<Answer>> {
    if let Some(wait) = over_rate(context, view, ask, now)? {
        let seconds = u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
        return Ok(Some(later(State::Limited, "you have asked for too many new files; try again later", seconds)));
    }
    refusal_of_source(context, view, ask, now)
}

/// The same for what is queued with a derived file. It counts against its client's rate, but is not refused for that:
/// whoever may have the one may have the other, and the rate of the derived files bounds both.
pub(super) fn refusal_of_source(
    context: &Context,
    view: &View,
    ask: &Ask,
    now: Stamp,
) -> anyhow::Result<Option<Answer>> {
    let sources = chain::sources_to_place(context, view, ask, now)?;
    if let Some(refusal) = full(context, view, ask, sources, now)? {
        return Ok(Some(refusal));
    }
    if let Some(seconds) = over_limit(context, view, ask, sources, now)? {
        return Ok(Some(later(State::Limited, "too many of your files are waiting already", seconds)));
    }
    if disk_is_low(context) {
        return Ok(Some(later(State::Unavailable, "the server is low on disk space", 60)));
    }
    if let Breaker::Open { until } = breaker_of(view, ask.exporter, now)? {
        let wait = until.since(now).as_secs() + 1;
        return Ok(Some(later(State::Unavailable, "this export is failing just now", wait)));
    }
    Ok(None)
}

/// The time after which the client's next new job is admitted, if that is not at once.
fn over_rate(context: &Context, view: &View, ask: &Ask, now: Stamp) -> anyhow::Result<Option<Duration>> {
    let (Some(client), Some(rate)) = (&ask.client, rate_of(context, ask)) else { return Ok(None) };
    let queue = params::lane(ask.exporter, &ask.values);
    let arrivals = view.arrivals(queue, client, now.minus(rate.window), now)?;
    Ok(wait(&arrivals, rate, now))
}

/// How long until the rate has room for one more, after these arrivals, the earliest first. `None`: it has.
fn wait(arrivals: &[(Stamp, u64)], rate: Rate, now: Stamp) -> Option<Duration> {
    // Whatever the rows say, the sum is a number.
    let count = arrivals.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    let excess = count.saturating_add(1).checked_sub(rate.count).filter(|excess| *excess > 0)?;
    // When so many are out of sight.
    let mut gone = 0_u64;
    let last = arrivals.iter().find(|(_, count)| {
        gone = gone.saturating_add(*count);
        gone >= excess
    });
    last.map(|(at, _)| at.plus(rate.window).since(now))
}

fn rate_of(context: &Context, ask: &Ask) -> Option<Rate> {
    context.config.queues.get(params::lane(ask.exporter, &ask.values))?.new_per_client
}

/// Whether the new jobs of each client are counted where this one goes.
pub(super) fn has_rate(context: &Context, ask: &Ask) -> bool {
    rate_of(context, ask).is_some()
}

/// The refusal of the queue alone: it is draining, or as long as it may be. `sources` go into the same queue with it.
/// Jobs whose time has not come are counted apart: a nightly batch turns nobody away at noon.
pub fn full(context: &Context, view: &View, ask: &Ask, sources: u64, now: Stamp) -> anyhow::Result<Option<Answer>> {
    let queue = params::lane(ask.exporter, &ask.values);
    let state = view.queue(queue)?;
    if state.mode == Mode::Draining {
        return Ok(Some(later(State::Unavailable, "no new files are made just now", 300)));
    }
    let is_later = ask.after.max(ask.not_before).is_some_and(|moment| moment > now);
    let before = if is_later { state.delayed } else { state.due().saturating_add(sources) };
    if context.config.queues.get(queue).is_none_or(|rules| before < rules.max_queued) {
        return Ok(None);
    }
    let seconds = match view.next_wake()?.filter(|_| is_later) {
        Some(wake) => wake.since(now).as_secs().clamp(5, 600),
        None => estimate::relief(context, view, ask.exporter, queue, state.due(), now)?,
    };
    Ok(Some(later(State::Unavailable, "too many files are waiting already", seconds)))
}

/// The seconds after which a client who has too much pending has probably one job less.
fn over_limit(context: &Context, view: &View, ask: &Ask, sources: u64, now: Stamp) -> anyhow::Result<Option<u64>> {
    let queue = params::lane(ask.exporter, &ask.values);
    let (Some(client), Some(rules)) = (&ask.client, context.config.queues.get(queue)) else { return Ok(None) };
    let pending = view.client_pending(queue, client)?;
    // Who has nothing pending is let in with whatever the file is made from, however low the limit.
    let over = pending > 0 && pending.saturating_add(sources) >= rules.max_per_client;
    over.then(|| estimate::relief(context, view, ask.exporter, queue, pending, now)).transpose()
}

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

fn later(state: State, reason: &str, seconds: u64) -> Answer {
    Answer { retry_after: Some(seconds), ..Answer::because(state, reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { count: 3, window: Duration::from_millis(100) };

    /// As the store tells them.
    fn at(arrivals: &[(i64, u64)], now: i64) -> Option<Duration> {
        let seen = arrivals.iter().filter(|(at, _)| *at > now - 100).map(|(at, count)| (Stamp(*at), *count));
        wait(&seen.collect::<Vec<_>>(), RATE, Stamp(now))
    }

    #[test]
    fn the_next_one_is_admitted_at_the_moment_that_was_told_and_not_before() {
        for arrivals in [&[(5, 1), (7, 1), (60, 1)][..], &[(5, 3)], &[(5, 2), (7, 4), (60, 1)], &[(1, 1), (2, 9)]] {
            let wait = at(arrivals, 60).expect("it is over the rate");
            let admitted = 60 + i64::try_from(wait.as_millis()).unwrap();
            assert_eq!(at(arrivals, admitted), None, "{arrivals:?}");
            assert_eq!(at(arrivals, admitted - 1), Some(Duration::from_millis(1)), "{arrivals:?}");
        }
        assert_eq!(at(&[(5, 1), (7, 1)], 60), None);
        assert_eq!(at(&[], 60), None);
    }

    #[test]
    fn counts_beyond_any_sum_are_waited_for_to_the_end_of_the_window() {
        assert_eq!(at(&[(5, u64::MAX), (7, u64::MAX), (60, 1)], 60), Some(Duration::from_millis(45)));
    }
}
