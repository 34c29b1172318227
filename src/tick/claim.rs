//! Claims as many jobs as there are seats, in one commit, and launches a run for each.
//!
//! The lock of an attempt is made and held before the commit: a started job is never without a held lock, so nobody
//! can take a healthy job for a lost one (invariant 4).

use std::{collections::BTreeMap, fmt, fs::File, io, time::Duration};

use anyhow::bail;

use super::{
    launch::{self, Seat},
    plan::{HoldReason, PlanStep},
    ready::{self, fit},
    round::{Round, Trouble, expect_lock},
    seats::Seats,
};
use crate::{
    config::command::{self, Places},
    context::Context,
    model::{
        clock::Stamp,
        failpoint,
        job::{Claim, Job},
        status::Status,
    },
    request::{Ask, Look, SourceState, fit, source_of},
    store::{ClaimDecision, ClaimPolicy, NewAttempt, StoreError, View},
    supervise,
};

/// So many jobs that turn out not to be ready are put aside in one batch, so that the write lock is soon free again.
const ASIDE: usize = 1000;
/// And then a lingering tick comes back for the rest.
const SOON: Duration = Duration::from_secs(1);
/// After so many jobs that cannot be claimed it is not the jobs' matter.
const MOST: usize = 20;

/// One batch of claims, then one launch for each.
pub fn fill_seats(round: &mut Round) -> anyhow::Result<()> {
    let unusable = || round.context.site.export_refusal(&round.context.config);
    if let Some(problem) = supervise::cannot_supervise().or_else(unusable) {
        round.trouble = Trouble::NothingStarts; // which is no job's fault: none is claimed
        bail!(problem);
    }
    // The round may have begun long ago: a job that starts now must count for whoever asked in between.
    let now = Stamp::now();
    let mut batch = Batch::new(round, now)?;
    let ended = round.store.claim_batch(&mut batch, ASIDE, now);
    let Batch { seats, claimed, problems, steps, aside, .. } = batch;
    if let Some(plan) = round.plan_mut() {
        plan.steps.extend(steps);
        plan.aside = aside;
    }
    for problem in problems {
        round.problem(problem);
    }
    match &ended {
        Err(error) if is_full(error) => drop(round.context.site.give_up_reserve()?),
        Err(error) if error.is::<NoLock>() => round.trouble = Trouble::NothingStarts,
        _ => {}
    }
    round.look_again = seats.look_again.or(ended?.then_some(SOON));
    if let Some(plan) = round.plan_mut() {
        plan.seats = Some(seats);
        return Ok(()); // its claims are steps, in their places
    }
    failpoint::at("tick-claimed");
    launch::all(round, claimed);
    Ok(())
}

fn is_full(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::DiskFull))
}

/// The claims of one round, and what is met on the way.
struct Batch<'a> {
    context: &'a Context,
    tick_lock: Option<&'a File>,
    now: Stamp,
    /// No lock is made.
    is_plan: bool,
    seats: Seats,
    claimed: Vec<Seat>,
    problems: Vec<String>,
    /// For a plan.
    steps: Vec<PlanStep>,
    aside: BTreeMap<i64, HoldReason>,
}

impl<'a> Batch<'a> {
    fn new(round: &Round<'a>, now: Stamp) -> anyhow::Result<Self> {
        let freed = round.plan().map_or(0, |plan| plan.freed);
        let seats = Seats::count(round.context, &round.store.view(), round.now, freed)?;
        for reason in &seats.reasons {
            tracing::info!(reason, "held back");
        }
        supervise::prepare_ids()?;
        Ok(Self {
            context: round.context,
            tick_lock: round.lock,
            now,
            is_plan: round.is_plan(),
            seats,
            claimed: Vec::new(),
            problems: Vec::new(),
            steps: Vec::new(),
            aside: BTreeMap::new(),
        })
    }

    fn start(&mut self, view: &View, job: &Job, ask: &Ask) -> anyhow::Result<ClaimDecision> {
        let (context, now) = (self.context, self.now);
        let source = source_of(&context.config, ask)?.map(|source| source.filename);
        let counts_from = match (Look { context, view, now }).renew_source(ask, job)? {
            SourceState::None => now,
            SourceState::Ready(counts_from) => counts_from,
            SourceState::Pending(steps) => {
                return Ok(ClaimDecision::Await { source: source.unwrap_or_default(), steps });
            }
            SourceState::Failed(outcome, message) => {
                return Ok(ClaimDecision::Fail { source: source.unwrap_or_default(), outcome, message });
            }
            SourceState::Later => {
                let why = format!("its source {} cannot be queued just now", source.unwrap_or_default());
                self.aside.insert(job.id, HoldReason::new("source_later", why));
                return Ok(ClaimDecision::Pass);
            }
        };
        let limits = view.escalated(job)?.map(|row| fit::limits(ask.exporter, &row));
        let limits = limits.unwrap_or_else(|| ask.exporter.limits.clone());
        Ok(ClaimDecision::Start(NewAttempt { id: supervise::new_id()?.into(), limits, counts_from, source }))
    }

    /// A source that is queued has its turn in this round, too.
    fn note_source(&mut self, view: &View, for_file: &str, source: &str) -> anyhow::Result<()> {
        let is_new = |source: &Job| source.status == Status::Queued && source.submitted == self.now;
        let Some(job) = view.job(source)?.filter(is_new) else { return Ok(()) };
        self.steps.push(PlanStep::Queue { job: (&job).into(), for_file: for_file.to_owned() });
        job.source.map_or(Ok(()), |source| self.note_source(view, &job.filename, &source))
    }
}

impl ClaimPolicy for Batch<'_> {
    fn begin(&mut self) -> anyhow::Result<()> {
        expect_lock(self.context, self.tick_lock)
    }

    fn queues(&self) -> Vec<String> {
        self.seats.queues()
    }

    fn held_back(&self) -> &[String] {
        &self.seats.held_back
    }

    fn decide(&mut self, view: &View, job: &Job) -> anyhow::Result<ClaimDecision> {
        let context = self.context;
        if context.config.holds(&job.exporter).is_some() {
            return Ok(ClaimDecision::Pass);
        }
        match fit(context, job) {
            Ok(ask) if fit::may_be_in(&ask, &job.queue) => self.start(view, job, &ask),
            Ok(ask) => Ok(ClaimDecision::Move(ready::to_queue(context, view, job, fit::home(&ask), self.now)?)),
            // It was queued under other rules, or was not written by us, which cannot be told apart.
            Err(message) => Ok(ClaimDecision::Refuse { message }),
        }
    }

    /// The lock is made and held before the commit (invariant 4).
    fn started(&mut self, claim: Claim) -> anyhow::Result<()> {
        let lock = if self.is_plan { File::open("/dev/null") } else { self.context.site.new_lock(&claim.attempt) };
        let lock = lock.map_err(NoLock)?;
        failpoint::at("tick-made-lock");
        if self.is_plan {
            self.steps.extend(planned(self.context, &claim));
        }
        self.seats.take(&claim);
        self.claimed.push(Seat { claim, lock });
        Ok(())
    }

    fn done(&mut self, view: &View, job: &Job, decision: ClaimDecision) -> anyhow::Result<()> {
        let named = job.into();
        match decision {
            ClaimDecision::Await { source, .. } => self.note_source(view, &job.filename, &source)?,
            ClaimDecision::Move(to) => {
                self.steps.push(PlanStep::Move { job: named, from: job.queue.clone(), to: to.queue });
            }
            ClaimDecision::Fail { source, message, .. } => {
                let why = format!("{source} cannot be made: {message}");
                self.steps.push(PlanStep::Fail { job: named, why });
            }
            ClaimDecision::Refuse { message } => self.steps.push(PlanStep::Fail { job: named, why: message }),
            ClaimDecision::Pass | ClaimDecision::Start(_) => {}
        }
        Ok(())
    }

    fn failed(&mut self, job: &Job, error: anyhow::Error) -> anyhow::Result<()> {
        if error.is::<NoLock>() || self.problems.len() >= MOST {
            return Err(error);
        }
        let text = format!("cannot claim job {} ({}): {error:#}", job.id, job.filename);
        self.aside.insert(job.id, HoldReason::new("problem", text.clone()));
        self.problems.push(text);
        Ok(())
    }
}

/// The arguments with `{output}` and its like by their names.
fn planned(context: &Context, claim: &Claim) -> Option<PlanStep> {
    let ask = fit::fit(&context.config, &claim.exporter, &claim.params, &claim.filename).ok()?;
    let exporter = ask.exporter;
    let places = Places { output: "OUTPUT", source: exporter.source.as_ref().map(|_| "SOURCE"), work: "WORK" };
    Some(PlanStep::Claim {
        job: claim.into(),
        exporter: exporter.name.clone(),
        queue: claim.queue.clone(),
        number: claim.number,
        command: command::argv(exporter, &ask.values, &places).unwrap_or_else(|sentence| vec![sentence]),
    })
}

/// No lock can be made: that is not the job's matter, and the next one would meet it too.
#[derive(Debug)]
struct NoLock(io::Error);

impl std::error::Error for NoLock {}

impl fmt::Display for NoLock {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "cannot make a lock in work/: {}", self.0)
    }
}
