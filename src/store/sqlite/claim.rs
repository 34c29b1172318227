//! From queued to started: which job is next, a batch of claims, and claims that are undone.

use std::time::Duration;

use anyhow::bail;
use rusqlite::params;

use super::{Store, Tx, View, enqueue::QueueStep, rows::json};
use crate::{
    model::{
        clock::Stamp,
        failpoint,
        job::{AttemptId, Claim, Job},
        limits::Limits,
        status::Outcome,
    },
    site::ActivityEvent,
    store::Result,
};

/// How a batch of claims is decided. Every call comes under the write lock.
pub trait ClaimPolicy {
    /// Whether anything may be claimed at all.
    fn begin(&mut self) -> anyhow::Result<()>;

    /// The queues that have a seat free; none ends the batch.
    fn queues(&self) -> Vec<String>;

    /// Exporters of which nothing is started.
    fn held_back(&self) -> &[String];

    /// What becomes of the job whose turn it is.
    fn decide(&mut self, view: &View<'_>, job: &Job) -> anyhow::Result<ClaimDecision>;

    /// It is started as soon as the batch is committed. An error undoes it.
    fn started(&mut self, claim: Claim) -> anyhow::Result<()>;

    /// Any other decision was carried out. An error undoes it.
    fn done(&mut self, view: &View<'_>, job: &Job, decision: ClaimDecision) -> anyhow::Result<()>;

    /// Something has failed for one job, and was undone for that alone. An error undoes the batch.
    fn failed(&mut self, job: &Job, error: anyhow::Error) -> anyhow::Result<()>;
}

/// What becomes of a job whose turn it is.
#[derive(Clone, Debug)]
pub enum ClaimDecision {
    Start(NewAttempt),
    /// In the queue where it goes on it has its turn.
    Move(QueueMove),
    /// Its source has to be made first, for which these steps are taken.
    Await {
        source: String,
        steps: Vec<QueueStep>,
    },
    /// It fails without an attempt, as its source has, and what is made from it fails too.
    Fail {
        source: String,
        outcome: Outcome,
        message: String,
    },
    /// The same for a row that does not fit its exporter's rules.
    Refuse {
        message: String,
    },
    /// Passed over in this batch.
    Pass,
}

/// What an attempt begins with.
#[derive(Clone, Debug)]
pub struct NewAttempt {
    pub id: AttemptId,
    pub limits: Limits,
    /// When the making of its file began: now, or for a derived file the start that counts for its source.
    pub counts_from: Stamp,
    /// The file that it is made from.
    pub source: Option<String>,
}

/// Where a queued job goes on.
#[derive(Clone, Debug)]
pub struct QueueMove {
    pub queue: String,
    /// Since when it is taken for queued there, if that changes.
    pub queued_since: Option<Stamp>,
}

impl Store {
    /// Starts the jobs that `policy` has seats for, in one transaction. After `most` jobs that are not started it ends, so
    /// that the write lock is soon free again; whether it was so.
    pub fn claim_batch(&mut self, policy: &mut impl ClaimPolicy, most: usize, now: Stamp) -> anyhow::Result<bool> {
        self.immediate(|tx| {
            policy.begin()?;
            let mut skip = Vec::new();
            while skip.len() < most
                && let Some(job) = tx.next_ready(&policy.queues(), policy.held_back(), &skip)?
            {
                match tx.alone(|| tx.carry_out(policy, &job, now))? {
                    Ok(true) => {}
                    Ok(false) => skip.push(job.id),
                    Err(error) => {
                        policy.failed(&job, error)?;
                        skip.push(job.id);
                    }
                }
            }
            failpoint::at("tick-before-commit");
            Ok(skip.len() == most)
        })
    }

    /// Back into the queue as if they had not been claimed; see [`Tx::give_back`].
    pub fn give_back<'c>(&mut self, claims: impl IntoIterator<Item = &'c Claim>, now: Stamp) -> anyhow::Result<()> {
        self.immediate(|tx| claims.into_iter().try_for_each(|claim| Ok(tx.give_back(claim, now).map(drop)?)))
    }

    /// Makes jobs ready whose time has come, until `end` (time since boot), and says how many. Those that wait for a time
    /// between the two moments of `asleep` go on waiting.
    pub fn wake_due(&mut self, asleep: Option<(Stamp, Stamp)>, end: Duration) -> anyhow::Result<usize> {
        let mut jobs = 0;
        self.repeat(end, |tx| {
            let now = Stamp::now();
            let woken = asleep.map_or_else(|| tx.wake(now), |(after, before)| tx.wake_except(now, after, before))?;
            jobs += woken;
            Ok(woken > 0)
        })?;
        Ok(jobs)
    }

    /// Moves ready jobs of this queue, at most `limit`, those of the exporters in `held` left out; each with the name of
    /// its new queue.
    pub fn move_ready(
        &mut self,
        queue: &str,
        held: &[String],
        limit: u32,
        place: impl Fn(&View<'_>, &Job) -> anyhow::Result<QueueMove>,
    ) -> anyhow::Result<Vec<(Job, String)>> {
        // Looked at first: the write lock is not for a round that moves nothing.
        if self.view().ready_in(queue, held, 1)?.is_empty() {
            return Ok(Vec::new());
        }
        self.immediate(|tx| {
            let jobs = tx.ready_in(queue, held, limit)?;
            let moved = jobs.into_iter().map(|job| {
                let to = place(tx, &job)?;
                tx.go_on_in(&job, &to)?;
                Ok((job, to.queue))
            });
            moved.collect()
        })
    }
}

impl Tx<'_> {
    /// `false`: the job is passed over from here on.
    fn carry_out(&self, policy: &mut impl ClaimPolicy, job: &Job, now: Stamp) -> anyhow::Result<bool> {
        let decision = policy.decide(self, job)?;
        match &decision {
            ClaimDecision::Start(new) => {
                let Some(claim) = self.start(job, new, now)? else { return Ok(false) };
                return policy.started(claim).map(|()| true);
            }
            ClaimDecision::Move(to) => self.go_on_in(job, to)?,
            ClaimDecision::Await { source, steps } => {
                self.enqueue(steps, now)?;
                self.wait_for_source(job, source)?;
            }
            ClaimDecision::Fail { outcome, message, .. } => {
                self.fail_queued(job, *outcome, Some(message), now)?;
                self.fail_dependents(&job.filename, *outcome, message)?;
            }
            ClaimDecision::Refuse { message } => {
                self.refuse(job, message, now)?;
                self.fail_dependents(&job.filename, Outcome::Spawn, message)?;
            }
            ClaimDecision::Pass => {}
        }
        let is_moved = matches!(decision, ClaimDecision::Move(_));
        policy.done(self, job, decision)?;
        Ok(is_moved)
    }

    /// `None`: it is not queued (any more).
    fn start(&self, job: &Job, new: &NewAttempt, now: Stamp) -> anyhow::Result<Option<Claim>> {
        let Some(claim) = self.claim(job, &new.id, &new.limits, now, new.counts_from)? else { return Ok(None) };
        if !is_of(&claim, job) {
            bail!("its row has changed while it was claimed"); // which takes the claim back
        }
        Ok(Some(Claim { source: new.source.clone(), ..claim }))
    }

    fn go_on_in(&self, job: &Job, to: &QueueMove) -> Result<()> {
        let is_moved = self.move_to(job, &to.queue)?;
        match to.queued_since.filter(|_| is_moved) {
            Some(since) => self.set_queued_since(job.id, since),
            None => Ok(()),
        }
    }
}

/// Whether what was claimed is what was checked.
fn is_of(claim: &Claim, job: &Job) -> bool {
    let claimed = (claim.job, &claim.filename, &claim.exporter, &claim.params, &claim.queue);
    claimed == (job.id, &job.filename, &job.exporter, &job.params, &job.queue)
}

const SERVED: &str = "SELECT served FROM queue WHERE name = ?";

/// Exporters and jobs that are passed over come as JSON. The bound is for rows that cannot be read.
pub(super) const READY: &str = "
    SELECT * FROM job
     WHERE queue = ?1 AND status = 0 AND waits = 0
       AND exporter NOT IN (SELECT value FROM json_each(?2)) AND id NOT IN (SELECT value FROM json_each(?3))
     ORDER BY rank, due, id LIMIT 5000";

pub(super) const NEXT_WAKE: &str = "
    SELECT run_after FROM job WHERE status = 0 AND waits = 1 ORDER BY run_after LIMIT 1";

impl View<'_> {
    /// The job to claim next from these queues, which have a seat free: the queue that was served longest ago
    /// first, in it by rank, moment at which it may start, and id. Paused queues are the caller's to leave out.
    ///
    /// Jobs in `skip` and of exporters in `held_back` are passed over. A job whose `run_after` has passed counts only
    /// when it was woken.
    pub(super) fn next_ready(&self, queues: &[String], held_back: &[String], skip: &[i64]) -> Result<Option<Job>> {
        for queue in self.by_turn(queues)? {
            let mut first = None;
            let params = params![queue, json(held_back), json(skip)];
            self.each_job(READY, params, |job, _| {
                first = Some(job); // that can be read
                false
            })?;
            if first.is_some() {
                return Ok(first);
            }
        }
        Ok(None)
    }

    /// These queues, the one served longest ago first.
    pub(super) fn by_turn(&self, queues: &[String]) -> Result<Vec<String>> {
        let mut turns = Vec::with_capacity(queues.len());
        for queue in queues {
            // One that cannot be read is as good as never.
            let served = self.one(SERVED, params![queue], |row| Ok(row.get::<_, Stamp>(0).unwrap_or_default()))?;
            let served = served.unwrap_or_default();
            turns.push((served, queue.clone()));
        }
        turns.sort();
        Ok(turns.into_iter().map(|(_, queue)| queue).collect())
    }

    /// When the first job that waits for its time may start; it may lie in the past.
    pub fn next_wake(&self) -> Result<Option<Stamp>> {
        self.one(NEXT_WAKE, [], |row| row.get(0))
    }
}

pub(super) const CLAIM: &str = "
    UPDATE job
       SET status = 1, attempt = ?2, started = ?3, attempts = attempts + 1, waits = 0, again = NULL,
           percent = NULL, message = NULL
     WHERE id = ?1 AND status = 0 AND waits <> 2
    RETURNING *";

const BEGIN_ATTEMPT: &str = "
    INSERT INTO attempt (id, job, filename, exporter, params, queue, client, number,
                         submitted, started, counts_from, limits)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Later than every other queue's, so that claims within one millisecond take turns too.
const SERVE: &str = "
    UPDATE queue SET served = max(?2, 1 + (SELECT max(served) FROM queue)) WHERE name = ?1";

/// Without an attempt, and with none that could be taken for its reason.
const REFUSE: &str = "
    UPDATE job
       SET status = 3, result = 'spawn', message = ?2, started = ?3, failed = ?3, attempt = NULL, waits = 0, reported = 0
     WHERE id = ?1 AND status = 0";

impl Tx<'_> {
    /// A queued job that cannot be what its row says fails, which is not counted as an attempt. `false`: it is not queued
    /// (any more).
    pub(super) fn refuse(&self, job: &Job, message: &str, now: Stamp) -> Result<bool> {
        self.counting(job.id, || Ok(self.change(REFUSE, params![job.id, message, now])? == 1))
    }

    /// Starts an attempt at a queued job: it counts from now on, a noted run is satisfied by it, and the queue has
    /// been served. `None`: the job is not queued (any more), or waits for its source.
    ///
    /// `counts_from` is `now`, or for a derived file the start that counts for its source.
    pub(super) fn claim(
        &self,
        job: &Job,
        attempt: &AttemptId,
        limits: &Limits,
        now: Stamp,
        counts_from: Stamp,
    ) -> Result<Option<Claim>> {
        let mut claimed_row = None;
        self.counting(job.id, || {
            claimed_row = self.one_job(CLAIM, params![job.id, attempt, now])?;
            Ok(claimed_row.is_some())
        })?;
        let Some(job) = claimed_row else { return Ok(None) };
        self.change(
            BEGIN_ATTEMPT,
            params![
                attempt,
                job.id,
                job.filename,
                job.exporter,
                job.params,
                job.queue,
                job.client,
                job.attempts,
                job.submitted,
                now,
                counts_from,
                limits
            ],
        )?;
        self.change(SERVE, params![job.queue, now])?;
        Ok(Some(claimed(job, attempt, limits, now)))
    }
}

/// What the run of a started job is told.
pub(super) fn claimed(job: Job, attempt: &AttemptId, limits: &Limits, now: Stamp) -> Claim {
    Claim {
        job: job.id,
        attempt: attempt.clone(),
        filename: job.filename,
        exporter: job.exporter,
        params: job.params,
        queue: job.queue,
        number: job.attempts,
        submitted: job.submitted,
        started: now,
        limits: limits.clone(),
        source: job.source,
        client: job.client,
    }
}

const FORGET_ATTEMPT: &str = "DELETE FROM attempt WHERE id = ? AND ended IS NULL";

/// A noted run is satisfied by the next attempt, which is not started before that note's moment.
const GIVE_BACK: &str = "
    UPDATE job
       SET status = 0, waits = coalesce(again, 0) > ?3, run_after = max(run_after, coalesce(again, 0)),
           due = max(due, coalesce(again, 0)), rank = rank - due / 600000 + max(due, coalesce(again, 0)) / 600000,
           queued_since = max(?3, coalesce(again, 0)), started = NULL, percent = NULL, message = NULL,
           source_after = CASE
               WHEN source IS NULL OR again IS NULL THEN source_after ELSE max(coalesce(source_after, again), again)
           END,
           again = NULL, attempts = max(attempts - 1, 0),
           attempt = (SELECT id FROM attempt WHERE job = ?1 ORDER BY rowid DESC LIMIT 1)
     WHERE id = ?1 AND attempt = ?2 AND status = 1";

impl Tx<'_> {
    /// Back into the queue as if the job had not been claimed: the machine, or the configuration, let nothing be started.
    /// That is no attempt, so nothing of it stays, neither in the count nor in the history. `false`: somebody else has ended the attempt; touch
    /// nothing more.
    pub(super) fn give_back(&self, claim: &Claim, now: Stamp) -> Result<bool> {
        if self.cancel_requested(claim)?.is_none() {
            return Ok(false);
        }
        self.change(FORGET_ATTEMPT, params![claim.attempt])?;
        self.tell(ActivityEvent::new("returned", now).claim(claim));
        Ok(self.end_cancelled(claim, now)?
            || self.counting(claim.job, || Ok(self.change(GIVE_BACK, params![claim.job, claim.attempt, now])? == 1))?)
    }
}
