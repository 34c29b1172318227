//! Making rows right again: stamps after the clock was set, and what was not written by us.
//!
//! After the clock was set back, stamps of something past must not lie ahead, and no retry waits for longer than it may.
//! After it was set forward, what a clock that was behind has stamped is not as old as it seems. Rows that cannot be
//! read are taken out, and so are numbers that cannot be calculated with.
//!
//! Rows are met where they are read for something else, and a few more are looked at in each full round, so that one
//! that no statement ever finds is found too. Nothing here walks through a whole table, unless something was found.

use rusqlite::{Row, ToSql, named_params, params};

use super::{
    Store, Tx, View,
    checked::{LAST_ID, RowKind, Unreadable},
    rows::NonNegative,
};
use crate::{
    model::clock::Stamp,
    store::{Result, StoreError},
};

/// Less than this is the difference between two processes' looks at the clock, or a clock that is being slewed.
const TOLERANCE_MS: i64 = 60_000;

/// Where a wrong clock shows first, found without reading all rows: the last tick, served queues, running
/// attempts, the newest jobs, the newest ends.
pub(super) const AHEAD: &str = "
    SELECT EXISTS (SELECT 1 FROM meta WHERE tick_at > :limit)
        OR EXISTS (SELECT 1 FROM queue WHERE served > :limit)
        OR EXISTS (SELECT 1 FROM schedule WHERE last > :limit)
        OR EXISTS (SELECT 1 FROM attempt WHERE ended > :limit)
        OR EXISTS (SELECT 1 FROM job WHERE status = 1 AND started > :limit)
        OR EXISTS (SELECT 1 FROM (SELECT submitted, last_asked, failed FROM job ORDER BY id DESC LIMIT 1000)
                    WHERE submitted > :limit OR last_asked > :limit OR failed > :limit)";

/// Rows are read so many at a time, since each of them holds up whoever wants to write.
const SLICE: usize = 1000;

const LAST_OF_SLICE: &str = "SELECT max(id) FROM (SELECT id FROM job WHERE id > ? ORDER BY id LIMIT 1000)";

/// Reads the rows of a slice. A job that waits for its time is queued since that time, which is left alone; one that
/// does not was to start when it was submitted.
const HEAL_JOBS: &str = "
    UPDATE job
       SET rank = CASE WHEN submitted > :limit
                       THEN rank - due / 600000 + max(:now, iif(waits = 1, run_after, 0)) / 600000 ELSE rank END,
           due = CASE WHEN submitted > :limit THEN max(:now, iif(waits = 1, run_after, 0)) ELSE due END,
           run_after = CASE WHEN submitted > :limit AND waits <> 1 THEN min(run_after, :now) ELSE run_after END,
           submitted = CASE WHEN submitted > :limit THEN :now ELSE submitted END,
           last_asked = CASE WHEN last_asked > :limit THEN :now ELSE last_asked END,
           started = CASE WHEN started > :limit THEN :now ELSE started END,
           failed = CASE WHEN failed > :limit THEN :now ELSE failed END,
           queued_since = CASE WHEN queued_since > :limit AND waits <> 1 THEN :now ELSE queued_since END
     WHERE id > :after AND id <= :last
       AND (submitted > :limit OR last_asked > :limit OR started > :limit OR failed > :limit
        OR (queued_since > :limit AND waits <> 1 AND status = 0))";

pub(super) const HEAL_ATTEMPTS: &str = "
    UPDATE attempt
       SET submitted = min(submitted, :now), started = min(started, :now), counts_from = min(counts_from, :now),
           ended = :now
     WHERE rowid IN (SELECT rowid FROM attempt WHERE ended > :limit ORDER BY ended DESC LIMIT 1000)";

const HEAL_RUNNING: &str = "
    UPDATE attempt
       SET submitted = min(submitted, :now), started = min(started, :now), counts_from = min(counts_from, :now)
     WHERE id IN (SELECT attempt FROM job WHERE status = 1)
       AND (submitted > :limit OR started > :limit OR counts_from > :limit)";

const HEAL_QUEUES: &str = "UPDATE queue SET served = :now WHERE served > :limit";

const HEAL_SCHEDULES: &str = "UPDATE schedule SET last = :now WHERE last > :limit";

/// When ticks come is seen anew.
const HEAL_TICK: &str = "
    UPDATE meta SET tick_at = :now, tick_begun = NULL, tick_until = NULL, tick_every = NULL WHERE tick_at > :limit";

const LIFT_JOBS: &str = "
    UPDATE job
       SET rank = CASE WHEN submitted BETWEEN :from AND :to
                       THEN rank - due / 600000 + max(:now, iif(waits = 1, run_after, 0)) / 600000 ELSE rank END,
           due = CASE WHEN submitted BETWEEN :from AND :to THEN max(:now, iif(waits = 1, run_after, 0)) ELSE due END,
           submitted = iif(submitted BETWEEN :from AND :to, :now, submitted),
           last_asked = iif(last_asked BETWEEN :from AND :to, :now, last_asked),
           failed = iif(failed BETWEEN :from AND :to, :now, failed),
           queued_since = iif(queued_since BETWEEN :from AND :to, :now, queued_since)
     WHERE id > :after AND id <= :last
       AND (submitted BETWEEN :from AND :to OR last_asked BETWEEN :from AND :to OR failed BETWEEN :from AND :to
            OR queued_since BETWEEN :from AND :to)";

/// When they began stays as it is: `--after` must not count what was begun before.
pub(super) const LIFT_ATTEMPTS: &str = "
    UPDATE attempt SET ended = :now
     WHERE rowid IN (SELECT rowid FROM attempt WHERE ended BETWEEN :from AND :to LIMIT 1000)";

/// Retries among the jobs that wait for a time after the limit; of so many as a round can look at.
macro_rules! late_retries {
    ($what:literal) => {
        concat!(
            "SELECT ",
            $what,
            " FROM (SELECT id, exporter, attempts FROM job
                WHERE status = 0 AND waits = 1 AND run_after > :limit ORDER BY run_after LIMIT 10000)
              WHERE attempts > 0"
        )
    };
}

pub(super) const HAS_LATE_RETRIES: &str = concat!("SELECT EXISTS (", late_retries!("1"), ")");

const LATE_RETRIES: &str = concat!(late_retries!("count(*)"), " AND exporter = :exporter");

const HURRY_RETRIES: &str = concat!(
    "UPDATE job
        SET run_after = :latest, due = max(submitted, :latest), queued_since = :latest,
            rank = rank - due / 600000 + max(submitted, :latest) / 600000
      WHERE id IN (",
    late_retries!("id"),
    " AND exporter = :exporter)"
);

/// What are few. They are healed last: until then it shows that healing has not come to its end.
const HEALERS: [&str; 4] = [HEAL_RUNNING, HEAL_QUEUES, HEAL_SCHEDULES, HEAL_TICK];

impl View<'_> {
    /// Whether some stamp of something past lies more than a minute ahead. Cheap enough for every round.
    pub fn ahead(&self, now: Stamp) -> Result<bool> {
        let limit = named_params! { ":limit": now.plus_ms(TOLERANCE_MS) };
        Ok(self.one(AHEAD, limit, |row| row.get(0))?.unwrap_or(false))
    }

    /// Whether some job waits for its next attempt until after `limit`.
    pub fn has_late_retries(&self, limit: Stamp) -> Result<bool> {
        Ok(self.one(HAS_LATE_RETRIES, named_params! { ":limit": limit }, |row| row.get(0))?.unwrap_or(false))
    }

    /// How many jobs of this exporter do.
    pub fn late_retries(&self, exporter: &str, limit: Stamp) -> Result<u64> {
        let of = named_params! { ":exporter": exporter, ":limit": limit };
        Ok(self.one(LATE_RETRIES, of, |row| row.get::<_, NonNegative>(0))?.map_or(0, |count| count.0))
    }
}

/// Stamps of something past that lie more than a minute ahead are set back to `now`. Due times (`run_after`, a schedule's
/// `next`) are left alone.
impl Tx<'_> {
    /// Heals a slice of the jobs, those after this id; the result is the last id of it. `None`: there are no more.
    pub(super) fn heal_jobs(&self, now: Stamp, after: i64) -> Result<Option<i64>> {
        let last: Option<i64> = self.one(LAST_OF_SLICE, params![after], |row| row.get(0))?.flatten();
        let Some(last) = last else { return Ok(None) };
        let limit = now.plus_ms(TOLERANCE_MS);
        self.change(HEAL_JOBS, named_params! { ":now": now, ":limit": limit, ":after": after, ":last": last })?;
        Ok(Some(last))
    }

    /// Heals a slice of the attempts that have ended. `false`: there are no more.
    pub(super) fn heal_attempts(&self, now: Stamp) -> Result<bool> {
        let healed = self.change(HEAL_ATTEMPTS, named_params! { ":now": now, ":limit": now.plus_ms(TOLERANCE_MS) })?;
        Ok(healed == SLICE)
    }

    /// Heals the rest: running attempts, queues, schedules, the last tick.
    pub(super) fn heal_rest(&self, now: Stamp) -> Result<()> {
        let stamps = named_params! { ":now": now, ":limit": now.plus_ms(TOLERANCE_MS) };
        HEALERS.iter().try_for_each(|sql| self.change(sql, stamps).map(drop))
    }

    /// Gives a slice of the jobs, those after this id, the time `now` in place of stamps between the two moments; the result
    /// is the last id of it. `None`: there are no more.
    pub(super) fn lift_jobs(&self, now: Stamp, from: Stamp, to: Stamp, after: i64) -> Result<Option<i64>> {
        let last: Option<i64> = self.one(LAST_OF_SLICE, params![after], |row| row.get(0))?.flatten();
        let Some(last) = last else { return Ok(None) };
        let stamps = named_params! { ":now": now, ":from": from, ":to": to, ":after": after, ":last": last };
        self.change(LIFT_JOBS, stamps)?;
        Ok(Some(last))
    }

    /// The same for a slice of the attempts that have ended. `false`: there are no more.
    pub(super) fn lift_attempts(&self, now: Stamp, from: Stamp, to: Stamp) -> Result<bool> {
        let stamps = named_params! { ":now": now, ":from": from, ":to": to };
        Ok(self.change(LIFT_ATTEMPTS, stamps)? == SLICE)
    }

    /// Jobs of this exporter that wait for their next attempt until after `limit` wait until `latest` only.
    pub(super) fn hurry_retries(&self, exporter: &str, limit: Stamp, latest: Stamp) -> Result<usize> {
        self.change(HURRY_RETRIES, named_params! { ":exporter": exporter, ":limit": limit, ":latest": latest })
    }
}

const JOBS: &str = "SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM job";
const ATTEMPTS: &str = "SELECT coalesce(min(rowid), 0), coalesce(max(rowid), 0) FROM attempt";

const SOME_JOBS: &str = "SELECT * FROM job WHERE id >= ? ORDER BY id LIMIT ?";
const SOME_ATTEMPTS: &str = "SELECT rowid FROM attempt WHERE rowid >= ? ORDER BY rowid LIMIT ?";

const WAKE_DEPENDENTS: &str = "
    UPDATE job SET waits = 1
     WHERE status = 0 AND waits = 2 AND source = (SELECT filename FROM job WHERE id = ?)";

const REMOVE_JOB: &str = "DELETE FROM job WHERE id = ?";

const REMOVE_ATTEMPT: &str = "DELETE FROM attempt WHERE rowid = ?";

/// Small tables, and of which of their rows nothing can be made.
const ODD: [&str; 11] = [
    "meta WHERE one <> 1 OR typeof(client_key) <> 'blob' OR length(client_key) <> 32 OR typeof(machine_id) <> 'text'",
    "arrival WHERE typeof(at) <> 'integer' OR at NOT BETWEEN 0 AND 253402300799999
                OR typeof(count) <> 'integer' OR count NOT BETWEEN 1 AND 100000000",
    "queue WHERE typeof(queued) <> 'integer' OR queued NOT BETWEEN 0 AND 100000000
              OR typeof(delayed) <> 'integer' OR delayed NOT BETWEEN 0 AND 100000000
              OR typeof(served) <> 'integer' OR served NOT BETWEEN 0 AND 253402300799999
              OR typeof(name) <> 'text' OR mode NOT IN ('open', 'paused', 'draining')",
    "client WHERE typeof(pending) <> 'integer' OR pending NOT BETWEEN 0 AND 100000000",
    "schedule WHERE typeof(last) <> 'integer' OR last NOT BETWEEN 0 AND 253402300799999
                 OR typeof(next) <> 'integer' OR next NOT BETWEEN 0 AND 253402300799999",
    "tally WHERE typeof(count) <> 'integer' OR count NOT BETWEEN 0 AND 1099511627776
              OR typeof(total) <> 'integer' OR total NOT BETWEEN 0 AND 1152921504606846976",
    "sample WHERE typeof(at) <> 'integer' OR at NOT BETWEEN 0 AND 253402300799999
               OR typeof(queued) <> 'integer' OR queued NOT BETWEEN 0 AND 100000000",
    "action WHERE typeof(at) <> 'integer' OR at NOT BETWEEN 0 AND 253402300799999
               OR typeof(who) <> 'text' OR typeof(what) <> 'text'",
    "news WHERE typeof(attempt) <> 'text' OR length(attempt) <> 26",
    "standstill WHERE typeof(since) <> 'integer' OR since NOT BETWEEN 0 AND 253402300799999
                   OR typeof(until) <> 'integer' OR until NOT BETWEEN 0 AND 253402300799999",
    "notice WHERE event NOT IN ('failed', 'ok') OR typeof(at) <> 'integer' OR at NOT BETWEEN 0 AND 253402300799999
               OR typeof(next) <> 'integer' OR next NOT BETWEEN 0 AND 253402300799999
               OR typeof(tries) <> 'integer' OR tries NOT BETWEEN 0 AND 100000000",
];

/// The last tick: whoever looks takes one that is none for none.
const MEND_META: &str = "
    UPDATE meta SET tick_at = NULL, tick_boottime = NULL, tick_boot_id = NULL
     WHERE tick_at NOT BETWEEN 0 AND 253402300799999 OR typeof(tick_at) NOT IN ('integer', 'null')
        OR typeof(tick_boottime) NOT IN ('integer', 'null') OR tick_boottime < 0";

/// The same of when ticks come.
const MEND_TICKS: &str = "
    UPDATE meta SET tick_begun = NULL, tick_until = NULL, tick_every = NULL
     WHERE typeof(tick_begun) NOT IN ('integer', 'null') OR tick_begun NOT BETWEEN 0 AND 253402300799999
        OR typeof(tick_until) NOT IN ('integer', 'null') OR tick_until NOT BETWEEN 0 AND 253402300799999
        OR typeof(tick_every) NOT IN ('integer', 'null') OR tick_every NOT BETWEEN 0 AND 172800000";

/// Without its row nobody knows a client, and no tick can leave its mark.
const META_IS_MISSING: &str = "SELECT NOT EXISTS (SELECT 1 FROM meta)";
const RENEW_META: &str = "INSERT OR IGNORE INTO meta (one, client_key) VALUES (1, randomblob(32))";

const SPENT_IDS: &str = "
    SELECT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'job'
                      AND (typeof(seq) <> 'integer' OR seq NOT BETWEEN 0 AND ?))";
const RENEW_IDS: &str = "
    UPDATE sqlite_sequence SET seq = (SELECT coalesce(max(id), 0) FROM job WHERE id BETWEEN 1 AND ?1)
     WHERE name = 'job' AND (typeof(seq) <> 'integer' OR seq NOT BETWEEN 0 AND ?1)";
const JOBS_BEYOND: &str = "SELECT * FROM job WHERE id > ? ORDER BY id LIMIT ?";

impl Store {
    /// The unreadable rows that were met since the last call.
    pub fn take_unreadable(&self) -> Vec<Unreadable> {
        self.notes.take()
    }
}

impl View<'_> {
    /// Notes a job whose row makes no sense as a whole.
    pub fn note_unreadable(&self, id: i64, column: &str) {
        self.notes.add(Unreadable { kind: RowKind::Job, row: id, column: column.to_owned(), attempt: None });
    }

    /// Reads so many jobs and attempts from somewhere in their tables and notes those that cannot be read. In small
    /// tables it is all of them.
    pub fn patrol(&self, chance: u64, most: u32) -> Result<()> {
        let start = self.somewhere(JOBS, chance, most)?;
        self.jobs(SOME_JOBS, params![start, most])?;
        self.jobs(JOBS_BEYOND, params![LAST_ID, most])?;
        let start = self.somewhere(ATTEMPTS, chance, most)?;
        for row in self.all(SOME_ATTEMPTS, params![start, most], |row| row.get::<_, i64>(0))? {
            self.attempt_at(row)?;
        }
        Ok(())
    }

    fn somewhere(&self, span: &str, chance: u64, most: u32) -> Result<i64> {
        let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        let (first, last) = self.one(span, [], read)?.unwrap_or((0, 0));
        let width = last.abs_diff(first).saturating_sub(most.into()).saturating_add(1);
        Ok(first.saturating_add(i64::try_from(chance % width.max(1)).unwrap_or(0)))
    }

    /// Whether some small table has a row that nothing can be made of. Cheap enough for every full round.
    pub fn odd_rows(&self) -> Result<bool> {
        for table in ODD {
            if self.one(&format!("SELECT EXISTS (SELECT 1 FROM {table})"), [], |row| row.get(0))? == Some(true) {
                return Ok(true);
            }
        }
        let spent = self.one(SPENT_IDS, params![LAST_ID], |row| row.get(0))? == Some(true);
        Ok(spent || self.one(META_IS_MISSING, [], |row| row.get(0))? == Some(true))
    }
}

impl Tx<'_> {
    /// Removes a row that cannot be read; what waits for its file waits no longer. Counts are wrong after it: see
    /// [`Tx::recount_all`].
    pub(super) fn remove(&self, found: &Unreadable) -> Result<()> {
        let row: &[&dyn ToSql] = params![found.row];
        self.with_room(|| match found.kind {
            RowKind::Job => {
                self.change(WAKE_DEPENDENTS, row)?;
                self.change(REMOVE_JOB, row).map(drop)
            }
            RowKind::Attempt => self.change(REMOVE_ATTEMPT, row).map(drop),
        })
    }

    /// Removes the odd rows of small tables, and says how many there were.
    pub(super) fn remove_odd_rows(&self) -> Result<usize> {
        let removed =
            ODD.iter().map(|table| self.change(&format!("DELETE FROM {table}"), [])).sum::<Result<usize>>()?;
        let renewed = self.change(RENEW_META, [])? + self.change(RENEW_IDS, params![LAST_ID])?;
        Ok(removed + renewed + self.change(MEND_META, [])? + self.change(MEND_TICKS, [])?)
    }

    /// Does `work` so that its failure undoes it alone and not the whole transaction. A database that is busy, full or
    /// gone stays the caller's matter.
    pub(super) fn alone<T>(&self, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<anyhow::Result<T>> {
        self.conn.execute_batch("SAVEPOINT alone").map_err(StoreError::from)?;
        let told = self.events.borrow().len();
        let done = work();
        if done.is_err() {
            self.events.borrow_mut().truncate(told);
        }
        if let Err(error) = &done
            && matches!(error.downcast_ref(), Some(StoreError::Busy | StoreError::DiskFull))
        {
            return done.map(Ok);
        }
        let end = if done.is_ok() { "RELEASE alone" } else { "ROLLBACK TO alone; RELEASE alone" };
        self.conn.execute_batch(end).map_err(StoreError::from)?;
        Ok(done)
    }
}
