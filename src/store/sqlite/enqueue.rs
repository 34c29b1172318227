//! Into the queue, and what happens to a job while it is there.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, anyhow};
use rusqlite::{named_params, params};

use super::{Store, Tx, View, counts::Counted, rows::json, settings::ScheduleState};
use crate::{
    model::{clock::Stamp, failpoint, job::Job, status::Outcome},
    site::ActivityEvent,
    store::{Result, StoreError},
};

pub(super) const INSERT: &str = "
    INSERT INTO job (filename, exporter, params, queue, priority, client, source, source_after, waits, rank,
                     submitted, run_after, due, queued_since, last_asked)
    VALUES (:filename, :exporter, :params, :queue, :priority, :client, :source, :source_after,
            CASE WHEN :for_source THEN 2 ELSE :run_after > :now END,
            max(:now, :run_after) / 600000 - :priority
                + coalesce((SELECT min(pending, 1000) FROM client WHERE queue = :queue AND client = :client), 0),
            :now, :run_after, max(:now, :run_after), max(:now, :run_after), :now)
    RETURNING *";

pub(super) const REQUEUE: &str = "
    UPDATE job
       SET exporter = :exporter, params = :params, queue = :queue, priority = :priority, client = :client,
           source = :source, source_after = :source_after, status = 0,
           waits = CASE WHEN :for_source THEN 2 ELSE :run_after > :now END,
           rank = max(:now, :run_after) / 600000 - :priority
                + coalesce((SELECT min(pending, 1000) FROM client WHERE queue = :queue AND client = :client), 0),
           submitted = :now, run_after = :run_after, due = max(:now, :run_after), queued_since = max(:now, :run_after), last_asked = :now,
           started = NULL, failed = NULL, attempts = 0, shutdowns = 0, percent = NULL, message = NULL, result = NULL,
           limits = NULL, reported = 0
     WHERE id = :id AND filename = :filename AND status >= 2
    RETURNING *";

const NOTE_AGAIN: &str = "UPDATE job SET again = max(coalesce(again, ?2), ?2) WHERE id = ?1 AND status = 1";

const DELAY: &str = "
    UPDATE job
       SET run_after = max(run_after, ?2), due = max(due, ?2), rank = rank - due / 600000 + max(due, ?2) / 600000,
           queued_since = max(queued_since, ?2),
           source_after = CASE WHEN source IS NULL THEN NULL ELSE max(coalesce(source_after, ?2), ?2) END,
           waits = CASE WHEN waits = 0 AND ?2 > ?3 THEN 1 ELSE waits END
     WHERE id = ?1 AND status = 0";

const HASTEN: &str = "
    UPDATE job
       SET run_after = ?2, due = max(submitted, ?2), rank = rank - due / 600000 + max(submitted, ?2) / 600000,
           queued_since = max(?3, ?2), waits = CASE waits WHEN 1 THEN ?2 > ?3 ELSE waits END
     WHERE id = ?1 AND status = 0 AND attempts = 0 AND run_after > ?2";

/// Those that wait for something come when they wait no longer.
pub(super) const READY_IN: &str = "
    SELECT * FROM job
     WHERE queue = ?1 AND status = 0 AND waits = 0 AND exporter NOT IN (SELECT value FROM json_each(?2))
     ORDER BY rank, due, id LIMIT ?3";

const MOVE: &str = "UPDATE job SET queue = ? WHERE id = ? AND status = 0";

const TOUCH_ASKED: &str = "UPDATE job SET last_asked = max(last_asked, ?2) WHERE id = ?1";

pub(super) const WAKE: &str = "
    UPDATE job SET waits = 0
     WHERE id IN (SELECT id FROM job WHERE status = 0 AND waits = 1 AND run_after <= ?1
                     AND NOT (run_after > ?2 AND run_after < ?3) ORDER BY run_after LIMIT 1000)
    RETURNING queue";

const WAIT_FOR_SOURCE: &str = "UPDATE job SET waits = 2, source = ?2 WHERE id = ?1 AND status = 0";

/// From here on it could be started, so `queued_ttl` begins anew. The source's row may be gone already, which has woken
/// the jobs; one that waits for its time goes on doing so.
pub(super) const SOURCE_READY: &str = "
    UPDATE job SET waits = run_after > ?2, queued_since = max(run_after, ?2)
     WHERE id = ?1";

pub(super) const WAITING: &str = "SELECT id FROM job WHERE source = ? AND status = 0 AND waits > 0";

const FAIL_QUEUED: &str = "
    UPDATE job SET status = ?2, result = ?3, message = ?4, failed = ?5, waits = 0, reported = 0
     WHERE id = ?1 AND status = 0";

const ARRIVE: &str = "
    INSERT INTO arrival (queue, client, at, count) VALUES (?, ?, ?, 1)
        ON CONFLICT (queue, client, at) DO UPDATE SET count = count + 1";

/// The values of a wish by name, as both statements below want them.
macro_rules! wish {
    ($new:expr $(, $name:literal: $value:expr)*) => {
        named_params! {
            ":filename": $new.filename, ":exporter": $new.exporter, ":params": $new.params, ":queue": $new.queue,
            ":priority": $new.priority, ":client": $new.client, ":source": $new.source,
            ":source_after": $new.source_after, ":for_source": $new.waits_for_source,
            ":now": $new.now, ":run_after": $new.run_after $(, $name: $value)*
        }
    };
}

/// A wish for one file, checked and named.
#[derive(Clone, Debug)]
pub struct NewJob {
    pub filename: String,
    pub exporter: String,
    /// The parameters as a JSON object.
    pub params: String,
    pub queue: String,
    /// From -10 to 10; higher is sooner.
    pub priority: i64,
    /// A keyed hash, or the name given on the command line.
    pub client: Option<String>,
    pub now: Stamp,
    /// Not started before this moment; `now` for at once.
    pub run_after: Stamp,
    /// The filename of the source that it is made from.
    pub source: Option<String>,
    /// The source's making must have begun then or later.
    pub source_after: Option<Stamp>,
    /// The source has to be made first; see [`Tx::source_ready`].
    pub waits_for_source: bool,
    /// It counts as new work of its client; see [`View::arrivals`].
    pub is_new_work: bool,
}

/// One change by which a request gets, or keeps, its place in the queue.
#[derive(Clone, Debug)]
pub enum QueueStep {
    Insert(NewJob),
    /// A failed job, as if it were new.
    Requeue(Job, NewJob),
    /// A queued job is to start sooner than was wished at first.
    Hasten(Job, Stamp),
    /// A queued job is not to start before this moment.
    Delay(Job, Stamp),
    /// One more run is to follow the one that is going on, not before this moment.
    NoteAgain(Job, Stamp),
}

/// What is done about a request, decided under the write lock.
pub enum Decision<T> {
    /// Nothing has to be written.
    Settled(T),
    /// These changes, in their order; the last one is about the job that was asked for.
    Write(Vec<QueueStep>),
}

/// What became of a decision.
pub enum Enqueued<T> {
    Settled(T),
    Job(Job),
}

/// What a schedule that is due does.
pub struct ScheduleRun {
    /// `None`: it is left out this time.
    pub steps: Option<Vec<QueueStep>>,
    pub state: ScheduleState,
    pub event: ActivityEvent,
}

impl Store {
    /// At most one new row for each file, however many ask at once: `decide` looks under the write lock, and what it wants
    /// is done in the same transaction.
    pub fn enqueue_once<T>(
        &mut self,
        now: Stamp,
        decide: impl FnOnce(&View<'_>) -> anyhow::Result<Decision<T>>,
    ) -> anyhow::Result<Enqueued<T>> {
        self.immediate(|tx| match decide(tx)? {
            Decision::Settled(found) => Ok(Enqueued::Settled(found)),
            Decision::Write(steps) => {
                let job = tx.enqueue(&steps, now)?.context("nothing was to be written")?;
                failpoint::at("request-before-commit");
                Ok(Enqueued::Job(job))
            }
        })
    }

    /// Queues what a schedule wants, if it is due: `decide` looks under the write lock. The job, if one was queued.
    pub fn run_schedule(
        &mut self,
        name: &str,
        now: Stamp,
        decide: impl FnOnce(&View<'_>) -> anyhow::Result<Option<ScheduleRun>>,
    ) -> anyhow::Result<Option<Job>> {
        self.immediate(|tx| {
            let Some(run) = decide(tx)? else { return Ok(None) };
            let queue = |steps: Vec<_>| tx.enqueue(&steps, now)?.context("nothing was queued");
            let job = run.steps.map(queue).transpose()?;
            tx.set_schedule(name, run.state)?;
            tx.tell(run.event);
            Ok(job)
        })
    }

    /// Writes down when a schedule is due next.
    pub fn set_schedule(&mut self, name: &str, state: ScheduleState) -> anyhow::Result<()> {
        self.immediate(|tx| Ok(tx.set_schedule(name, state)?))
    }

    /// Writes down that somebody still waits for a queued job, if that was not done in the time before `now` that `every`
    /// says.
    pub fn note_asked(&mut self, filename: &str, now: Stamp, every: Duration) -> anyhow::Result<()> {
        let due = |job: &Job| now >= job.last_asked.plus(every);
        match self.view().job(filename)?.filter(due) {
            Some(job) => self.immediate(|tx| Ok(tx.touch_asked(&job, now)?)).map(drop),
            None => Ok(()),
        }
    }
}

impl Tx<'_> {
    /// Takes the steps; the job of the last one.
    pub fn enqueue(&self, steps: &[QueueStep], now: Stamp) -> anyhow::Result<Option<Job>> {
        let mut last = None;
        for step in steps {
            last = Some(self.take_step(step, now)?);
        }
        Ok(last)
    }

    fn take_step(&self, step: &QueueStep, now: Stamp) -> anyhow::Result<Job> {
        let (job, _) = match step {
            QueueStep::Insert(new) => return Ok(queued(self.insert(new)?)),
            QueueStep::Requeue(old, new) => {
                return self.requeue(old, new)?.map(queued).context("the failed job has changed under its lock");
            }
            QueueStep::NoteAgain(job, at) => {
                self.note_again(job, *at)?;
                return Ok(job.clone());
            }
            QueueStep::Hasten(job, run_after) => (job, self.hasten(job, *run_after, now)?),
            QueueStep::Delay(job, run_after) => (job, self.delay(job, *run_after, now)?),
        };
        Ok(self.job_by_id(job.id)?.unwrap_or_else(|| job.clone()))
    }

    /// Queues a job for a file that has none. Its rank counts from the moment at which it may start: ten minutes of waiting weigh as much as one
    /// step of priority, or as one job that the client has pending in this queue already.
    pub(super) fn insert(&self, new: &NewJob) -> Result<Job> {
        let job = self.one_job(INSERT, wish!(new))?;
        let job = job.ok_or_else(|| StoreError::Other(anyhow!("queueing {} left no row", new.filename)))?;
        let is_delayed = !new.waits_for_source && new.run_after > new.now;
        self.entered(&Counted::queued(&new.queue, new.client.as_deref(), is_delayed))?;
        self.arrive(new)?;
        Ok(job)
    }

    /// Queues a failed job again, as if it were new: fresh stamps, attempts 0, plain limits; its id stays.
    /// `None`: it is not failed (any more).
    pub(super) fn requeue(&self, job: &Job, new: &NewJob) -> Result<Option<Job>> {
        self.keep_failure(job.id)?; // before its row says something else
        let mut requeued = None;
        self.counting(job.id, || {
            requeued = self.one_job(REQUEUE, wish!(new, ":id": job.id))?;
            Ok(requeued.is_some())
        })?;
        if requeued.is_some() {
            self.arrive(new)?;
        }
        Ok(requeued)
    }

    fn arrive(&self, new: &NewJob) -> Result<()> {
        match new.client.as_ref().filter(|_| new.is_new_work) {
            Some(client) => self.change(ARRIVE, params![new.queue, client, new.now]).map(drop),
            None => Ok(()),
        }
    }

    /// Notes that one more run must follow the one that is going on, and not before `at`; of several the latest.
    /// `false`: it is not started (any more).
    pub(super) fn note_again(&self, job: &Job, at: Stamp) -> Result<bool> {
        Ok(self.change(NOTE_AGAIN, params![job.id, at])? == 1)
    }

    /// A queued job is not started before `run_after`, nor made from a source that was begun before it; an earlier
    /// moment than it has changes nothing.
    /// `false`: it is not queued (any more).
    pub(super) fn delay(&self, job: &Job, run_after: Stamp, now: Stamp) -> Result<bool> {
        self.counting(job.id, || Ok(self.change(DELAY, params![job.id, run_after, now])? == 1))
    }

    /// A queued job that was never tried may be started earlier than was wished at first.
    /// `false`: it is not queued (any more), or was to start by then anyway.
    pub(super) fn hasten(&self, job: &Job, run_after: Stamp, now: Stamp) -> Result<bool> {
        self.counting(job.id, || Ok(self.change(HASTEN, params![job.id, run_after, now])? == 1))
    }

    /// A queued job goes on in another queue, with the rank that it has.
    pub(super) fn move_to(&self, job: &Job, queue: &str) -> Result<bool> {
        self.counting(job.id, || Ok(self.change(MOVE, params![queue, job.id])? == 1))
    }

    /// Somebody has asked about the job.
    pub(super) fn touch_asked(&self, job: &Job, now: Stamp) -> Result<bool> {
        Ok(self.change(TOUCH_ASKED, params![job.id, now])? == 1)
    }

    /// Makes jobs ready whose time has come, at most 1000 in one go; says how many.
    pub(super) fn wake(&self, now: Stamp) -> Result<usize> {
        self.wake_except(now, now, now)
    }

    /// The same, but those that wait for a time between `after` and `before` go on waiting.
    pub(super) fn wake_except(&self, now: Stamp, after: Stamp, before: Stamp) -> Result<usize> {
        let queues = self.all(WAKE, params![now, after, before], |row| row.get::<_, String>(0))?;
        let mut woken = BTreeMap::new();
        for queue in &queues {
            *woken.entry(queue).or_insert(0) -= 1;
        }
        woken.into_iter().try_for_each(|(queue, by)| self.shift_delayed(queue, by))?;
        Ok(queues.len())
    }

    /// A queued job has to wait for this source, whatever its row says of it.
    pub(super) fn wait_for_source(&self, job: &Job, source: &str) -> Result<bool> {
        self.counting(job.id, || Ok(self.change(WAIT_FOR_SOURCE, params![job.id, source])? == 1))
    }

    /// The jobs that wait for this source wait no longer; says how many.
    pub fn source_ready(&self, source: &str, now: Stamp) -> Result<usize> {
        let waiting = self.all(WAITING, params![source], |row| row.get::<_, i64>(0))?;
        let ready = |id: &i64| self.counting(*id, || Ok(self.change(SOURCE_READY, params![id, now])? == 1)).map(drop);
        waiting.iter().try_for_each(ready)?;
        Ok(waiting.len())
    }

    /// What waits for this source fails with it, and so does what waits for that. Call it before the source's row is
    /// deleted, which wakes them.
    pub fn fail_dependents(&self, source: &str, outcome: Outcome, message: &str) -> Result<()> {
        self.fail_all(&self.waiting_for(source)?, outcome, message)
    }

    /// These fail as their source has, and so does what waits for them.
    pub fn fail_all(&self, waiting: &[Job], outcome: Outcome, message: &str) -> Result<()> {
        for job in waiting {
            self.fail_queued(job, outcome, Some(message), Stamp::now())?;
            let failed = ActivityEvent::new("failed", Stamp::now()).job(job).with("result", outcome.name());
            self.tell(failed.with("reason", "its source could not be made"));
            self.fail_dependents(&job.filename, outcome, message)?;
        }
        Ok(())
    }

    /// A queued job fails without an attempt of its own, as its source has. `false`: it is not queued (any more).
    pub(super) fn fail_queued(&self, job: &Job, outcome: Outcome, message: Option<&str>, now: Stamp) -> Result<bool> {
        let failed = params![job.id, outcome.failed_status(), outcome, message, now];
        self.counting(job.id, || Ok(self.change(FAIL_QUEUED, failed)? == 1))
    }
}

fn queued(job: Job) -> Job {
    tracing::info!(job = job.id, filename = job.filename, "queued");
    job
}

impl View<'_> {
    /// The first jobs of this queue that wait for nothing, those of the exporters in `without` left out.
    pub(super) fn ready_in(&self, queue: &str, without: &[String], limit: u32) -> Result<Vec<Job>> {
        self.jobs(READY_IN, params![queue, json(without), limit])
    }
}
