//! What there is to know about the site at this moment.

use std::time::Duration;

use super::{
    clock::{self, Clock},
    findings::{self, Finding, Level},
    running::{self, RunningJob},
};
use crate::{
    admin::queues::{self, Queue},
    context::Context,
    model::{
        age::time_without,
        breaker::Breaker,
        clock::{Stamp, TickMark},
        job::{DropReason, Job, Outcome, Status},
    },
    request::breaker_of,
    site,
    store::{NoticeEvent, Place, Store, Tally, View},
    tick::{
        self, expire, prune,
        seats::{self, Seats},
        standstill::Still,
    },
};

/// Exporters and queues that are not configured and named all the same.
const MOST_NAMED: usize = 10;
/// So many queues of an exporter are looked at: it has one, and some more after its lanes were changed.
const MOST_PLACES: u32 = 100;
/// So many jobs of each are counted.
pub const MOST_HELD: u32 = 10_000;

const HOUR: Duration = Duration::from_hours(1);

/// Everything that `status` tells, however it tells it.
pub struct Report {
    pub now: Stamp,
    pub queues: Vec<Queue>,
    /// Failed jobs by queue and status.
    pub failed: Vec<(String, Status, u64)>,
    pub running: Vec<RunningJob>,
    pub max_running: u32,
    /// One sentence for each thing that keeps jobs from being started.
    pub held_back: Vec<String>,
    /// The queued job that could have been started for the longest time, and since when.
    pub oldest: Option<(Job, Stamp)>,
    /// A job that has waited for half of the time after which it is dropped: which job, for how long, of how long.
    pub impatient: Option<(Job, Duration, Duration)>,
    /// How many jobs were dropped in the last hour, by reason.
    pub dropped: Vec<(DropReason, u64)>,
    /// The same since the beginning, by exporter.
    pub drops: Vec<(String, DropReason, u64)>,
    /// How many notices wait while `notify.command` fails.
    pub notices: Option<u64>,
    /// How many notices were given up, since the beginning.
    pub lost_notices: u64,
    pub last_tick: Option<TickMark>,
    pub clock: Clock,
    /// The database was copied back, and no tick has seen that yet.
    pub restored: Option<String>,
    /// Jobs that wait for their next attempt longer than they may.
    pub late_retries: u64,
    pub cache: CacheSize,
    pub disk: Disk,
    /// How the attempts of the last hour ended.
    pub last_hour: Vec<(Outcome, u64)>,
    /// The jobs that failed in it and have neither been retried nor dismissed: by result, with the attempts they had.
    pub still_failed: Vec<(Outcome, u64, u64)>,
    /// Exporters whose breaker is not closed.
    pub breakers: Vec<(String, Breaker)>,
    /// Why ticks refuse the database, though it can be read.
    pub refused: Option<String>,
    /// Exporters that are not in the configuration and have queued jobs, which are held, and how many.
    pub held: Vec<(String, u32)>,
    /// A process that holds the write lock and does not let go.
    pub writer: Option<String>,
    /// Since the beginning.
    pub tallies: Vec<Tally>,
    /// The worst first.
    pub findings: Vec<Finding>,
}

/// What lies in the cache.
pub struct CacheSize {
    pub files: u64,
    /// Bytes.
    pub size: u64,
    pub max_size: u64,
    /// Bytes beyond `max_size` that no tick can remove just now.
    pub excess: u64,
}

/// Room on the disk; sizes in bytes.
pub struct Disk {
    /// `None`: it could not be found out.
    pub free: Option<u64>,
    pub min_free: u64,
    /// Nothing can be written, whatever is free: a quota is used up.
    pub is_refused: bool,
    pub free_inodes: Option<u64>,
    pub database: u64,
    /// Of the write-ahead log.
    pub wal: u64,
}

impl Report {
    /// Looks at everything, and judges it.
    pub fn gather(context: &Context, view: &View) -> anyhow::Result<Self> {
        let now = Stamp::now();
        Self::with_cache(context, view, cache(context, view, now), now)
    }

    /// The same for everybody: the cache is not walked through, its figures are those of the last full round.
    pub fn at_a_glance(context: &Context, view: &View) -> anyhow::Result<Self> {
        let (files, size) = view.cache_figures()?.unwrap_or_default();
        let cache = CacheSize { files, size, max_size: context.config.cache.max_size, excess: 0 };
        Self::with_cache(context, view, cache, Stamp::now())
    }

    fn with_cache(context: &Context, view: &View, cache: CacheSize, now: Stamp) -> anyhow::Result<Self> {
        let last_tick = view.last_tick()?;
        let mut report = Self {
            now,
            queues: shown(queues::all(context, view)?),
            failed: view.failed_by_queue()?,
            running: running::all(context, view, now)?,
            max_running: context.config.host.max_running,
            held_back: Seats::of(context, view, now)?.reasons,
            oldest: oldest(context, view)?,
            impatient: impatient(context, view, now)?,
            dropped: view.dropped_since(now.minus(HOUR))?,
            drops: view.drops()?,
            notices: notices(view)?,
            lost_notices: view.lost_notices()?,
            clock: clock::of(context, last_tick.as_ref(), now),
            restored: restored(context, view, now)?,
            late_retries: late_retries(context, view, now)?,
            last_tick,
            cache,
            disk: disk(context),
            last_hour: view.outcomes_since(now.minus(HOUR))?,
            still_failed: view.failed_since(now.minus(HOUR))?,
            breakers: breakers(context, view, now)?,
            refused: other_machine(context, view),
            held: held(context, view)?,
            writer: running::stuck_writer(&context.config.database),
            tallies: view.tallies()?,
            findings: Vec::new(),
        };
        report.findings = findings::all(context, &report);
        Ok(report)
    }

    /// `None`: all is well.
    pub fn worst(&self) -> Option<Level> {
        self.findings.iter().map(|finding| finding.level).max()
    }

    /// Jobs of the last hour's attempts that failed, by result.
    pub fn failures(&self) -> impl Iterator<Item = (Outcome, u64)> {
        self.last_hour.iter().copied().filter(|(outcome, _)| outcome.is_failure())
    }

    /// How many failed jobs a queue has of this status.
    pub fn failed_in(&self, queue: &str, status: Status) -> u64 {
        let of = |(name, kind, _): &&(String, Status, u64)| name == queue && *kind == status;
        self.failed.iter().find(of).map_or(0, |(_, _, count)| *count)
    }
}

/// All that are configured, and the first few others: the web user can make up any number of names.
fn shown(mut queues: Vec<Queue>) -> Vec<Queue> {
    let mut others = 0;
    queues.retain(|queue| {
        others += usize::from(!queue.is_configured);
        queue.is_configured || others <= MOST_NAMED
    });
    queues
}

/// Where jobs are queued: of all exporters that are configured and of the first few others, in the first few queues of each.
fn places(context: &Context, view: &View) -> anyhow::Result<Vec<Place>> {
    let others = seats::unknown(&context.config, view)?.into_iter().take(MOST_NAMED);
    let names: Vec<_> = context.config.exporters.keys().cloned().chain(others).collect();
    Ok(view.places_of(names, MOST_PLACES)?)
}

fn oldest(context: &Context, view: &View) -> anyhow::Result<Option<(Job, Stamp)>> {
    let mut oldest: Option<(Job, Stamp)> = None;
    for place in places(context, view)? {
        let candidate = view.oldest_queued_job(&place)?;
        oldest = [oldest, candidate].into_iter().flatten().min_by_key(|(job, since)| (*since, job.id));
    }
    Ok(oldest)
}

/// The one that has the least of its time left.
fn impatient(context: &Context, view: &View, now: Stamp) -> anyhow::Result<Option<(Job, Duration, Duration)>> {
    let still = Still::noted(view, now)?;
    let mut found: Vec<(Job, Duration, Duration)> = Vec::new();
    for place in places(context, view)? {
        let ttl = context.config.exporters.get(&place.exporter).and_then(|exporter| exporter.queued_ttl);
        if let Some((ttl, (job, since))) = ttl.zip(view.oldest_queued_job(&place)?) {
            let waited = time_without(since, now, &still.spans(&context.config, &place));
            found.extend((waited >= ttl / 2).then_some((job, waited, ttl)));
        }
    }
    let scheduled = if found.is_empty() { Vec::new() } else { expire::scheduled(context) };
    let patient = |job: &Job| scheduled.contains(&job.filename);
    let may_go = |(job, ..): &(Job, Duration, Duration)| {
        let exporter = context.config.exporters.get(&job.exporter);
        !patient(job) || exporter.is_some_and(|exporter| exporter.scheduled_ttl.is_some())
    };
    Ok(found.into_iter().filter(may_go).min_by_key(|(_, waited, ttl)| ttl.saturating_sub(*waited)))
}

/// So many notices are counted.
const MOST_NOTICES: u32 = 10_000;

fn notices(view: &View) -> anyhow::Result<Option<u64>> {
    if !view.is_notifying_failing()? {
        return Ok(None);
    }
    let failed = view.notices_waiting(NoticeEvent::Failed, MOST_NOTICES)?;
    Ok(Some(failed + view.notices_waiting(NoticeEvent::Ok, MOST_NOTICES)?))
}

/// Only the owner of the site can tell.
fn restored(context: &Context, view: &View, now: Stamp) -> anyhow::Result<Option<String>> {
    let Some(mark) = context.site.last_round() else { return Ok(None) };
    let older = tick::restored::is_older(view, &mark, now)?;
    Ok(older.map(|at| tick::restored::sentence(at, &mark)))
}

fn other_machine(context: &Context, view: &View) -> Option<String> {
    let refused = view.expect_machine(&site::machine_id()).err()?;
    Some(context.site.with_whole_command(&refused.to_string()))
}

fn late_retries(context: &Context, view: &View, now: Stamp) -> anyhow::Result<u64> {
    let late = |exporter| tick::clock::late_retries(view, exporter, now);
    context.config.exporters.values().map(late).sum()
}

/// What cannot be read is tick's to report.
fn cache(context: &Context, view: &View, now: Stamp) -> CacheSize {
    let entries = context.cache.scan(&mut Vec::new());
    let size = entries.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.size));
    let excess = prune::chosen(context, view, &entries, now).excess;
    CacheSize { files: entries.len() as u64, size, max_size: context.config.cache.max_size, excess }
}

fn disk(context: &Context) -> Disk {
    let (database, wal) = Store::sizes(&context.config.database);
    Disk {
        free: site::free_bytes(&context.site.cache()).ok(),
        min_free: context.config.cache.min_free,
        is_refused: [context.site.cache(), context.site.queue()].iter().any(|dir| site::refuses(dir, 1 << 20)),
        free_inodes: site::free_inodes(&context.site.cache()).ok().flatten(),
        database,
        wal,
    }
}

/// The first few: the web user can make up any number of names.
fn held(context: &Context, view: &View) -> anyhow::Result<Vec<(String, u32)>> {
    let names = seats::unknown(&context.config, view)?.into_iter().take(MOST_NAMED);
    names.map(|name| Ok((name.clone(), view.queued_of(&name, MOST_HELD)?))).collect()
}

fn breakers(context: &Context, view: &View, now: Stamp) -> anyhow::Result<Vec<(String, Breaker)>> {
    let mut open = Vec::new();
    for (name, exporter) in &context.config.exporters {
        match breaker_of(view, exporter, now)? {
            Breaker::Closed => {}
            state => open.push((name.clone(), state)),
        }
    }
    Ok(open)
}
