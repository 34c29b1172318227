//! What has to be reported and must not be forgotten, whatever becomes of the job meanwhile.
//!
//! A failure is in its job's row until a round has reported it. It becomes a notice when a round does that, if
//! `notify.command` wants to know, or before that when the row is queued again or deleted. A notice stays until it has been
//! handed over.

use rusqlite::{Row, ToSql, params};

use super::{
    Tx, View,
    checked::{Filename, Params, QueueName, Text, Tries},
    rows::NonNegative,
};
use crate::{
    model::{
        clock::Stamp,
        job::AttemptId,
        status::{Outcome, Status},
    },
    store::Result,
};

/// A job that failed without having been started has failed with its source, whose attempt tells why.
macro_rules! of_job {
    ($mailed:literal) => {
        concat!(
            "INSERT INTO notice (event, at, job, filename, exporter, params, queue, client, status, result, source, attempt,
                                 attempts, mailed)
             SELECT 'failed', job.failed, job.id, job.filename, job.exporter, job.params, job.queue, job.client,
                    job.status, job.result, iif(job.started IS NULL, job.source, NULL),
                    iif(job.started IS NULL AND job.source IS NOT NULL, made.attempt, job.attempt), job.attempts, ",
            $mailed,
            " FROM job LEFT JOIN job AS made ON made.filename = job.source AND job.started IS NULL "
        )
    };
}

const NOTE_MAILED: &str = concat!(of_job!("1"), "WHERE job.id = ? AND job.status >= 2 AND job.reported = 0");

const NOTE_UNMAILED: &str = concat!(of_job!("0"), "WHERE job.id = ? AND job.status >= 2 AND job.reported = 0");

/// The same jobs as those that are counted as worth telling when many have failed.
const NOTE_MANY: &str = concat!(
    of_job!("1"),
    "LEFT JOIN attempt ON attempt.id = coalesce(made.attempt, job.attempt)
      WHERE job.id IN (SELECT id FROM job WHERE status >= 2 AND reported = 0 ORDER BY id LIMIT ?1)
        AND job.result <> 'cancelled' AND (attempt.exit_code IS NULL OR attempt.exit_code <> ?2)"
);

const NOTE_NEWS: &str = "
    INSERT INTO notice (event, at, job, filename, exporter, params, queue, client, result, attempt, attempts, mailed)
    SELECT 'ok', ended, job, filename, exporter, params, queue, client, result, id, number, 1
      FROM (SELECT attempt FROM news ORDER BY attempt LIMIT ?) AS told JOIN attempt ON attempt.id = told.attempt
     WHERE result = 'ok'";

const FORGET_NOTED: &str = "DELETE FROM news WHERE attempt IN (SELECT attempt FROM news ORDER BY attempt LIMIT ?)";

const HAS_NOTICES: &str = "SELECT EXISTS (SELECT 1 FROM notice)";

pub(super) const UNMAILED: &str = "SELECT * FROM notice WHERE mailed = 0 ORDER BY event, next, id LIMIT ?";

pub(super) const NOTICES_DUE: &str = "
    SELECT * FROM notice WHERE mailed = 1 AND event = ?1 AND next <= ?2 ORDER BY next, id LIMIT ?3";

/// At most so many are counted.
const NOTICES: &str = "SELECT count(*) FROM (SELECT 1 FROM notice WHERE event = ? LIMIT ?)";

const FAILING: &str = "SELECT EXISTS (SELECT 1 FROM notice WHERE tries > 0)";

const SET_MAILED: &str = "UPDATE notice SET mailed = 1 WHERE id = ?";

const REMOVE: &str = "DELETE FROM notice WHERE id = ?";

const FORGET_EVENT: &str = "DELETE FROM notice WHERE event = ? AND mailed = 1";

const PUT_OFF: &str = "UPDATE notice SET tries = min(tries, 1000000) + 1, next = ?2 WHERE id = ?1";

/// After the clock was set back.
const BRING_NEAR: &str = "UPDATE notice SET next = ?1 WHERE next > ?1";

const GIVE_UP_OLD: &str = "
    DELETE FROM notice WHERE id IN (SELECT id FROM notice WHERE tries > 0 AND at < ? ORDER BY id LIMIT ?)";

const GIVE_UP_MOST: &str = "
    DELETE FROM notice WHERE id IN (SELECT id FROM notice ORDER BY id LIMIT ?)";

const COUNT_ALL: &str = "SELECT count(*) FROM (SELECT 1 FROM notice LIMIT ?)";

/// Whatever was stored there, the sum is a number.
const COUNT_LOST: &str = "UPDATE meta SET lost_notices = max(0, min(lost_notices, 1 << 50)) + ?";

const LOST: &str = "SELECT lost_notices FROM meta WHERE one = 1";

/// What somebody has to be told about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeEvent {
    Failed,
    Ok,
}

impl NoticeEvent {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Ok => "ok",
        }
    }
}

/// How a job stood when it happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    pub id: i64,
    pub at: Stamp,
    pub job: i64,
    pub filename: String,
    pub exporter: String,
    /// The parameters as a JSON object.
    pub params: String,
    pub queue: String,
    pub client: Option<String>,
    /// `None`: it has succeeded.
    pub status: Option<Status>,
    pub result: Outcome,
    /// The file without which it failed, never having been started.
    pub source: Option<String>,
    /// The attempt that tells more, if there was one.
    pub attempt: Option<AttemptId>,
    pub attempts: u32,
    /// How often `notify.command` has failed with it.
    pub tries: u32,
}

/// Notices, and the numbers of rows that nothing can be made of.
#[derive(Clone, Debug, Default)]
pub struct Notices {
    pub readable: Vec<Notice>,
    pub unreadable: Vec<i64>,
}

impl View<'_> {
    /// Whether anything waits to be told.
    pub fn has_notices(&self) -> Result<bool> {
        Ok(self.one(HAS_NOTICES, [], |row| row.get(0))?.unwrap_or(false))
    }

    /// Failures whose rows were queued again or deleted before a round had reported them.
    pub fn unmailed(&self, limit: u32) -> Result<Notices> {
        self.notices(UNMAILED, params![limit])
    }

    /// What `notify.command` can be told now, the one that has waited longest first.
    pub fn notices_due(&self, event: NoticeEvent, now: Stamp, limit: u32) -> Result<Notices> {
        self.notices(NOTICES_DUE, params![event.name(), now, limit])
    }

    /// How many of this kind wait; counted to `most`.
    pub fn notices_waiting(&self, event: NoticeEvent, most: u32) -> Result<u64> {
        Ok(self
            .one(NOTICES, params![event.name(), most], |row| row.get::<_, NonNegative>(0))?
            .map_or(0, |count| count.0))
    }

    /// Whether `notify.command` has failed with something that still waits.
    pub fn is_notifying_failing(&self) -> Result<bool> {
        Ok(self.one(FAILING, [], |row| row.get(0))?.unwrap_or(false))
    }

    /// How many notices were given up, since the beginning.
    pub fn lost_notices(&self) -> Result<u64> {
        Ok(self.one(LOST, [], |row| Ok(row.get::<_, NonNegative>(0).ok()))?.flatten().map_or(0, |count| count.0))
    }

    fn notices(&self, sql: &str, params: &[&dyn ToSql]) -> Result<Notices> {
        let read = |row: &Row<'_>| Ok(notice(row).map_err(|_| row.get("id").unwrap_or(0)));
        let mut found = Notices::default();
        for read in self.with_room(|| self.all(sql, params, read))? {
            match read {
                Ok(notice) => found.readable.push(notice),
                Err(id) => found.unreadable.push(id),
            }
        }
        Ok(found)
    }
}

impl Tx<'_> {
    /// Notes for `notify.command` that this job has failed, if it has and was not reported yet.
    pub(super) fn note_failure(&self, job: i64) -> Result<()> {
        self.change(NOTE_MAILED, params![job]).map(drop)
    }

    /// The same of one whose row is about to change or to go: the next round reports it on stderr as well.
    pub(super) fn keep_failure(&self, job: i64) -> Result<()> {
        self.change(NOTE_UNMAILED, params![job]).map(drop)
    }

    /// Notes the first `limit` failures that nobody was told about; not those that ended with `permanent`.
    pub(super) fn note_failures(&self, permanent: i32, limit: u32) -> Result<()> {
        self.change(NOTE_MANY, params![limit, permanent]).map(drop)
    }

    /// Notes the first `limit` successes that no round has looked at. `false`: there are no more.
    pub(super) fn note_news(&self, limit: u32) -> Result<bool> {
        self.change(NOTE_NEWS, params![limit])?;
        Ok(self.change(FORGET_NOTED, params![limit])? >= limit as usize)
    }

    /// It has been said on stderr; `notify.command` is next.
    pub(super) fn set_mailed(&self, notice: i64) -> Result<()> {
        self.change(SET_MAILED, params![notice]).map(drop)
    }

    /// It has been handed over, or need not be.
    pub(super) fn remove_notice(&self, notice: i64) -> Result<()> {
        self.change(REMOVE, params![notice]).map(drop)
    }

    /// Nobody wants to be told about these.
    pub(super) fn forget_notices(&self, event: NoticeEvent) -> Result<()> {
        self.change(FORGET_EVENT, params![event.name()]).map(drop)
    }

    /// The command has failed with it: not again before `next`.
    pub(super) fn put_off_notice(&self, notice: i64, next: Stamp) -> Result<()> {
        self.change(PUT_OFF, params![notice, next]).map(drop)
    }

    /// Gives up what was tried in vain and happened before `before`, and the oldest beyond `most`; says how many, at most
    /// `limit` of each. None waits for longer than until `latest`.
    pub(super) fn give_up_notices(&self, before: Stamp, latest: Stamp, most: u32, limit: u32) -> Result<usize> {
        self.change(BRING_NEAR, params![latest])?;
        let old = self.change(GIVE_UP_OLD, params![before, limit])?;
        let count = self.one(COUNT_ALL, params![most.saturating_add(limit)], |row| row.get::<_, u32>(0))?.unwrap_or(0);
        let beyond = match count.saturating_sub(most) {
            0 => 0,
            excess => self.change(GIVE_UP_MOST, params![excess])?,
        };
        if old + beyond > 0 {
            self.change(COUNT_LOST, params![i64::try_from(old + beyond).unwrap_or(0)])?;
        }
        Ok(old + beyond)
    }
}

fn notice(row: &Row<'_>) -> rusqlite::Result<Notice> {
    Ok(Notice {
        id: row.get("id")?,
        at: row.get("at")?,
        job: row.get("job")?,
        filename: row.get::<_, Filename>("filename")?.0,
        exporter: row.get::<_, QueueName>("exporter")?.0,
        params: row.get::<_, Params>("params")?.0,
        queue: row.get::<_, QueueName>("queue")?.0,
        client: row.get::<_, Option<Text>>("client")?.map(|client| client.0),
        status: row.get("status")?,
        result: row.get("result")?,
        source: row.get::<_, Option<Filename>>("source")?.map(|source| source.0),
        attempt: row.get("attempt")?,
        attempts: row.get::<_, Tries>("attempts")?.0,
        tries: row.get::<_, Tries>("tries")?.0,
    })
}
