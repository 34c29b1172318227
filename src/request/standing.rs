//! How the file of a request stands: one look at the cache and at the job's row.

use super::{
    ask::Ask,
    look::{Look, Refusal},
};
use crate::{
    cache::Cached,
    model::{age::Freshness, answer::State, clock::Stamp, failpoint, job::Job, status::Status},
};

/// A job that is to start so soon is left alone: `--after` may lie as far ahead.
const SOON_MS: i64 = 6_000;

/// What file and row say.
pub enum Standing {
    /// A file that counts.
    Ready(Cached),
    /// A job that the request can wait for as it is.
    Running(Job),
    Queued(Job),
    /// A failure that is still the answer.
    Failed(Job),
    /// There is nothing, and who asks only looks.
    Absent,
    /// Something has to be written: there is no row, or it is not, as it stands, what the request wants.
    Missing(Option<Job>),
    /// It would have to be, but may not.
    Refused(Refusal),
}

impl Standing {
    /// What a row says.
    pub const fn of(job: Job) -> Self {
        match job.status {
            Status::Queued => Self::Queued(job),
            Status::Started => Self::Running(job),
            Status::FailedTimeout | Status::FailedUnknown => Self::Failed(job),
        }
    }

    /// The state of the row, if it is one.
    pub const fn pending(&self) -> Option<State> {
        match self {
            Self::Running(_) => Some(State::Started),
            Self::Queued(_) => Some(State::Queued),
            Self::Failed(job) => Some(failed_state(job.status)),
            Self::Ready(_) | Self::Absent | Self::Missing(_) | Self::Refused(_) => None,
        }
    }
}

const fn failed_state(status: Status) -> State {
    match status {
        Status::FailedTimeout => State::FailedTimeout,
        _ => State::FailedUnknown,
    }
}

impl Look<'_> {
    /// File first, row second. Whoever only looks looks at the file once more: the row may have gone because the file came.
    pub fn standing(&self, ask: &Ask) -> anyhow::Result<Standing> {
        if let Some(cached) = self.in_cache(ask)? {
            return Ok(Standing::Ready(cached));
        }
        failpoint::at("request-before-row");
        let Some(job) = self.view.job(&ask.filename)? else {
            return Ok(if ask.no_enqueue {
                self.in_cache(ask)?.map_or(Standing::Absent, Standing::Ready)
            } else {
                Standing::Missing(None)
            });
        };
        let does = ask.no_enqueue || !self.wants_write(ask, &job)?;
        Ok(if does { Standing::of(job) } else { Standing::Missing(Some(job)) })
    }

    /// A file that is fresh and was begun late enough. The mtime alone can only say no.
    fn in_cache(&self, ask: &Ask) -> anyhow::Result<Option<Cached>> {
        let fresh = ask.cached(self.context)?.filter(|cached| ask.age(cached, self.now) == Freshness::Fresh);
        let (Some(cached), Some(after)) = (&fresh, ask.after) else { return Ok(fresh) };
        let began = if cached.made < after { None } else { self.view.latest_ok(&ask.filename)? };
        Ok(fresh.filter(|_| began.is_some_and(|attempt| attempt.counts_from >= after)))
    }

    fn wants_write(&self, ask: &Ask, job: &Job) -> anyhow::Result<bool> {
        Ok(match job.status {
            Status::Queued => {
                ask.wants_later(job, self.now) || ask.wants_newer_source(job) || ask.wants_sooner(job, self.now)
            }
            Status::Started => self.wants_one_more(ask, job)?,
            Status::FailedTimeout | Status::FailedUnknown => !self.still_the_answer(ask, job)?,
        })
    }

    /// The attempt that is going on does not do: it began too early, or is being cancelled, which who asks now has not
    /// wanted.
    fn wants_one_more(&self, ask: &Ask, job: &Job) -> anyhow::Result<bool> {
        if job.cancel && job.again.is_none() {
            return Ok(true);
        }
        let Some(after) = ask.after else {
            return Ok(ask.exporter.is_task() && job.again.is_none());
        };
        let too_old = self.began(job)?.is_none_or(|began| began < after);
        Ok(too_old && job.again.is_none_or(|again| again < after))
    }

    /// A failure is the answer for `failure_ttl`, and for `--after` only if it started since.
    fn still_the_answer(&self, ask: &Ask, job: &Job) -> anyhow::Result<bool> {
        let recent = job.failed.is_some_and(|failed| self.now < failed.plus(ask.exporter.failure_ttl));
        let Some(after) = ask.after.filter(|_| recent) else { return Ok(recent) };
        Ok(self.began(job)?.or(job.failed).is_some_and(|began| began >= after))
    }

    /// When the job's last attempt began to count.
    fn began(&self, job: &Job) -> anyhow::Result<Option<Stamp>> {
        let Some(id) = &job.attempt else { return Ok(job.started) };
        Ok(self.view.attempt(id)?.map(|attempt| attempt.counts_from).or(job.started))
    }
}

/// What one more request wants of a job that is queued already: when it may start, and how new its source must be.
impl Ask<'_> {
    /// Only what starts then or later counts for the request.
    fn wants_later(&self, job: &Job, now: Stamp) -> bool {
        self.after.is_some_and(|after| after > now && after > job.run_after)
    }

    fn wants_newer_source(&self, job: &Job) -> bool {
        job.source.is_some() && self.after > job.source_after
    }

    /// It was to be delayed for somebody else's sake.
    pub(super) fn wants_sooner(&self, job: &Job, now: Stamp) -> bool {
        job.attempts == 0 && self.wanted(now).plus_ms(SOON_MS) < job.run_after
    }

    pub(super) fn wanted(&self, now: Stamp) -> Stamp {
        self.run_after(now).max(now)
    }
}
