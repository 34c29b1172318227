//! What there is to know about the site at this moment: its rows, started jobs as they are seen from outside, whoever
//! holds up the database, the last tick, and whether the clock can be believed.

use std::{
    fs,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use super::{
    findings,
    report::{CacheSize, Clock, Disk, MOST_HELD, Report, RunningJob},
};
use crate::{
    admin::queues::{self, Queue},
    context::Context,
    model::{
        age::time_without,
        breaker::Breaker,
        clock::{Belief, Doubt, Stamp, TickMark},
        job::Job,
        limits::Limits,
    },
    request::breaker_of,
    site::{self, Sight, boot_id},
    store::{NoticeEvent, Place, Store, View},
    tick::{
        self,
        clock::{here, judged, was_set},
        expire, prune,
        seats::{self, Seats},
        standstill::Still,
    },
};

/// Exporters and queues that are not configured and named all the same.
const MOST_NAMED: usize = 10;
/// So many queues of an exporter are looked at: it has one, and some more after its lanes were changed.
const MOST_PLACES: u32 = 100;
const HOUR: Duration = Duration::from_hours(1);

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
            running: running_jobs(context, view, now)?,
            max_running: context.config.host.max_running,
            held_back: Seats::count(context, view, now, 0)?.reasons,
            oldest: oldest(context, view)?,
            impatient: impatient(context, view, now)?,
            dropped: view.dropped_since(now.minus(HOUR))?,
            drops: view.drops()?,
            notices: notices(view)?,
            lost_notices: view.lost_notices()?,
            clock: clock_of(context, last_tick.as_ref(), now),
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
            writer: stuck_writer(&context.config.database),
            tallies: view.tallies()?,
            findings: Vec::new(),
        };
        report.findings = findings::all(context, &report);
        Ok(report)
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
    let older = tick::database::is_older(view, &mark, now)?;
    Ok(older.map(|at| tick::database::older_sentence(at, &mark)))
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

/// Who holds the write lock for so long is stuck; a commit takes milliseconds.
const STUCK: Duration = Duration::from_secs(1);

/// All started jobs, the oldest first.
pub fn running_jobs(context: &Context, view: &View, now: Stamp) -> anyhow::Result<Vec<RunningJob>> {
    Ok(view.started()?.into_iter().map(|job| one(context, view, job, now)).collect())
}

fn one(context: &Context, view: &View, job: Job, now: Stamp) -> RunningJob {
    // An attempt's row that cannot be read is as good as gone.
    let attempt = job.attempt.as_ref().and_then(|id| view.attempt(id).ok()).flatten();
    let limits = attempt.map(|attempt| attempt.limits);
    let sight = job.attempt.as_ref().map_or(Sight::Missing, |id| context.site.peek(id));
    let elapsed = elapsed(context, &job, now);
    let allowed = limits.as_ref().map(Limits::overdue_after);
    let is_overdue = sight == Sight::Alive && allowed.is_some_and(|allowed| elapsed > allowed);
    RunningJob { job, sight, elapsed, timeout: limits.map(|limits| limits.timeout), is_overdue }
}

/// What the exporter has taken: by the clock of the limits, if its run has noted it and we may read it; else by the wall clock.
fn elapsed(context: &Context, job: &Job, now: Stamp) -> Duration {
    let metadata = job.attempt.as_ref().and_then(|id| context.site.lock_metadata(id).ok());
    let by_limits = metadata.and_then(|metadata| metadata.elapsed(&boot_id().ok()?));
    by_limits.unwrap_or_else(|| job.started.map_or(Duration::ZERO, |started| now.since(started)))
}

/// A process that has held the database's write lock for as long as we looked: its number and name.
pub fn stuck_writer(database: &Path) -> Option<String> {
    let first = Store::writer(database)?;
    let end = Instant::now() + STUCK;
    while Instant::now() < end {
        sleep(Duration::from_millis(20));
        if Store::writer(database) != Some(first) {
            return None;
        }
    }
    let name = fs::read_to_string(format!("/proc/{first}/comm")).unwrap_or_default();
    Some(format!("process {first} ({})", name.trim()))
}

/// A last tick further ahead than this shows a clock that was set back.
const TOLERANCE_MS: i64 = 60_000;

/// Compares this moment with the last tick.
pub fn clock_of(context: &Context, last: Option<&TickMark>, now: Stamp) -> Clock {
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
