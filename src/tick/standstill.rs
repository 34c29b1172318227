//! What cannot be started just now, whatever waits: that time does not count for `queued_ttl`.
//!
//! A round looks once. What stands still at either of two looks is taken to have done so all the time between them, so that
//! nothing is dropped for want of a look; a time without looks counts wholly.

use std::{collections::BTreeSet, iter, time::Duration};

use super::round::{Round, WallClock};
use crate::{
    config::{Config, Exporter},
    context::Context,
    model::{age::Span, breaker::Breaker, clock::Stamp, estimate::NO_TICK},
    request::{breaker_of, disk_is_low},
    store::{Mode, Place, Standstill, View},
    supervise,
};

/// Who ticks more seldom than once a day is silent for longer.
const RAREST: Duration = Duration::from_hours(48);

/// A queue and an exporter; an empty name stands for any.
type Key = (String, String);

/// What is noted, and what a look has added to it.
#[derive(Debug, Default)]
pub struct Still {
    stored: Vec<Standstill>,
    all: Vec<Standstill>,
}

impl Still {
    /// What counts now. Nothing is written.
    pub fn look(round: &Round) -> anyhow::Result<Self> {
        let (view, now) = (round.store.view(), round.now);
        let places = view.places()?;
        if places.is_empty() {
            return Ok(Self { stored: Vec::new(), all: Vec::new() });
        }
        let stored = view.standstills()?;
        let mut all = known(&stored, now);
        if let WallClock::Accepted { leapt_from: Some(before) } = round.clock {
            all.push(Standstill::of(Key::default(), before, now, false));
        }
        let tick = view.last_tick()?.map(|tick| tick.at);
        if tick.is_none() {
            all.push(Standstill::of(Key::default(), Stamp(0), now, false)); // nobody has ever ticked
        }
        if let Some(last) = tick.filter(|last| *last < now) {
            let keys = keys(round.context, &view, now)?;
            note(&mut all, &keys, last, now);
            if !round.clock.is_trusted() || now.since(last) > silence(view.tick_gap()?) {
                all.push(Standstill::of(Key::default(), last, now, false));
            }
        }
        forget(&mut all, &view, &places)?;
        Ok(Self { stored, all })
    }

    /// What full rounds have noted, for who only looks: what stood still at the last one is taken to do so still.
    pub fn noted(view: &View, now: Stamp) -> anyhow::Result<Self> {
        let mut all = known(&view.standstills()?, now);
        all.iter_mut().filter(|one| one.lasts).for_each(|one| one.span.until = now);
        Ok(Self { all, ..Self::default() })
    }

    /// Writes down what has changed; on most sites that is nothing.
    pub fn write(&self, round: &mut Round) -> anyhow::Result<()> {
        let gone: Vec<_> = self.stored.iter().filter(|old| self.all.iter().all(|new| !old.is_same(new))).collect();
        let new: Vec<_> = self.all.iter().filter(|new| !self.stored.contains(new)).collect();
        let is_over = self.all.is_empty() && round.store.view().has_standstills()?;
        if gone.is_empty() && new.is_empty() && !is_over {
            return Ok(());
        }
        round.store.note_standstills(&gone, &new, is_over)
    }

    /// The spans that do not count for jobs of this exporter in this queue. A derived file waits for its source, too.
    pub fn spans(&self, config: &Config, place: &Place) -> Vec<Span> {
        let (mut queues, mut exporters) = (vec![place.queue.as_str()], vec![place.exporter.as_str()]);
        for source in sources(config, &place.exporter) {
            exporters.push(&source.name);
            queues.push(&source.queue);
            queues.extend(source.lanes.iter().map(|lane| lane.queue.as_str()));
        }
        let fits = |names: &[&str], name: &str| name.is_empty() || names.contains(&name);
        let concerns = |one: &&Standstill| fits(&queues, &one.queue) && fits(&exporters, &one.exporter);
        self.all.iter().filter(concerns).map(|one| one.span).collect()
    }
}

impl Standstill {
    fn of((queue, exporter): Key, since: Stamp, until: Stamp, lasts: bool) -> Self {
        Self { queue, exporter, span: Span { since, until }, lasts }
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.queue, &self.exporter, self.span.since) == (&other.queue, &other.exporter, other.span.since)
    }
}

/// The exporters that make what this one's files are made from.
fn sources<'a>(config: &'a Config, exporter: &str) -> impl Iterator<Item = &'a Exporter> {
    let next = |one: &&Exporter| config.exporters.get(one.source.as_deref()?);
    iter::successors(config.exporters.get(exporter), next).skip(1)
}

/// What is noted, without what lies ahead of a clock that was set back.
fn known(stored: &[Standstill], now: Stamp) -> Vec<Standstill> {
    let cut = |one: &Standstill| {
        let span = Span { until: one.span.until.min(now), ..one.span };
        Standstill { span, ..one.clone() }
    };
    stored.iter().map(cut).filter(|one| one.span.since < one.span.until).collect()
}

/// Adds the time since the last look for what stands still now or stood still then.
fn note(all: &mut Vec<Standstill>, keys: &BTreeSet<Key>, last: Stamp, now: Stamp) {
    let mut begun = keys.clone();
    for one in all.iter_mut().filter(|one| one.lasts) {
        let key = (one.queue.clone(), one.exporter.clone());
        one.span.until = now;
        one.lasts = keys.contains(&key);
        begun.remove(&key);
    }
    all.extend(begun.into_iter().map(|key| Standstill::of(key, last, now, true)));
}

/// What ended before the oldest queued job was queued concerns none.
fn forget(all: &mut Vec<Standstill>, view: &View, places: &[Place]) -> anyhow::Result<()> {
    let mut oldest: Option<Stamp> = None;
    for place in places {
        oldest = oldest.into_iter().chain(view.queued_since(place)?).min();
    }
    all.retain(|one| one.lasts || oldest.is_some_and(|oldest| one.span.until > oldest));
    Ok(())
}

/// Without a look for so long, or for twice as long as there was between the last two, nobody has ticked.
fn silence(gap: Duration) -> Duration {
    NO_TICK.max((gap * 2).min(RAREST))
}

/// What cannot be started now.
fn keys(context: &Context, view: &View, now: Stamp) -> anyhow::Result<BTreeSet<Key>> {
    let mut keys = BTreeSet::new();
    if disk_is_low(context) || supervise::cannot_supervise().is_some() {
        keys.insert(Key::default());
    }
    for (name, state) in view.queues()? {
        if state.mode != Mode::Open {
            keys.insert((name, String::new()));
        }
    }
    for (name, exporter) in &context.config.exporters {
        let is_open = matches!(breaker_of(view, exporter, now)?, Breaker::Open { .. });
        if is_open || context.config.broken().contains_key(name) {
            keys.insert((String::new(), name.clone()));
        }
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(queue: &str) -> Key {
        (queue.to_owned(), String::new())
    }

    fn noted(all: &[Standstill]) -> Vec<(&str, i64, i64, bool)> {
        all.iter().map(|one| (one.queue.as_str(), one.span.since.0, one.span.until.0, one.lasts)).collect()
    }

    #[test]
    fn the_time_between_two_looks_counts_when_it_was_so_at_either() {
        let mut all = Vec::new();
        note(&mut all, &BTreeSet::from([key("slow")]), Stamp(100), Stamp(200));
        assert_eq!(noted(&all), [("slow", 100, 200, true)]);
        note(&mut all, &BTreeSet::from([key("slow")]), Stamp(200), Stamp(300));
        note(&mut all, &BTreeSet::new(), Stamp(300), Stamp(400));
        assert_eq!(noted(&all), [("slow", 100, 400, false)]);
        note(&mut all, &BTreeSet::from([key("fast")]), Stamp(400), Stamp(500));
        assert_eq!(noted(&all), [("slow", 100, 400, false), ("fast", 400, 500, true)]);
        note(&mut all, &BTreeSet::from([key("slow")]), Stamp(500), Stamp(600));
        assert_eq!(noted(&all)[1..], [("fast", 400, 600, false), ("slow", 500, 600, true)]);
    }

    #[test]
    fn what_lies_ahead_of_a_clock_that_was_set_back_is_cut_off() {
        let all =
            [Standstill::of(key("a"), Stamp(5), Stamp(90), true), Standstill::of(key("b"), Stamp(60), Stamp(90), true)];
        assert_eq!(noted(&known(&all, Stamp(50))), [("a", 5, 50, true)]);
    }

    #[test]
    fn who_ticks_each_quarter_of_an_hour_is_not_silent() {
        assert_eq!(silence(Duration::ZERO), Duration::from_mins(3));
        assert_eq!(silence(Duration::from_mins(15)), Duration::from_mins(30));
        assert_eq!(silence(Duration::MAX / 2), RAREST);
    }
}
