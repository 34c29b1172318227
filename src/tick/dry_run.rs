//! `tick --dry-run`: prints what the next round does. It takes no lock that matters and writes nothing at all.
//!
//! The round itself is carried out, on a private copy of the database in memory; see [`super::plan`].

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    thread::sleep,
    time::Duration,
};

use super::{
    expire,
    plan::{Hold, HoldReason, Moment, PlanStep},
    prune, ready,
    round::{Plan, Round, RoundKind},
    schedule,
    seats::Seats,
};
use crate::{
    cache::choose,
    cli::Format,
    context::Context,
    exit::Failure,
    model::{clock::Stamp, job::Job},
    output::Output,
    request::{Ask, source_of},
    store::{DELAYED, Original, Store, StoreError, View},
};

/// So many jobs of each queue are told with the reason for which they wait.
const TOLD: u32 = 100;

/// Prints the plan of a round.
pub fn run(context: &Context, format: Format) -> Result<(), Failure> {
    let (original, mut copy, many_go) = copy(context)?;
    let mut steps = plan(context, &original, &mut copy)?;
    if many_go {
        steps.push(PlanStep::Beyond { text: "more jobs may be dropped than are told here".to_owned() });
    }
    let mut paper = Output::new();
    for step in steps {
        match format {
            Format::Text => paper.line(step),
            Format::Json => paper.json(&serde_json::to_value(step).map_err(anyhow::Error::from)?),
        }
    }
    paper.close()
}

/// A log that a killed process has left half written is put right by whoever writes next, which this does not.
fn open(context: &Context) -> anyhow::Result<Store> {
    for _ in 0..50 {
        match Store::open_readonly(context.database()) {
            Err(StoreError::Unrecovered) => sleep(Duration::from_millis(20)),
            opened => return opened.map_err(|error| error.at(&context.config.database)),
        }
    }
    Err(StoreError::Unrecovered.into())
}

/// What the round decides by. A job that is none of the first in its queue, that does not go, and that nothing first is
/// made from, is not decided about.
///
/// The last part of the result: whether more jobs may go than were looked for.
fn copy(context: &Context) -> anyhow::Result<(Original, Store, bool)> {
    let store = open(context)?;
    let queues = queues(context, &store.view())?;
    let exporters: Vec<_> = context.config.exporters.keys().cloned().collect();
    let held = Seats::count(context, &store.view(), Stamp::now(), 0)?.held_back;
    let (mut original, copy) = Original::copied(store, &queues, &exporters, &held)?;
    let gone = going(context, &mut original)?;
    original.take_jobs(&copy, &gone)?;
    original.take_files(&copy, &files_that_may_go(context))?;
    original.take_files(&copy, &sources(context, &copy, &queues)?)?;
    Ok((original, copy, gone.len() >= expire::BATCH as usize))
}

/// Those that are configured, and those that have jobs.
fn queues(context: &Context, view: &View) -> anyhow::Result<Vec<String>> {
    let mut names: BTreeSet<_> = context.config.queues.keys().cloned().collect();
    names.extend(view.queued_by_queue()?.into_keys());
    Ok(names.into_iter().collect())
}

/// The jobs that the round drops.
fn going(context: &Context, original: &mut Original) -> anyhow::Result<Vec<i64>> {
    let gone = expire::expired(&Round::new(context, original.store_mut(), None, RoundKind::Full))?;
    Ok(gone.into_iter().map(|(job, _)| job.id).collect())
}

/// Cached files that go unless a job pins them.
fn files_that_may_go(context: &Context) -> Vec<String> {
    let entries = context.cache.scan(&mut Vec::new());
    let cache = &context.config.cache;
    let rules = |exporter: &str| prune::rules(context, exporter);
    let chosen = choose(&entries, rules, cache.grace, cache.max_size, Stamp::now(), |_| false);
    let expired = chosen.expired.into_iter().map(|(entry, _)| entry);
    chosen.gone.into_iter().chain(expired).map(|entry| entry.filename).collect()
}

/// What the copied jobs and the schedules are made from, whatever their rows say, and the schedules' own files.
fn sources(context: &Context, copy: &Store, queues: &[String]) -> anyhow::Result<Vec<String>> {
    let is_derived = |job: &Job| context.config.exporters.get(&job.exporter).is_some_and(|one| one.source.is_some());
    let mut found = BTreeSet::new();
    for queue in queues {
        for job in copy.view().first_in(queue, u32::MAX)?.into_iter().filter(is_derived) {
            if let Ok(ask) = ready::fit(context, &job) {
                chain(context, ask, &mut found)?;
            }
        }
    }
    for schedule in context.config.sound_schedules() {
        if let Ok(ask) = schedule::ask(context, schedule) {
            chain(context, ask, &mut found)?;
        }
    }
    Ok(found.into_iter().collect())
}

fn chain<'a>(context: &'a Context, ask: Ask<'a>, found: &mut BTreeSet<String>) -> anyhow::Result<()> {
    let mut next = Some(ask);
    while let Some(ask) = next {
        next = source_of(&context.config, &ask)?;
        found.insert(ask.filename);
    }
    Ok(())
}

/// Carries the round out on the copy, and looks at what still waits after it.
fn plan(context: &Context, original: &Original, copy: &mut Store) -> anyhow::Result<Vec<PlanStep>> {
    let mut round = Round::new(context, copy, None, RoundKind::DryRun(Box::default()));
    round.decide();
    let Plan { mut steps, seats, aside, .. } = round.plan_mut().map(mem::take).unwrap_or_default();
    let waits = Waits { context, view: round.store.view(), now: Stamp::now(), seats, aside };
    for queue in queues(context, &waits.view)? {
        steps.extend(waits.in_queue(&queue)?);
    }
    if original.has_more_delayed() {
        steps.push(PlanStep::Beyond {
            text: format!("more than {DELAYED} jobs wait for their time; the others are left out"),
        });
    }
    Ok(steps)
}

/// The state after the round.
struct Waits<'a> {
    context: &'a Context,
    view: View<'a>,
    now: Stamp,
    /// None: nothing can be claimed.
    seats: Option<Seats>,
    aside: BTreeMap<i64, HoldReason>,
}

impl Waits<'_> {
    /// The first jobs that wait there, and how many more there are.
    fn in_queue(&self, queue: &str) -> anyhow::Result<Vec<PlanStep>> {
        let jobs = self.view.first_in(queue, TOLD)?;
        let mut steps = Vec::new();
        for job in &jobs {
            steps.push(PlanStep::Hold(Hold { job: job.into(), queue: queue.to_owned(), reason: self.reason(job)? }));
        }
        let more = self.view.queue(queue)?.queued.saturating_sub(jobs.len() as u64);
        steps.extend((more > 0).then(|| PlanStep::More { queue: queue.to_owned(), jobs: more }));
        Ok(steps)
    }

    fn reason(&self, job: &Job) -> anyhow::Result<HoldReason> {
        if let Some(why) = self.context.config.holds(&job.exporter) {
            return Ok(HoldReason::new("held", why));
        }
        if job.waits_for_source {
            return self.source(job);
        }
        if job.run_after > self.now {
            // What holds it longest.
            let breaker = self.seats.as_ref().and_then(|seats| seats.why_not_exporter(job));
            return Ok(breaker
                .filter(|breaker| breaker.until > Some(Moment(job.run_after)))
                .unwrap_or_else(|| time(job)));
        }
        if let Some(reason) = self.aside.get(&job.id) {
            return Ok(reason.clone());
        }
        let Some(seats) = &self.seats else { return Ok(HoldReason::new("problem", "no job can be started")) };
        let turn = || HoldReason::new("turn", "its turn comes in a later round");
        Ok(seats.why_not(&self.context.config, job).unwrap_or_else(turn))
    }

    fn source(&self, job: &Job) -> anyhow::Result<HoldReason> {
        let name = job.source.as_deref().unwrap_or_default();
        let status = self.view.job(name)?.map_or("not there", |source| source.status.name());
        Ok(HoldReason::new("source", format!("it waits for its source {name}, which is {status}")))
    }
}

/// A job that waits for a moment has been tried, or somebody wants it later.
fn time(job: &Job) -> HoldReason {
    if job.result.is_some() {
        HoldReason::until("retry", "it is tried again, not before", job.run_after)
    } else {
        HoldReason::until("time", "it is not started before", job.run_after)
    }
}
