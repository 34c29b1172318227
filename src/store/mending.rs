//! Taking out what was not written by us: rows that cannot be read, and numbers that cannot be calculated with.
//!
//! Rows are met where they are read for something else, and a few more are looked at in each full round, so that one
//! that no statement ever finds is found too. Nothing here walks through a whole table, unless something was found.

use rusqlite::{Row, ToSql, params};

use super::{
    Result, Store, StoreError, Tx, View,
    checked::{RowKind, Unreadable},
};

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

/// An id beyond this is none of ours. After the largest that there can be, no job could be queued any more.
pub(super) const LAST_ID: i64 = 1 << 53;
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
    pub fn remove(&self, found: &Unreadable) -> Result<()> {
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
    pub fn remove_odd_rows(&self) -> Result<usize> {
        let removed =
            ODD.iter().map(|table| self.change(&format!("DELETE FROM {table}"), [])).sum::<Result<usize>>()?;
        let renewed = self.change(RENEW_META, [])? + self.change(RENEW_IDS, params![LAST_ID])?;
        Ok(removed + renewed + self.change(MEND_META, [])? + self.change(MEND_TICKS, [])?)
    }

    /// Does `work` so that its failure undoes it alone and not the whole transaction. A database that is busy, full or
    /// gone stays the caller's matter.
    pub fn alone<T>(&self, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<anyhow::Result<T>> {
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
