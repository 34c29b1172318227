//! What is wrong, how bad that is, and what to do about it.

use std::{fs, io, path::Path, time::Duration};

use super::report::{Finding, Level, MOST_HELD, Report, RunningJob};
use crate::{
    admin::queues::Queue,
    context::Context,
    model::{
        breaker::Breaker,
        estimate::NO_TICK,
        format,
        status::{DropReason, Outcome},
    },
    site::Sight,
    store::Mode,
    tick::clock::doubt_sentence,
};

/// Nobody has ticked for so long: nothing works.
const SILENT: Duration = Duration::from_mins(10);
/// Bytes: a log that is not copied back is held by a reader that does not end.
const LARGE_WAL: u64 = 256 << 20;
/// With fewer files left than this, publishing will soon fail.
const FEW_INODES: u64 = 1000;
/// A visitor without a name has to be known about for so long.
const UNNAMED: Duration = Duration::from_hours(24);
/// So many attempts must have ended in the last hour before their share of failures means anything.
const ENOUGH: u64 = 10;

/// Everything that is wrong, the worst first.
pub fn all(context: &Context, report: &Report) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(tick(report));
    found.extend(time(report));
    found.extend(retries(report));
    found.extend(tick_lock(context, report));
    found.extend(report.restored.as_ref().map(|text| warning("database_older", text)));
    found.extend(disk(report));
    found.extend(cache(report));
    found.extend(writer(report));
    found.extend(unnamed(context));
    found.extend(leftovers(context));
    found.extend(refused(context, report));
    found.extend(report.queues.iter().flat_map(queue));
    found.extend(context.config.broken().iter().map(exporter));
    found.extend(report.held.iter().map(unconfigured));
    found.extend(report.breakers.iter().map(breaker));
    found.extend(report.running.iter().filter_map(run));
    found.extend(waiting(report));
    found.extend(dropped(report));
    found.extend(notices(report));
    found.extend(failures(report));
    found.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    found
}

fn warning(code: &'static str, text: impl Into<String>) -> Finding {
    Finding { level: Level::Warning, code, text: text.into() }
}

fn critical(code: &'static str, text: impl Into<String>) -> Finding {
    Finding { level: Level::Critical, code, text: text.into() }
}

fn tick(report: &Report) -> Option<Finding> {
    let advice = ticks_come_from();
    match report.clock.quiet {
        None => Some(critical("never_ticked", format!("no tick has ever run; {advice}"))),
        Some(quiet) if quiet >= NO_TICK => {
            let text = format!("no tick has run for {}; {advice}", format::duration(quiet));
            Some(if quiet >= SILENT { critical("no_tick", text) } else { warning("no_tick", text) })
        }
        Some(_) => None,
    }
}

/// Where the package has put its crontab, each line of that is commented out until the administrator chooses one.
fn ticks_come_from() -> &'static str {
    if Path::new("/etc/cron.d/pressroom").exists() {
        return "is a line of /etc/cron.d/pressroom chosen, or pressroom.timer enabled, and cron running?";
    }
    "is the crontab of the cron user installed, and cron running?"
}

/// The next tick makes it anew.
fn tick_lock(context: &Context, report: &Report) -> Option<Finding> {
    let path = context.site.tick_lock();
    let is_gone = fs::symlink_metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let text =
        format!("{} was removed: two ticks can be at work; keep what removed it away from there", path.display());
    (report.last_tick.is_some() && is_gone).then(|| warning("lock_removed", text))
}

fn time(report: &Report) -> Option<Finding> {
    if let Some(doubt) = &report.clock.doubt {
        return Some(warning("clock", doubt_sentence(doubt, report.now)));
    }
    if let Some(ahead) = report.clock.ahead {
        let ahead = format::duration(ahead);
        return Some(warning(
            "clock",
            format!("the last tick lies {ahead} ahead: the clock was set back; check the time service"),
        ));
    }
    let text = "the clock was set since the last tick; check the time service";
    report.clock.was_set.then(|| warning("clock", text))
}

/// After the clock was set back. The next tick shortens their wait, unless it does not believe the clock yet.
fn retries(report: &Report) -> Option<Finding> {
    let jobs = format::count(report.late_retries, "job");
    let text = format!("{jobs} would be tried again later than retry_max_delay from now: the clock was set back");
    (report.late_retries > 0).then(|| warning("retry_late", text))
}

/// Bytes. With less the database cannot be written, whatever `min_free` says.
const FULL: u64 = 1 << 20;

fn disk(report: &Report) -> Vec<Finding> {
    let disk = &report.disk;
    let mut found = Vec::new();
    if let Some(free) = disk.free.filter(|free| *free < disk.min_free) {
        let (free, least) = (format::bytes(free), format::size(disk.min_free));
        let text =
            format!("{free} of disk space is free, less than min_free ({least}): nothing is started; free some space");
        found.push(critical("disk_low", text));
    } else if disk.free.is_some_and(|free| free < FULL) {
        found.push(critical("disk_low", "the disk is full: nothing can be queued or made; free some space"));
    } else if disk.is_refused {
        let text =
            "the disk is full: a quota is used up, and nothing can be queued or made; free some space or raise it";
        found.push(critical("disk_low", text));
    }
    if let Some(free) = disk.free_inodes.filter(|free| *free < FEW_INODES) {
        let files = format::count(free, "file");
        found.push(critical(
            "inodes_low",
            format!("only {files} more can be made on the disk of the cache; remove some"),
        ));
    }
    if disk.wal > LARGE_WAL {
        let size = format::bytes(disk.wal);
        let text = format!(
            "the database's log has {size}: a process has kept reading for long; find it with `fuser` and end it"
        );
        found.push(warning("wal_large", text));
    }
    found
}

/// What the next tick would remove is not told: a full cache is well.
fn cache(report: &Report) -> Option<Finding> {
    let cache = &report.cache;
    let (excess, most) = (format::bytes(cache.excess), format::size(cache.max_size));
    let text = format!(
        "the cache holds {excess} more than max_size ({most}): what is left is younger than grace or needed by pending \
         jobs; raise max_size, or shorten grace"
    );
    (cache.excess > 0).then(|| warning("cache_full", text))
}

/// Whatever refuses requests or ticks, in the words in which they say it.
fn refused(context: &Context, report: &Report) -> Vec<Finding> {
    let (site, config) = (&context.site, &context.config);
    let exporters = || config.exporters.keys().find_map(|name| site.exporter_refusal(name));
    let place = site.queue_refusal(config).or_else(|| site.export_refusal(config)).or_else(exporters);
    let place = place.map(|text| critical("not_writable", text));
    let log = site.log_refusal(config).map(|text| warning("not_writable", format!("{text}; exports have no log")));
    let machine = report.refused.as_ref().map(|text| critical("other_machine", text));
    let starts = site.noted_refused().filter(|_| place.is_none());
    let starts = starts.map(|text| critical("cannot_start", format!("ticks can start nothing: {text}")));
    [machine, starts, place, log].into_iter().flatten().collect()
}

/// What a tick has told once.
fn leftovers(context: &Context) -> Option<Finding> {
    let count = context.site.leftovers() as u64;
    let what = format::count(count, "ended attempt");
    let text = format!("{what} left files in work/ that cannot be removed; cron's mail has said why");
    (count > 0).then(|| warning("work_left", text))
}

fn writer(report: &Report) -> Option<Finding> {
    let who = report.writer.as_ref()?;
    Some(critical("database_locked", format!("{who} holds the database's write lock and does not let go; end it")))
}

/// Somebody who writes that file can at most have this said.
fn unnamed(context: &Context) -> Option<Finding> {
    let ago = context.site.unnamed_since().filter(|ago| *ago < UNNAMED)?;
    let text = format!(
        "a visitor came {} ago without what client in [http] names, and counted by REMOTE_ADDR: does the server set it?",
        format::duration(ago)
    );
    Some(warning("client_missing", text))
}

fn queue(queue: &Queue) -> Vec<Finding> {
    let (name, waiting) = (&queue.name, queue.state.queued);
    let mut found = Vec::new();
    found.extend(held(queue));
    let most = queue.state.due().max(queue.state.delayed);
    if queue.is_configured && most >= queue.max_queued {
        let text = format!(
            "queue {name} is full with {most} jobs: requests are turned away; `pressroom jobs list --queue {name}` shows whose"
        );
        found.push(warning("queue_full", text));
    }
    if !queue.is_configured && waiting > 0 {
        let text = format!(
            "queue {name} is no longer configured, but {} wait in it; configure or cancel them",
            format::count(waiting, "job")
        );
        found.push(warning("queue_unknown", text));
    }
    found
}

/// What an admin has stopped and may have forgotten.
fn held(queue: &Queue) -> Option<Finding> {
    let name = &queue.name;
    let (code, what) = match queue.state.mode {
        Mode::Open => return None,
        Mode::Paused => ("queue_paused", "paused: no job of it is started"),
        Mode::Draining => ("queue_draining", "draining: requests are turned away"),
    };
    Some(warning(code, format!("queue {name} is {what}; resume it with `pressroom queues resume {name}`")))
}

fn exporter((name, why): (&String, &String)) -> Finding {
    critical("exporter_broken", format!("exporter {name}: {why}; its jobs wait until the configuration is corrected"))
}

fn unconfigured((name, count): &(String, u32)) -> Finding {
    let more = if *count >= MOST_HELD { "at least " } else { "" };
    let jobs = format::count(u64::from(*count), "queued job");
    let text = format!(
        "exporter {name} is not in the configuration: {more}{jobs} of it held; configure it again, or give them up with \
         `pressroom jobs cancel --exporter {name}`"
    );
    warning("exporter_missing", text)
}

fn breaker((name, state): &(String, Breaker)) -> Finding {
    let how = match state {
        Breaker::Open { until } => format!("none is started before {}", format::time(*until)),
        Breaker::Trial | Breaker::Closed => "one is started at a time".to_owned(),
    };
    let look = format!(
        "`pressroom jobs history --exporter {name}` tells why; once it is repaired, a successful `pressroom try {name} …` or \
         `pressroom jobs retry --exporter {name}` starts its jobs again"
    );
    warning("breaker", format!("exporter {name} fails on every file: {how}; {look}"))
}

fn run(running: &RunningJob) -> Option<Finding> {
    let job = format!("job {} ({})", running.job.id, running.job.filename);
    if running.is_overdue {
        let elapsed = format::duration(running.elapsed);
        let text = format!("{job} runs for {elapsed} and should have been ended; the next tick kills it");
        return Some(warning("overdue", text));
    }
    let lost = matches!(running.sight, Sight::Free | Sight::Missing);
    // A run that has just died is the next tick's matter.
    let text = format!("the run of {job} has died and no tick has dealt with it");
    (lost && running.elapsed > NO_TICK).then(|| warning("lost", text))
}

/// A job that waits for half of the time after which it is dropped.
fn waiting(report: &Report) -> Option<Finding> {
    let (job, waited, ttl) = report.impatient.as_ref().filter(|_| report.clock.doubt.is_none())?;
    let (age, most) = (format::duration(*waited), format::duration(*ttl));
    let text = format!(
        "job {} ({}) has waited for {age} and is dropped after {most}; see what holds the rest back",
        job.id, job.filename
    );
    Some(warning("waiting_long", text))
}

/// What an admin asked for, by a command or by `abandon_after`, is no finding.
fn dropped(report: &Report) -> Option<Finding> {
    let reasons: Vec<_> = report.dropped.iter().filter(|(reason, _)| reason.is_news()).collect();
    let count: u64 = reasons.iter().map(|(_, count)| count).sum();
    let why: Vec<_> = reasons.iter().map(|(reason, count)| format!("{count} {}", why_dropped(*reason))).collect();
    let text = format!(
        "{} dropped in the last hour ({}); `pressroom jobs history --result dropped` lists them",
        if count == 1 { "1 job was".to_owned() } else { format!("{count} jobs were") },
        why.join(", ")
    );
    (count > 0).then(|| warning("dropped", text))
}

const fn why_dropped(reason: DropReason) -> &'static str {
    match reason {
        DropReason::TooOld => "waited longer than queued_ttl",
        DropReason::Abandoned => "abandoned",
        DropReason::NoExporter => "whose exporter is not configured",
        DropReason::Cancelled => "cancelled",
    }
}

fn notices(report: &Report) -> Option<Finding> {
    let waiting = format::count(report.notices?, "notice");
    let text = format!(
        "notify.command fails: {waiting} to be handed over; it is tried again for a day, and cron's mail has said why"
    );
    Some(warning("notify_failing", text))
}

fn failures(report: &Report) -> Vec<Finding> {
    let mut found = Vec::new();
    for &(outcome, count, _) in &report.still_failed {
        let what = match outcome {
            Outcome::Spawn => "could not be started",
            Outcome::Lost => "lost their supervisor process",
            _ => continue,
        };
        let text = format!(
            "{} of the last hour {what}; `pressroom jobs history --result {}` tells why, and `pressroom jobs retry` or \
             `dismiss` ends this",
            format::count(count, "job"),
            outcome.name()
        );
        found.push(warning(if outcome == Outcome::Spawn { "spawn" } else { "lost_runs" }, text));
    }
    let ended = total(report);
    // What is computed from rows may be anything.
    let failed =
        report.still_failed.iter().fold(0, |sum: u64, (_, _, attempts)| sum.saturating_add(*attempts)).min(ended);
    if ended >= ENOUGH && failed.saturating_mul(2) >= ended {
        let text = format!(
            "{failed} of {ended} attempts of the last hour failed, and so did their jobs; `pressroom jobs history --status \
             failed` tells why, and `pressroom jobs retry` or `dismiss` ends this"
        );
        found.push(warning("failures", text));
    }
    found
}

fn total(report: &Report) -> u64 {
    report.last_hour.iter().filter(|(outcome, _)| *outcome != Outcome::Dropped).map(|(_, count)| count).sum()
}
