//! Why a request may not queue a job just now.

use std::time::Duration;

use super::{
    ask::{Ask, source_of},
    health::{breaker_of, disk_is_low},
    look::{Look, Refusal, Relief},
    standing::Standing,
};
use crate::{
    config::{Rate, params},
    model::{answer::State, breaker::Breaker, clock::Stamp},
    store::Mode,
};

impl Look<'_> {
    /// The refusal, if there is a reason for one: the client's rate, the queue, the client, the disk, the exporter.
    pub fn refusal(&self, ask: &Ask) -> anyhow::Result<Option<Refusal>> {
        match self.over_rate(ask)? {
            Some(wait) => {
                let seconds = u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
                let reason = "you have asked for too many new files; try again later";
                Ok(Some(Refusal::later(State::Limited, reason, seconds)))
            }
            None => self.refusal_of_source(ask),
        }
    }

    /// The same for what is queued with a derived file. It counts against its client's rate, but is not refused for that:
    /// whoever may have the one may have the other, and the rate of the derived files bounds both.
    pub(super) fn refusal_of_source(&self, ask: &Ask) -> anyhow::Result<Option<Refusal>> {
        let sources = self.sources_to_place(ask)?;
        if let Some(refusal) = self.full(ask, sources)? {
            return Ok(Some(refusal));
        }
        if let Some(relief) = self.over_limit(ask, sources)? {
            let reason = "too many of your files are waiting already";
            return Ok(Some(Refusal::until_room(State::Limited, reason, relief)));
        }
        if disk_is_low(self.context) {
            return Ok(Some(Refusal::later(State::Unavailable, "the server is low on disk space", 60)));
        }
        let Breaker::Open { until } = breaker_of(self.view, ask.exporter, self.now)? else { return Ok(None) };
        let wait = until.since(self.now).as_secs() + 1;
        Ok(Some(Refusal::later(State::Unavailable, "this export keeps failing at the moment", wait)))
    }

    /// The time after which the client's next new job is admitted, if that is not at once.
    fn over_rate(&self, ask: &Ask) -> anyhow::Result<Option<Duration>> {
        let (Some(client), Some(rate)) = (&ask.client, self.rate_of(ask)) else { return Ok(None) };
        let queue = params::lane(ask.exporter, &ask.values);
        let arrivals = self.view.arrivals(queue, client, self.now.minus(rate.window), self.now)?;
        Ok(wait(&arrivals, rate, self.now))
    }

    fn rate_of(&self, ask: &Ask) -> Option<Rate> {
        self.context.config.queues.get(params::lane(ask.exporter, &ask.values))?.new_per_client
    }

    /// Whether the new jobs of each client are counted where this one goes.
    pub(super) fn has_rate(&self, ask: &Ask) -> bool {
        self.rate_of(ask).is_some()
    }

    /// The refusal of the queue alone: it is draining, or as long as it may be. `sources` go into the same queue with it.
    /// Jobs whose time has not come are counted apart: a nightly batch turns nobody away at noon.
    pub fn full(&self, ask: &Ask, sources: u64) -> anyhow::Result<Option<Refusal>> {
        let queue = params::lane(ask.exporter, &ask.values);
        let state = self.view.queue(queue)?;
        if state.mode == Mode::Draining {
            return Ok(Some(Refusal::later(State::Unavailable, "no new files are accepted at the moment", 300)));
        }
        let is_later = ask.is_for_later(self.now);
        let before = if is_later { state.delayed } else { state.due().saturating_add(sources) };
        if self.context.config.queues.get(queue).is_none_or(|rules| before < rules.max_queued) {
            return Ok(None);
        }
        let reason = "too many files are waiting already";
        Ok(Some(match self.view.next_wake()?.filter(|_| is_later) {
            Some(wake) => Refusal::later(State::Unavailable, reason, wake.since(self.now).as_secs().clamp(5, 600)),
            None => Refusal::until_room(State::Unavailable, reason, Relief::of(ask, queue, state.due())),
        }))
    }

    /// What has to become free for a client who has too much pending.
    fn over_limit(&self, ask: &Ask, sources: u64) -> anyhow::Result<Option<Relief>> {
        let queue = params::lane(ask.exporter, &ask.values);
        let (Some(client), Some(rules)) = (&ask.client, self.context.config.queues.get(queue)) else { return Ok(None) };
        let pending = self.view.client_pending(queue, client)?;
        // Who has nothing pending is let in with whatever the file is made from, however low the limit.
        let over = pending > 0 && pending.saturating_add(sources) >= rules.max_per_client;
        Ok(over.then(|| Relief::of(ask, queue, pending)))
    }

    /// How many sources would be queued with it, in the same queue.
    fn sources_to_place(&self, ask: &Ask) -> anyhow::Result<u64> {
        let queue = params::lane(ask.exporter, &ask.values);
        let is_now = !ask.is_for_later(self.now);
        let (mut count, mut source) = (0, if is_now { source_of(&self.context.config, ask)? } else { None });
        while let Some(ask) = source {
            match self.standing(&ask)? {
                Standing::Missing(old) if old.as_ref().is_none_or(|old| old.status.is_failed()) => {}
                _ => break,
            }
            count += u64::from(params::lane(ask.exporter, &ask.values) == queue);
            source = source_of(&self.context.config, &ask)?;
        }
        Ok(count)
    }
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
