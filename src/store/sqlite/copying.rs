//! A private copy, in memory, of as much of a database as a round decides by: for who plans a round and may write nothing.
//!
//! The copy is bounded, however many rows there are: what is running, the first jobs of each queue, those whose time comes
//! next, and what was named by the caller, each with what it is made from and what waits for it. The original is only read,
//! in one transaction, so that all of it is of one moment.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
};

use rusqlite::{Connection, Params, params, params_from_iter, types::ToSqlOutput};

use super::{Store, View, checked::UnreadableRows, open::prepare, rows::json, schema::SCHEMA};
use crate::{
    model::{job::Job, status::Status},
    store::{Result, StoreError},
};

/// So many jobs of one queue are copied.
const OF_QUEUE: u32 = 1000;
/// So many that wait for their time.
pub const DELAYED: u32 = 5000;
/// So many of what need not be bounded otherwise.
const MOST: u32 = 10_000;
/// How far sources and what waits for them are followed.
const DEPTH: u32 = 5;

pub(super) const STARTED: &str = "SELECT id FROM job WHERE status = 1 LIMIT ?";

pub(super) const FIRST_IN_QUEUE: &str = "
    SELECT id FROM job
     WHERE queue = ?1 AND status = 0 AND waits = 0 AND exporter NOT IN (SELECT value FROM json_each(?2))
     ORDER BY rank, due, id LIMIT ?3";

pub(super) const FIRST_DELAYED: &str = "SELECT id FROM job WHERE status = 0 AND waits = 1 ORDER BY run_after LIMIT ?";

pub(super) const WAITING_FOR: &str = "SELECT id FROM job WHERE source = ?1 AND status = 0 AND waits = 2 LIMIT ?2";

pub(super) const MADE_FROM: &str = "SELECT id FROM job WHERE source = ? AND status <= 1 LIMIT 1";

pub(super) const NAMED: &str = "SELECT id FROM job WHERE filename = ?";

/// What the breaker looks at.
pub(super) const FIRSTS: &str = "
    SELECT rowid FROM attempt WHERE exporter = ? AND number = 1 AND ended IS NOT NULL ORDER BY ended DESC LIMIT 300";

pub(super) const SUCCESSES: &str = "
    SELECT rowid FROM attempt
     WHERE exporter = ? AND result = 'ok' AND ended IS NOT NULL ORDER BY ended DESC LIMIT 21";

pub(super) const LATEST_OK: &str = "
    SELECT rowid FROM attempt WHERE filename = ? AND result = 'ok' ORDER BY rowid DESC LIMIT 1";

const ATTEMPT: &str = "SELECT rowid FROM attempt WHERE id = ?";

/// Copied whole: they are small.
const SMALL: [(&str, &str); 5] = [
    ("queue", "SELECT * FROM queue LIMIT ?"),
    ("schedule", "SELECT * FROM schedule LIMIT ?"),
    ("meta", "SELECT * FROM meta LIMIT ?"),
    ("standstill", "SELECT * FROM standstill LIMIT ?"),
    ("breaker", "SELECT * FROM breaker LIMIT ?"),
];

const JOB: &str = "SELECT * FROM job WHERE id = ?";
const ATTEMPT_ROW: &str = "SELECT rowid, * FROM attempt WHERE rowid = ?";
const CLIENT: &str = "SELECT * FROM client WHERE queue = ? AND client = ?";
const SEQUENCE: &str = "SELECT seq FROM sqlite_sequence WHERE name = 'job' AND typeof(seq) = 'integer'";
const SET_SEQUENCE: &str = "UPDATE sqlite_sequence SET seq = ? WHERE name = 'job'";
/// The sequence has its row with the first job.
const FIRST_ROW: &str = "
    INSERT INTO job (id, filename, exporter, params, queue, rank, submitted, run_after, queued_since, last_asked)
    VALUES (1, '', '', '', '', 0, 0, 0, 0, 0)";
const NO_ROW: &str = "DELETE FROM job; DELETE FROM meta";

const IN_QUEUE: &str = "
    SELECT * FROM job WHERE queue = ?1 AND status = 0
     ORDER BY waits, CASE waits WHEN 1 THEN run_after END, rank, due, id LIMIT ?2";

/// Where the copy came from, from which more can be added to it.
pub struct Original {
    store: Store,
    /// The jobs that were copied, which a plan may have changed or deleted since.
    jobs: RefCell<BTreeSet<i64>>,
    /// So many jobs wait for their time that not all are copied.
    many_delayed: Cell<bool>,
}

impl Original {
    /// Copies a database that was opened for a look. In each queue jobs of the exporters in `held` come besides the first
    /// jobs, not in their place.
    pub fn copied(store: Store, queues: &[String], exporters: &[String], held: &[String]) -> Result<(Self, Store)> {
        store.conn.execute_batch("BEGIN")?;
        let original = Self { store, jobs: RefCell::default(), many_delayed: Cell::new(false) };
        let copy = empty()?;
        original.copy(&copy, queues, exporters, held)?;
        Ok((original, copy))
    }

    /// The database as it was at that moment.
    pub fn view(&self) -> View<'_> {
        self.store.view()
    }

    /// The same, for who needs a store. It is not changed.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Whether jobs whose time has come may be missing in the copy.
    pub fn has_more_delayed(&self) -> bool {
        self.many_delayed.get()
    }

    fn copy(&self, copy: &Store, queues: &[String], exporters: &[String], held: &[String]) -> Result<()> {
        for (table, sql) in SMALL {
            self.carry(copy, table, sql, params![MOST])?;
        }
        let mut ids = self.ids(STARTED, params![MOST])?;
        for queue in queues {
            for without in [&[], held] {
                ids.extend(self.ids(FIRST_IN_QUEUE, params![queue, json(without), OF_QUEUE])?);
            }
        }
        let delayed = self.ids(FIRST_DELAYED, params![DELAYED])?;
        self.many_delayed.set(delayed.len() == DELAYED as usize);
        ids.extend(delayed);
        self.take_jobs(copy, &ids)?;
        for exporter in exporters {
            let attempts = [self.ids(FIRSTS, params![exporter])?, self.ids(SUCCESSES, params![exporter])?].concat();
            attempts.iter().try_for_each(|row| self.take_attempt(copy, *row))?;
        }
        let last: Option<i64> = self.view().one(SEQUENCE, [], |row| row.get(0))?;
        copy.view().change(SET_SEQUENCE, params![last.unwrap_or(0)]).map(drop)
    }

    /// Adds the jobs for these files, one that each of the files is the source of, and the attempts that made the files.
    pub fn take_files(&self, copy: &Store, filenames: &[String]) -> Result<()> {
        for filename in filenames {
            let ids = [self.ids(NAMED, params![filename])?, self.ids(MADE_FROM, params![filename])?].concat();
            self.take_jobs(copy, &ids)?;
            let latest = self.ids(LATEST_OK, params![filename])?;
            latest.iter().try_for_each(|row| self.take_attempt(copy, *row))?;
        }
        Ok(())
    }

    /// Adds these jobs, with their sources and with what waits for them.
    pub fn take_jobs(&self, copy: &Store, ids: &[i64]) -> Result<()> {
        let mut ids = ids.to_vec();
        for _ in 0..DEPTH {
            let mut next = Vec::new();
            for id in ids {
                if self.jobs.borrow_mut().insert(id) {
                    next.extend(self.take_job(copy, id)?);
                }
            }
            ids = next;
        }
        Ok(())
    }

    /// The result: what belongs to it.
    fn take_job(&self, copy: &Store, id: i64) -> Result<Vec<i64>> {
        match self.carry(copy, "job", JOB, params![id]) {
            // Too long to be read: the next tick takes it out.
            Err(StoreError::TooBig) => return Ok(Vec::new()),
            carried => carried?,
        }
        let Ok(Some(job)) = copy.view().job_by_id(id) else { return Ok(Vec::new()) };
        if let Some(attempt) = &job.attempt {
            let rows = self.ids(ATTEMPT, params![attempt])?;
            rows.iter().try_for_each(|row| self.take_attempt(copy, *row))?;
        }
        if let Some(client) = &job.client {
            self.carry(copy, "client", CLIENT, params![job.queue, client])?;
        }
        let mut ids = self.ids(WAITING_FOR, params![job.filename, OF_QUEUE])?;
        if let Some(source) = job.source.as_ref().filter(|_| job.status == Status::Queued) {
            ids.extend(self.ids(NAMED, params![source])?);
        }
        Ok(ids)
    }

    fn take_attempt(&self, copy: &Store, row: i64) -> Result<()> {
        match self.carry(copy, "attempt", ATTEMPT_ROW, params![row]) {
            Err(StoreError::TooBig) => Ok(()),
            carried => carried,
        }
    }

    fn ids(&self, sql: &str, params: impl Params) -> Result<Vec<i64>> {
        self.view().all(sql, params, |row| row.get(0))
    }

    /// Rows as they are, whatever they hold.
    fn carry(&self, copy: &Store, table: &str, sql: &str, params: impl Params) -> Result<()> {
        let view = self.view();
        let mut statement = self.store.conn.prepare_cached(sql)?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let marks = vec!["?"; names.len()].join(", ");
        let insert = format!("INSERT OR IGNORE INTO {table} ({}) VALUES ({marks})", names.join(", "));
        let mut rows = view.answer(&mut statement, params)?;
        while let Some(row) = rows.next()? {
            // Not as our own types: a text may be none.
            let values = (0..names.len()).map(|place| row.get_ref(place).map(ToSqlOutput::Borrowed));
            let values = values.collect::<rusqlite::Result<Vec<_>>>()?;
            copy.view().change(&insert, params_from_iter(values))?;
        }
        Ok(())
    }
}

/// A database of our tables, in memory. They take what a web user may have written in spite of every CHECK.
fn empty() -> Result<Store> {
    let mut conn = Connection::open_in_memory()?;
    prepare(&mut conn)?;
    conn.execute_batch(&SCHEMA.replace(") STRICT, WITHOUT", ") WITHOUT").replace(") STRICT", ")"))?;
    conn.pragma_update(None, "ignore_check_constraints", true)?;
    conn.execute_batch(&format!("{FIRST_ROW}; {NO_ROW}"))?;
    Ok(Store { conn, notes: UnreadableRows::default(), listener: None })
}

impl View<'_> {
    /// The first queued jobs of a queue of a copy: those that wait for nothing in the order of claims, those that wait for
    /// their time, those that wait for their source.
    pub fn first_in(&self, queue: &str, limit: u32) -> Result<Vec<Job>> {
        self.jobs(IN_QUEUE, params![queue, limit])
    }

    /// How many jobs are queued in each queue, as it is counted; queues with none are left out.
    pub fn queued_by_queue(&self) -> Result<BTreeMap<String, u64>> {
        Ok(self
            .queues()?
            .into_iter()
            .map(|(name, state)| (name, state.queued))
            .filter(|(_, queued)| *queued > 0)
            .collect())
    }
}
