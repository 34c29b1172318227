//! Where a pending job stands, how long it will take, and what delays it; and when a queue that is full, or a client that has
//! too much in it, has room again.
//!
//! Each poll comes here: the reads are few, along indexes and of bounded length, and none is made under the write lock.

use std::time::Duration;

use super::{
    ask::Ask,
    health::{breaker_of, disk_is_low},
    look::{Look, Relief},
    scene::{self, Link, Setting},
};
use crate::{
    model::{
        answer::{Answer, Delay},
        breaker::Breaker,
        clock::Stamp,
        estimate::{self, NO_TICK, Pace, Rhythm},
        job::Job,
        status::Status,
    },
    store::Mode,
};

/// How many past attempts the time is taken from.
const SAMPLE: u32 = 21;
/// Seconds until there is room, when no past attempt tells.
const UNKNOWN: u64 = 60;
/// Seconds after which an administrator may have resumed a queue.
const PAUSED: u64 = 300;

/// When to ask again, if no time is known: in so many seconds, or, where something has to be changed first, in so many.
const SOON: u64 = 10;
const SELDOM: u64 = 30;
/// Nobody can tell what comes later than that; who wrote such a duration into a row was not us.
const LONGEST: Duration = Duration::from_hours(7 * 24);

/// Position, percent, expected time, the time to ask again and the reason for a delay of a job that is queued or
/// started.
pub fn fill(look: &Look, ask: &Ask, job: &Job, answer: &mut Answer) -> anyhow::Result<()> {
    let links = scene::chain(look.context, look.view, job)?;
    if job.status == Status::Started {
        answer.percent = job.percent;
        answer.message.clone_from(&job.message);
    } else {
        answer.position = Some(scene::position(&links));
    }
    let mut setting = Setting::new(look.context, look.view, look.now)?;
    let delay = delay(&mut setting, &links)?;
    let is_telling = !delay.is_some_and(Delay::is_open) && !wants_one_more(ask, job);
    let left = if is_telling { expected(&mut setting, &links)? } else { None };
    answer.delay = delay.or_else(|| setting.full_host(&links).filter(|_| left.is_none()));
    answer.reason = answer.delay.map(Delay::sentence);
    answer.eta_seconds = left.filter(|left| *left <= LONGEST).map(|left| left.as_secs().max(1));
    answer.retry_after = Some(ask_again(answer, look.now).clamp(2, 30));
    Ok(())
}

fn expected(setting: &mut Setting, links: &[Link]) -> anyhow::Result<Option<Duration>> {
    let Some(subject) = setting.subject(links)? else { return Ok(None) };
    Ok(estimate::expected(&setting.scene()?, &subject))
}

/// The attempt that is going on makes an older file than this request wants: when its own will begin is not known.
fn wants_one_more(ask: &Ask, job: &Job) -> bool {
    job.again.is_some() && ask.after.is_some_and(|after| job.started.is_none_or(|started| started < after))
}

fn ask_again(answer: &Answer, now: Stamp) -> u64 {
    match (answer.eta_seconds, answer.delay) {
        (Some(seconds), _) => seconds,
        (None, Some(Delay::Until(moment))) => moment.since(now).as_secs() + 1,
        (None, Some(Delay::Longer | Delay::HostFull) | None) => SOON,
        (None, Some(_)) => SELDOM,
    }
}

/// Where ticks come less often than each minute: the next one is late by so much.
const LATE: Duration = Duration::from_mins(2);
/// A job that is to start so soon is as good as ready: `--after` may lie as far ahead.
const NEAR: Duration = Duration::from_secs(6);

/// The first thing that delays the job, or what it is made from.
fn delay(setting: &mut Setting, links: &[Link]) -> anyhow::Result<Option<Delay>> {
    for link in links {
        let delay = match link.job.status {
            Status::Started => longer(setting, &link.job)?,
            _ => before_start(setting, &link.job)?,
        };
        if delay.is_some() {
            return Ok(delay);
        }
    }
    Ok(None)
}

fn longer(setting: &mut Setting, job: &Job) -> anyhow::Result<Option<Delay>> {
    let elapsed = job.started.map_or(Duration::ZERO, |started| setting.now.since(started));
    let pace = setting.pace(&job.exporter)?;
    // A row may name an exporter that is not configured.
    Ok(setting.paces.get(pace).is_some_and(|pace| pace.is_longer_than_usual(elapsed)).then_some(Delay::Longer))
}

/// What a person has to end comes first, and what ends by itself last.
fn before_start(setting: &Setting, job: &Job) -> anyhow::Result<Option<Delay>> {
    let (context, view, now) = (setting.context, setting.view, setting.now);
    match view.queue(&job.queue)?.mode {
        Mode::Paused => return Ok(Some(Delay::Paused)),
        Mode::Draining => return Ok(Some(Delay::Draining)),
        Mode::Open => {}
    }
    let exporter = context.config.exporters.get(&job.exporter);
    let Some(exporter) = exporter.filter(|exporter| !context.config.broken().contains_key(&exporter.name)) else {
        return Ok(Some(Delay::Held));
    };
    if breaker_of(view, exporter, now)? != Breaker::Closed {
        return Ok(Some(Delay::Trouble));
    }
    if let Some(minutes) = silence(setting, job) {
        return Ok(Some(Delay::NoTick { minutes }));
    }
    if disk_is_low(context) {
        return Ok(Some(Delay::DiskLow));
    }
    if setting.is_memory_low && !setting.running.is_empty() {
        return Ok(Some(Delay::MemoryLow));
    }
    let is_later = job.run_after.since(now) > NEAR;
    Ok(is_later.then(|| Delay::Until(whole_seconds(job.run_after))))
}

/// A queue that nobody serves is no secret: for how many minutes.
fn silence(setting: &Setting, job: &Job) -> Option<u64> {
    let (quiet, limit) = match &setting.ticks {
        Some((last, ticks)) => {
            // One that stays may have nothing to do for long.
            let until = if ticks.until > ticks.begun { *last.max(&ticks.until) } else { *last };
            (setting.now.since(until), NO_TICK.max(ticks.distance() + LATE))
        }
        None => (setting.now.since(job.submitted), NO_TICK),
    };
    (quiet >= limit).then_some(quiet.as_secs() / 60)
}

/// Rounded up, as it is for people.
fn whole_seconds(stamp: Stamp) -> Stamp {
    Stamp(stamp.0.saturating_add(999) / 1000 * 1000)
}

/// The seconds until one of the jobs has probably gone, if they are spread evenly in it.
pub fn relief(look: &Look, relief: &Relief) -> anyhow::Result<u64> {
    let Look { context, view, now } = *look;
    let state = view.queue(&relief.queue)?;
    if state.mode != Mode::Open {
        return Ok(PAUSED);
    }
    let typical = Pace::new(view.ok_durations(&relief.exporter, SAMPLE)?).percentile(80);
    let Some(typical) = typical else { return Ok(UNKNOWN) };
    let seats = context
        .config
        .queues
        .get(&relief.queue)
        .map_or(1, |queue| queue.max_running)
        .min(context.config.host.max_running);
    let one = typical.as_secs().saturating_mul(state.due().max(1))
        / u64::from(seats.max(1)).saturating_mul(relief.these.max(1));
    // Whatever ends, a place becomes free when the next job is started.
    let rhythm = view.ticks()?.and_then(|ticks| Rhythm::of(&ticks, now));
    let round = rhythm.map_or(Duration::ZERO, |rhythm| rhythm.next_round()).as_secs();
    Ok(one.max(round).clamp(5, 600))
}
