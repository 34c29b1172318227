//! Claims as many jobs as there are seats, in one commit, and launches a run for each.
//!
//! The lock of an attempt is made and held before the commit: a started job is never without a held lock, so nobody
//! can take a healthy job for a lost one (invariant 4).

use std::{collections::BTreeMap, fmt, fs::File, io, time::Duration};

use anyhow::bail;

use super::{
    launch::{self, Seat},
    plan::{HoldReason, PlanStep},
    ready,
    round::{Round, Trouble, expect_lock},
    seats::Seats,
};
use crate::{
    config::{
        Exporter,
        command::{self, Places},
    },
    context::Context,
    model::{
        clock::Stamp,
        failpoint,
        job::{AttemptId, Claim, Job},
        limits::Limits,
        status::{Outcome, Status},
    },
    request::{Ask, Look, SourceState, fit, source_of},
    run::close::fail_dependents,
    store::{StoreError, Tx},
    supervise,
};

/// One batch of claims, then one launch for each.
pub fn fill_seats(round: &mut Round) -> anyhow::Result<()> {
    let unusable = || round.context.site.export_refusal(&round.context.config);
    if let Some(problem) = supervise::cannot_supervise().or_else(unusable) {
        round.trouble = Trouble::NothingStarts; // which is no job's fault: none is claimed
        bail!(problem);
    }
    let mut seats =
        Seats::count(round.context, &round.store.view(), round.now, round.plan().map_or(0, |plan| plan.freed))?;
    for reason in &seats.reasons {
        tracing::info!(reason, "held back");
    }
    supervise::prepare_ids()?;
    // The round may have begun long ago: a job that starts now must count for whoever asked in between.
    let (context, lock) = (round.context, round.lock);
    let mut batch = Batch::new(round, Stamp::now());
    let claimed = round.store.immediate(|tx| {
        expect_lock(context, lock)?;
        batch.claim(tx, &mut seats)
    });
    let Batch { problems, steps, aside, .. } = batch;
    if let Some(plan) = round.plan_mut() {
        plan.steps.extend(steps);
        plan.aside = aside;
    }
    for problem in problems {
        round.problem(problem);
    }
    let claimed = match claimed {
        Err(error) if is_full(&error) => {
            round.context.site.give_up_reserve()?;
            return Err(error);
        }
        claimed => {
            if claimed.as_ref().is_err_and(anyhow::Error::is::<NoLock>) {
                round.trouble = Trouble::NothingStarts;
            }
            claimed?
        }
    };
    round.look_again = seats.look_again;
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

/// So many jobs that turn out not to be ready are put aside in one batch, so that the write lock is soon free again.
const ASIDE: usize = 1000;
/// And then a lingering tick comes back for the rest.
const SOON: Duration = Duration::from_secs(1);
/// After so many jobs that cannot be claimed it is not the jobs' matter.
const MOST: usize = 20;

/// The claims of one round, and what is met on the way.
struct Batch<'a> {
    context: &'a Context,
    now: Stamp,
    /// No lock is made.
    is_plan: bool,
    problems: Vec<String>,
    /// For a plan.
    steps: Vec<PlanStep>,
    aside: BTreeMap<i64, HoldReason>,
}

impl<'a> Batch<'a> {
    fn new(round: &Round<'a>, now: Stamp) -> Self {
        let (problems, steps, aside) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { context: round.context, now, is_plan: round.is_plan(), problems, steps, aside }
    }

    fn claim(&mut self, tx: &Tx, seats: &mut Seats) -> anyhow::Result<Vec<Seat>> {
        let mut claimed = Vec::new();
        let mut skip = Vec::new();
        while skip.len() < ASIDE
            && let Some(job) = tx.next_ready(&seats.queues(), &seats.held_back, &skip)?
        {
            // What fails for one job is undone, and the others are claimed.
            match tx.alone(|| self.take(tx, &job))? {
                Ok(Taken::Claimed(seat)) => {
                    seats.take(&job);
                    claimed.push(*seat);
                }
                Ok(Taken::Moved) => {}
                Ok(Taken::Not) => skip.push(job.id),
                Err(error) if error.is::<NoLock>() || self.problems.len() >= MOST => return Err(error),
                Err(error) => {
                    let text = format!("cannot claim job {} ({}): {error:#}", job.id, job.filename);
                    self.aside.insert(job.id, HoldReason::new("problem", text.clone()));
                    self.problems.push(text);
                    skip.push(job.id);
                }
            }
        }
        seats.look_again = seats.look_again.or((skip.len() == ASIDE).then_some(SOON));
        failpoint::at("tick-before-commit");
        Ok(claimed)
    }

    fn take(&mut self, tx: &Tx, job: &Job) -> anyhow::Result<Taken> {
        let context = self.context;
        if context.config.holds(&job.exporter).is_some() {
            return Ok(Taken::Not);
        }
        match ready::fit(context, job) {
            Ok(ask) if !fit::may_be_in(&ask, &job.queue) => {
                let (from, to) = (job.queue.clone(), fit::home(&ask).to_owned());
                ready::move_to(context, tx, job, &to, self.now)?;
                self.steps.push(PlanStep::Move { job: job.into(), from, to });
                Ok(Taken::Moved)
            }
            Ok(ask) => Ok(self.start(tx, job, &ask)?.map_or(Taken::Not, |seat| Taken::Claimed(Box::new(seat)))),
            Err(sentence) => {
                refuse(tx, job, &sentence, self.now)?;
                self.steps.push(PlanStep::Fail { job: job.into(), why: sentence });
                Ok(Taken::Not)
            }
        }
    }

    fn start(&mut self, tx: &Tx, job: &Job, ask: &Ask) -> anyhow::Result<Option<Seat>> {
        let (context, now) = (self.context, self.now);
        let source = source_of(&context.config, ask)?.map(|source| source.filename);
        let counts_from = match (Look { context, view: tx, now }).renew_source(ask, job)? {
            SourceState::None => now,
            SourceState::Ready(counts_from) => counts_from,
            SourceState::Pending(steps) => {
                tx.enqueue(&steps, now)?;
                tx.wait_for_source(job, source.as_deref().unwrap_or_default())?;
                self.note_source(tx, job, source.as_deref())?;
                return Ok(None);
            }
            SourceState::Failed(outcome, message) => {
                tx.fail_queued(job, outcome, Some(&message), now)?;
                fail_dependents(tx, &job.filename, outcome, &message)?;
                let why = format!("{} cannot be made: {message}", source.unwrap_or_default());
                self.steps.push(PlanStep::Fail { job: job.into(), why });
                return Ok(None);
            }
            SourceState::Later => {
                let why = format!("its source {} cannot be queued just now", source.unwrap_or_default());
                self.aside.insert(job.id, HoldReason::new("source_later", why));
                return Ok(None);
            }
        };
        let attempt = AttemptId::from(supervise::new_id()?);
        let lock = if self.is_plan { File::open("/dev/null") } else { context.site.new_lock(&attempt) };
        let lock = lock.map_err(NoLock)?;
        failpoint::at("tick-made-lock");
        let limits = limits(tx, ask.exporter, job)?;
        let Some(claim) = tx.claim(job, &attempt, &limits, now, counts_from)? else { return Ok(None) };
        if !is_of(&claim, job) {
            bail!("its row has changed while it was claimed"); // which takes the claim back
        }
        self.steps.push(claimed(&claim, ask));
        Ok(Some(Seat { claim: Claim { source, ..claim }, lock }))
    }

    /// A source that is queued has its turn in this round, too.
    fn note_source(&mut self, tx: &Tx, job: &Job, source: Option<&str>) -> anyhow::Result<()> {
        let source = source.map(|source| tx.job(source)).transpose()?.flatten();
        let is_new = |source: &Job| source.status == Status::Queued && source.submitted == self.now;
        let Some(source) = source.filter(is_new) else { return Ok(()) };
        self.steps.push(PlanStep::Queue { job: (&source).into(), for_file: job.filename.clone() });
        self.note_source(tx, &source, source.source.as_deref())
    }
}

/// The arguments with `{output}` and its like by their names.
fn claimed(claim: &Claim, ask: &Ask) -> PlanStep {
    let exporter = ask.exporter;
    let places = Places { output: "OUTPUT", source: exporter.source.as_ref().map(|_| "SOURCE"), work: "WORK" };
    PlanStep::Claim {
        job: claim.into(),
        exporter: exporter.name.clone(),
        queue: claim.queue.clone(),
        number: claim.number,
        command: command::argv(exporter, &ask.values, &places).unwrap_or_else(|sentence| vec![sentence]),
    }
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

/// What became of a job whose turn it was.
enum Taken {
    Claimed(Box<Seat>),
    /// Into the queue where it belongs; there it has its turn.
    Moved,
    /// It is not started now.
    Not,
}

/// Whether what was claimed is what was checked.
fn is_of(claim: &Claim, job: &Job) -> bool {
    let claimed = (claim.job, &claim.filename, &claim.exporter, &claim.params, &claim.queue);
    claimed == (job.id, &job.filename, &job.exporter, &job.params, &job.queue)
}

fn limits(tx: &Tx, exporter: &Exporter, job: &Job) -> anyhow::Result<Limits> {
    Ok(tx.escalated(job)?.map_or_else(|| exporter.limits.clone(), |row| fit::limits(exporter, &row)))
}

/// A row that does not fit its exporter's rules was queued under other ones, or was not written by us, which cannot be
/// told apart: it fails, and uses up no attempt.
fn refuse(tx: &Tx, job: &Job, sentence: &str, now: Stamp) -> anyhow::Result<()> {
    tx.refuse(job, sentence, now)?;
    fail_dependents(tx, &job.filename, Outcome::Spawn, sentence)
}
