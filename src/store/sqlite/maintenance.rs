//! What the rounds of ticks keep in order, each an operation of its own: it holds the write lock for as short as it can, and
//! takes what has to happen under it as a closure.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use super::{
    Store, Tx,
    busy::at_once,
    checked::Unreadable,
    finishing::Drop,
    keeping::{Oldest, Part},
    notices::NoticeEvent,
    standstill::Standstill,
};
use crate::{
    model::{
        clock::{Stamp, TickMark, since_boot},
        estimate::Ticks,
        job::{AttemptId, Job, Record},
        status::{DropReason, Outcome},
    },
    site::ActivityEvent,
};

/// How long one piece of a long work holds the lock, so that no request notices.
const PIECE: Duration = Duration::from_millis(40);
/// Whoever waits for the lock gets it in between.
const REST: Duration = Duration::from_millis(10);

/// The moments `end` of these operations are in time since boot; what is not done by then is left to the next round.
impl Store {
    /// Acts on each item, as many of them in one transaction as fit into a piece. After `end` no other piece begins.
    fn in_pieces<T>(
        &mut self,
        mut items: &[T],
        end: Duration,
        mut act: impl FnMut(&Tx<'_>, &T) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        while !items.is_empty() && since_boot() < end {
            let done = self.immediate(|tx| {
                let begun = Instant::now();
                for (done, item) in items.iter().enumerate() {
                    act(tx, item)?;
                    if begun.elapsed() >= PIECE {
                        return Ok(done + 1);
                    }
                }
                Ok(items.len())
            })?;
            items = &items[done..];
            sleep(if items.is_empty() { Duration::ZERO } else { REST });
        }
        Ok(())
    }

    /// Repeats a transaction for as long as it says that there is more to do, and until `end`.
    pub(super) fn repeat(
        &mut self,
        end: Duration,
        mut act: impl FnMut(&Tx<'_>) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        while self.immediate(&mut act)? && since_boot() < end {
            sleep(REST);
        }
        Ok(())
    }
}

/// How a job goes without an attempt.
#[derive(Clone, Debug)]
pub enum Removal {
    /// It has failed, and the history knows it.
    Forget { why: &'static str },
    /// It is queued, and the history is told under this id, for the visitor and for the admin.
    Drop { entry: AttemptId, reason: DropReason, message: String, detail: String },
}

/// The cache and the jobs.
impl Store {
    /// Acts on each of the files that no job makes or is made from: under the write lock, which publishing needs, too
    /// (invariant 8). What `act` returns is told as soon as it is committed.
    pub fn prune_unpinned<T>(
        &mut self,
        files: &[T],
        filename: impl Fn(&T) -> &str,
        mut act: impl FnMut(&T) -> Option<ActivityEvent>,
    ) -> anyhow::Result<()> {
        self.in_pieces(files, Duration::MAX, |tx, file| {
            if !tx.pinned(filename(file))?
                && let Some(event) = act(file)
            {
                tx.tell(event);
            }
            Ok(())
        })
    }

    /// Writes down how many files are in the cache, and their bytes, for whoever must not walk through it.
    pub fn note_cache_figures(&mut self, files: u64, bytes: u64) -> anyhow::Result<()> {
        if self.view().cache_figures()? == Some((files, bytes)) {
            return Ok(());
        }
        self.immediate(|tx| Ok(tx.set_cache_figures(files, bytes)?))
    }

    /// Removes jobs that still are what they were; `dropped` hears of each that was queued.
    pub fn drop_jobs(
        &mut self,
        jobs: &[(Job, Removal)],
        end: Duration,
        mut dropped: impl FnMut(&Job, DropReason, &str),
    ) -> anyhow::Result<()> {
        self.in_pieces(jobs, end, |tx, (job, how)| {
            if let Some((reason, detail)) = remove_job(tx, job, how)? {
                dropped(job, reason, detail);
            }
            Ok(())
        })
    }

    /// Forgets when clients queued new work, from before `before` or ahead of `now`.
    pub fn trim_arrivals(&mut self, before: Stamp, now: Stamp, together: u32, end: Duration) -> anyhow::Result<()> {
        self.repeat(end, |tx| Ok(tx.trim_arrivals(before, now, together)? >= together as usize))
    }

    /// Replaces what is noted of times in which nothing could be started. With `is_over` no job needs any of it.
    pub fn note_standstills(&mut self, gone: &[&Standstill], new: &[&Standstill], is_over: bool) -> anyhow::Result<()> {
        self.immediate(|tx| {
            if is_over {
                tx.remove_standstills()?;
            }
            gone.iter().try_for_each(|old| tx.remove_standstill(old))?;
            Ok(new.iter().try_for_each(|new| tx.set_standstill(new))?)
        })
    }
}

/// What there is to say of a queued one.
fn remove_job<'a>(tx: &Tx<'_>, job: &Job, how: &'a Removal) -> anyhow::Result<Option<(DropReason, &'a str)>> {
    let (entry, reason, message, detail) = match how {
        Removal::Forget { why } => {
            if tx.delete(job.id, job.status)? {
                tracing::info!(job = job.id, filename = job.filename, why, "forgotten");
            }
            return Ok(None);
        }
        Removal::Drop { entry, reason, message, detail } => (entry, *reason, message, detail),
    };
    if !tx.drop_queued(job, entry, &Drop { reason, message, detail }, Stamp::now())? {
        return Ok(None);
    }
    tracing::info!(job = job.id, filename = job.filename, why = detail, "dropped");
    tx.tell(ActivityEvent::new("dropped", Stamp::now()).job(job).with("reason", &**detail));
    Ok(Some((reason, detail)))
}

/// The history.
impl Store {
    /// Gives up attempts that have ended, or only their logs, all of them: their logs have been removed.
    pub fn give_up(&mut self, part: Part, attempts: &[Oldest]) -> anyhow::Result<()> {
        self.in_pieces(attempts, Duration::MAX, |tx, attempt| Ok(tx.give_up(part, attempt)?))
    }

    /// Counts anew what is kept as a number beside the rows.
    pub fn recount(&mut self) -> anyhow::Result<()> {
        self.immediate(|tx| Ok(tx.recount_all()?))
    }

    /// Ends attempts as lost that no started job names, with the bytes of their logs; what is no id of an attempt goes.
    pub fn close_unclaimed(
        &mut self,
        ids: &[String],
        detail: &str,
        log_size: impl Fn(&AttemptId) -> u64,
        end: Duration,
    ) -> anyhow::Result<()> {
        self.in_pieces(ids, end, |tx, id| {
            let Some(attempt) = AttemptId::parse(id) else { return Ok(tx.remove_unclaimed(id)?) };
            tx.set_log_size(&attempt, log_size(&attempt))?;
            if tx.close_unclaimed(&attempt, detail, Stamp::now())? {
                tracing::info!(attempt = attempt.as_str(), detail, "lost");
            }
            Ok(())
        })
    }

    /// Remembers how full the queues are, and forgets what was remembered longer ago than `keep`.
    pub fn sample(&mut self, now: Stamp, keep: Duration, together: u32, end: Duration) -> anyhow::Result<()> {
        self.immediate(|tx| Ok(tx.add_sample(now)?))?;
        self.repeat(end, |tx| Ok(tx.trim_samples(now.minus(keep), together)? == together as usize))
    }

    /// What administrators did up to this one is in the activity log.
    pub fn actions_logged(&mut self, last: i64) -> anyhow::Result<()> {
        self.immediate(|tx| Ok(tx.actions_logged(last)?))
    }
}

/// Reports and notices.
impl Store {
    /// Takes these failures for reported; of those that `is_noted` is true for, `notify.command` is to hear.
    pub fn mark_reported(&mut self, jobs: &[Job], is_noted: impl Fn(&Job) -> bool) -> anyhow::Result<()> {
        self.in_pieces(jobs, Duration::MAX, |tx, job| {
            if is_noted(job) {
                tx.note_failure(job.id)?;
            }
            Ok(tx.set_reported(&[job.id])?)
        })
    }

    /// Takes all other failures for reported, and says how many of them are worth telling: not those that ended with
    /// `permanent`.
    pub fn pass_over_unreported(
        &mut self,
        permanent: i32,
        are_noted: bool,
        together: u32,
        end: Duration,
    ) -> anyhow::Result<u64> {
        let mut sum = 0;
        self.repeat(end, |tx| {
            if are_noted {
                tx.note_failures(permanent, together)?;
            }
            let (count, worth) = tx.pass_over_unreported(permanent, together)?;
            sum += worth;
            Ok(count == together as usize)
        })?;
        Ok(sum)
    }

    /// Notes for `notify.command` what was made since the last round.
    pub fn note_news(&mut self, together: u32, end: Duration) -> anyhow::Result<()> {
        self.repeat(end, |tx| Ok(tx.note_news(together)?))
    }

    /// Notices that were reported on stderr: each stays for `notify.command`, or goes.
    pub fn mark_mailed(&mut self, notices: &[(i64, bool)]) -> anyhow::Result<()> {
        self.in_pieces(notices, Duration::MAX, |tx, (id, stays)| {
            if *stays { Ok(tx.set_mailed(*id)?) } else { Ok(tx.remove_notice(*id)?) }
        })
    }

    pub fn remove_notices(&mut self, notices: &[i64]) -> anyhow::Result<()> {
        self.in_pieces(notices, Duration::MAX, |tx, id| Ok(tx.remove_notice(*id)?))
    }

    /// `notify.command` has failed with these: none is tried again before its moment.
    pub fn put_off_notices(&mut self, notices: &[(i64, Stamp)]) -> anyhow::Result<()> {
        self.immediate(|tx| notices.iter().try_for_each(|(id, next)| Ok(tx.put_off_notice(*id, *next)?)))
    }

    /// Nobody wants to be told about these.
    pub fn forget_notices(&mut self, event: NoticeEvent) -> anyhow::Result<()> {
        self.immediate(|tx| Ok(tx.forget_notices(event)?))
    }

    /// See [`Tx::give_up_notices`].
    pub fn give_up_notices(&mut self, before: Stamp, latest: Stamp, most: u32, limit: u32) -> anyhow::Result<usize> {
        self.immediate(|tx| Ok(tx.give_up_notices(before, latest, most, limit)?))
    }
}

/// The clock and the rounds.
impl Store {
    /// Gives stamps between the two moments, which a wrong clock made, the time `now`. All of them, whatever the time is.
    pub fn lift_stamps(&mut self, now: Stamp, from: Stamp, to: Stamp) -> anyhow::Result<()> {
        let mut after = Some(0);
        self.repeat(Duration::MAX, |tx| {
            after = after.map(|id| tx.lift_jobs(now, from, to, id)).transpose()?.flatten();
            Ok(after.is_some())
        })?;
        self.repeat(Duration::MAX, |tx| Ok(tx.lift_attempts(now, from, to)?))
    }

    /// Sets stamps of something past that lie ahead back to `now`.
    pub fn heal_stamps(&mut self, now: Stamp, end: Duration) -> anyhow::Result<()> {
        let mut after = Some(0);
        self.repeat(end, |tx| {
            after = after.map(|id| tx.heal_jobs(now, id)).transpose()?.flatten();
            Ok(after.is_some())
        })?;
        let mut is_more = true;
        self.repeat(end, |tx| {
            is_more = tx.heal_attempts(now)?;
            Ok(is_more)
        })?;
        if after.is_none() && !is_more {
            self.immediate(|tx| Ok(tx.heal_rest(now)?))?;
        }
        Ok(())
    }

    /// See [`Tx::hurry_retries`].
    pub fn hurry_retries(&mut self, exporter: &str, limit: Stamp, latest: Stamp) -> anyhow::Result<usize> {
        self.immediate(|tx| Ok(tx.hurry_retries(exporter, limit, latest)?))
    }

    /// A full round is over: `request` and `status` can tell that somebody ticks. `begun` is given the rhythm that is known,
    /// and tells the new one in the first round of a tick. Where nobody wants the news of successes they go.
    pub fn mark_round(
        &mut self,
        mark: &TickMark,
        keep_news: bool,
        begun: impl FnOnce(Option<Ticks>) -> Option<Ticks>,
    ) -> anyhow::Result<()> {
        self.immediate(|tx| {
            if !keep_news {
                tx.forget_news()?;
            }
            tx.mark_tick(mark)?;
            Ok(begun(tx.ticks()?).map_or(Ok(()), |ticks| tx.mark_ticks(&ticks))?)
        })
    }

    /// A tick ends now, before the time that was written down. Nobody waits for a busy database for that.
    pub fn note_early_end(&mut self, now: Stamp) -> anyhow::Result<()> {
        at_once(|| {
            self.immediate(|tx| {
                let ticks = tx.ticks()?.map(|ticks| Ticks { until: ticks.until.min(now.max(ticks.begun)), ..ticks });
                Ok(ticks.map_or(Ok(()), |ticks| tx.mark_ticks(&ticks))?)
            })
        })
    }
}

/// The database as a whole.
impl Store {
    /// Removes a row that none of ours can be.
    pub fn remove_unreadable(&mut self, found: &Unreadable) -> anyhow::Result<()> {
        self.immediate(|tx| Ok(tx.remove(found)?))
    }

    /// The same of the small tables; says how many.
    pub fn remove_odd_rows(&mut self) -> anyhow::Result<usize> {
        self.immediate(|tx| {
            let removed = tx.remove_odd_rows()?;
            tx.recount_all()?;
            Ok(removed)
        })
    }

    /// The database is older than the site: ids go on above `last_job`, and started jobs whose attempt `is_over` are queued
    /// again, without having been counted.
    pub fn adopt(&mut self, last_job: i64, is_over: impl Fn(&Job) -> bool, detail: &str) -> anyhow::Result<()> {
        self.immediate(|tx| {
            tx.raise_ids(last_job)?;
            for job in tx.started()?.iter().filter(|job| is_over(job)) {
                let Some(claim) = tx.claim_of_job(job)? else { continue };
                let bare = Record::bare(Outcome::Shutdown, Stamp::now(), Duration::ZERO);
                tx.finish_returned(&claim, &Record { detail: Some(detail.to_owned()), ..bare })?;
            }
            Ok(())
        })
    }
}
