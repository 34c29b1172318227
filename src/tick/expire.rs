//! Rows that have had their time: jobs that could not be started, failures that were kept long enough or are too many,
//! arrivals that no rate counts any more.

use std::{fmt, time::Duration};

use super::{
    plan::PlanStep,
    round::{Round, step_end},
    standstill::Still,
};
use crate::{
    config::{Config, Exporter, Schedule},
    context::Context,
    logging,
    model::{age::moment_before, clock::since_boot, format, job::Job, status::DropReason},
    request::{Ask, source_of},
    store::{Place, Removal, View},
    supervise,
};

/// So many rows of one kind and exporter are looked up at a time.
pub const BATCH: u32 = 500;
/// For rows of an exporter that is no longer configured: time enough to put it back.
const UNKNOWN_KEEP: Duration = Duration::from_hours(24);
/// So many failed jobs are kept, whatever their `failure_keep`: more than anybody reads, and 10 MB of database. A
/// failure that is forgotten is not the answer any more, so the next request tries again.
const MOST_FAILURES: u32 = 10_000;
/// So many arrivals are forgotten under one lock.
const ARRIVALS: u32 = 1000;
/// More jobs than this that are dropped in one round are only counted.
const MOST_TOLD: u64 = 20;

/// Why a row goes.
pub enum Why {
    /// It has failed, and the history knows it.
    Failed(&'static str),
    /// It was queued, and its time is over. `None`: its exporter is not configured.
    TooOld(Option<Duration>),
    /// Nobody asked about it for so long.
    Abandoned(Duration),
}

impl fmt::Display for Why {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Failed(why) => why,
            Self::TooOld(_) => "could not be started for too long",
            Self::Abandoned(_) => "nobody has asked about it",
        })
    }
}

/// Deletes them all, as far as the time of a round goes.
pub fn rows(round: &mut Round) -> anyhow::Result<()> {
    if round.clock.doubt().is_some() {
        return Ok(()); // nor for their number: which ones are the oldest is not known
    }
    let end = step_end();
    let still = Still::look(round)?;
    still.write(round)?;
    let mut told = 0;
    let done = drop_expired(round, &still, end, &mut told);
    if told > MOST_TOLD {
        logging::diagnostic_line(format!("{} more jobs were dropped", told - MOST_TOLD));
    }
    done?;
    while since_boot() < end {
        let gone = round.store.view().failures_beyond(MOST_FAILURES, BATCH)?;
        if gone.is_empty() {
            break;
        }
        let gone: Vec<_> = gone.into_iter().map(|job| (job, Removal::Forget { why: "too many have failed" })).collect();
        round.store.drop_jobs(&gone, end, |_, _, _| {})?;
    }
    arrivals(round, end)
}

fn drop_expired(round: &mut Round, still: &Still, end: Duration, told: &mut u64) -> anyhow::Result<()> {
    while round.clock.is_trusted() && since_boot() < end {
        let gone = expired_but(round, still)?;
        if gone.is_empty() {
            break;
        }
        supervise::prepare_ids()?;
        for (job, why) in &gone {
            round.note(|| PlanStep::Drop { job: job.into(), why: why.to_string() });
        }
        let with_removal = |(job, why): (Job, Why)| removal(&job, &why).map(|how| (job, how));
        let gone = gone.into_iter().map(with_removal).collect::<anyhow::Result<Vec<_>>>()?;
        let mut dropped = Vec::new();
        let done = round.store.drop_jobs(&gone, end, |job, reason, detail| {
            let line = || format!("job {} ({}) was dropped: {detail}", job.id, job.filename);
            dropped.extend(reason.is_news().then(line));
        });
        // A plan has said so already.
        for line in dropped.into_iter().filter(|_| !round.is_plan()) {
            *told += 1;
            if *told <= MOST_TOLD {
                logging::diagnostic_line(line);
            }
        }
        done?;
    }
    Ok(())
}

/// What the history and the visitor are told of it.
fn removal(job: &Job, why: &Why) -> anyhow::Result<Removal> {
    let (reason, message, detail) = match why {
        Why::Failed(why) => return Ok(Removal::Forget { why }),
        Why::TooOld(Some(ttl)) => (
            DropReason::TooOld,
            format!("it waited longer than {}", format::spelled(*ttl)),
            format!("it could have been started for longer than queued_ttl ({})", format::duration(*ttl)),
        ),
        Why::TooOld(None) => (
            DropReason::NoExporter,
            "this export is not offered any more".to_owned(),
            format!("exporter {} has not been configured for a day", job.exporter),
        ),
        Why::Abandoned(limit) => (
            DropReason::Abandoned,
            format!("nobody asked about it for {}", format::spelled(*limit)),
            format!("nobody asked about it for abandon_after ({})", format::duration(*limit)),
        ),
    };
    Ok(Removal::Drop { entry: supervise::new_id()?.into(), reason, message, detail })
}

/// Forgets when clients queued new work, as soon as no queue's rate looks back so far.
fn arrivals(round: &mut Round, end: Duration) -> anyhow::Result<()> {
    let rates = round.context.config.queues.values().filter_map(|queue| queue.new_per_client);
    let window = rates.map(|rate| rate.window).max().unwrap_or_default();
    let (before, now) = (round.now.minus(window), round.now);
    round.store.trim_arrivals(before, now, ARRIVALS, end)
}

/// The rows that go, and why.
pub fn expired(round: &Round) -> anyhow::Result<Vec<(Job, Why)>> {
    expired_but(round, &Still::look(round)?)
}

fn expired_but(round: &Round, still: &Still) -> anyhow::Result<Vec<(Job, Why)>> {
    let (view, config) = (round.store.view(), &round.context.config);
    let mut found = Vec::new();
    for name in view.exporters()? {
        let keep = config.exporters.get(&name).map_or(UNKNOWN_KEEP, |exporter| exporter.failure_keep);
        let failures = view.old_failures(&name, round.now.minus(keep), BATCH)?;
        found.extend(failures.into_iter().map(|job| (job, Why::Failed("failed long ago"))));
    }
    let scheduled = scheduled(round.context);
    for place in view.places()? {
        match config.exporters.get(&place.exporter) {
            Some(exporter) => found.extend(waiting(round, &view, exporter, &place, still, &scheduled)?),
            None => found.extend(too_old(round, &view, &place, still, None, &[])?),
        }
    }
    Ok(found)
}

fn waiting(
    round: &Round,
    view: &View,
    exporter: &Exporter,
    place: &Place,
    still: &Still,
    scheduled: &[String],
) -> anyhow::Result<Vec<(Job, Why)>> {
    let mut found = Vec::new();
    if let Some(ttl) = exporter.queued_ttl {
        let but = if exporter.scheduled_ttl.is_none() { scheduled } else { &[] };
        found.extend(too_old(round, view, place, still, Some(ttl), but)?);
    }
    if let Some(limit) = exporter.abandon_after {
        let abandoned = view.abandoned(place, round.now.minus(limit), BATCH)?;
        found.extend(abandoned.into_iter().map(|job| (job, Why::Abandoned(limit))));
    }
    Ok(found)
}

/// Jobs that could have been started for longer than `ttl`, standstills left out; `but` are not meant.
fn too_old(
    round: &Round,
    view: &View,
    place: &Place,
    still: &Still,
    ttl: Option<Duration>,
    but: &[String],
) -> anyhow::Result<Vec<(Job, Why)>> {
    let spans = still.spans(&round.context.config, place);
    let before = moment_before(round.now, ttl.unwrap_or(UNKNOWN_KEEP), &spans);
    let overdue = view.overdue_queued(place, before, but, BATCH)?;
    Ok(overdue.into_iter().map(|job| (job, Why::TooOld(ttl))).collect())
}

/// The files that schedules want, with those that they are made from. Whoever else asks for one of them wants the same.
pub fn scheduled(context: &Context) -> Vec<String> {
    let wishes = context.config.schedules.values().filter_map(|schedule| wish(&context.config, schedule));
    wishes.flat_map(|ask| with_sources(&context.config, &ask)).collect()
}

fn wish<'a>(config: &'a Config, schedule: &Schedule) -> Option<Ask<'a>> {
    let pairs = schedule.params.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    Ask::parse(config, schedule.exporter.as_bytes(), &pairs.collect::<Vec<_>>()).ok()
}

fn with_sources(config: &Config, ask: &Ask) -> Vec<String> {
    let mut filenames = vec![ask.filename.clone()];
    let mut next = source_of(config, ask).ok().flatten();
    while let Some(source) = next {
        filenames.push(source.filename.clone());
        next = source_of(config, &source).ok().flatten();
    }
    filenames
}
