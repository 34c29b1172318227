//! The store over a real file: what any backend has to do.

mod actions;
mod batch;
mod crowd;
mod dropping;
mod endings;
mod enqueue;
mod files;
mod heal;
mod keeping;
mod listing;
mod many;
mod migrating;
mod notices;
mod order;
mod plans;
mod schema;
mod settings;
mod tally;

use std::{path::PathBuf, time::Duration};

use tempfile::TempDir;

use super::{Store, Tx};
use crate::{
    model::{
        clock::Stamp,
        job::{AttemptId, Claim, Job, Record},
        limits::Limits,
        status::Outcome,
    },
    store::{NewJob, Result, sqlite::finishing::Retry},
};

/// A moment that every test starts from: a whole number of rank steps.
const NOON: Stamp = Stamp(1_800_000_000_000);
const MINUTE: i64 = 60_000;

/// A database of its own for one test.
struct Base {
    dir: TempDir,
    store: Store,
    claims: u32,
}

impl Base {
    fn new() -> Self {
        let dir = TempDir::new().expect("a directory");
        let path = dir.path().join("pressroom.db");
        Store::create(&path, "machine").expect("a new database");
        let store = Store::open(&path).expect("our database");
        store.relax().expect("a test need not survive a power cut");
        Self { dir, store, claims: 0 }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("pressroom.db")
    }

    #[track_caller]
    fn tx<T>(&mut self, work: impl FnOnce(&Tx<'_>) -> Result<T>) -> T {
        self.store.immediate(|tx| Ok(work(tx)?)).expect("a transaction that works")
    }

    #[track_caller]
    fn insert(&mut self, new: &NewJob) -> Job {
        self.tx(|tx| tx.insert(new))
    }

    /// A queued job of that name, made at noon.
    #[track_caller]
    fn queued(&mut self, name: &str) -> Job {
        self.insert(&wish(name))
    }

    #[track_caller]
    fn claim(&mut self, job: &Job, now: Stamp) -> Claim {
        self.claims += 1;
        let attempt = id(format!("{:026}", self.claims));
        self.tx(|tx| tx.claim(job, &attempt, &limits(), now, now)).expect("a queued job")
    }

    #[track_caller]
    fn started(&mut self, name: &str) -> Claim {
        let job = self.queued(name);
        self.claim(&job, NOON)
    }

    #[track_caller]
    fn job(&self, name: &str) -> Job {
        self.store.view().job(&file(name)).expect("a read").expect("the job")
    }

    #[track_caller]
    fn is_gone(&self, name: &str) -> bool {
        self.store.view().job(&file(name)).expect("a read").is_none()
    }

    #[track_caller]
    fn next(&self, queues: &[&str]) -> Option<String> {
        let queues: Vec<_> = queues.iter().map(|&name| name.to_owned()).collect();
        self.store.view().next_ready(&queues, &[], &[]).expect("a read").map(|job| job.filename)
    }
}

fn id(text: String) -> AttemptId {
    text.try_into().expect("the id of an attempt")
}

fn file(name: &str) -> String {
    format!("epub/{name}.epub")
}

fn wish(name: &str) -> NewJob {
    NewJob {
        filename: file(name),
        exporter: "epub".into(),
        params: r#"{"title":"Emma"}"#.into(),
        queue: "default".into(),
        priority: 0,
        client: None,
        now: NOON,
        run_after: NOON,
        source: None,
        source_after: None,
        waits_for_source: false,
        is_new_work: true,
    }
}

fn limits() -> Limits {
    Limits {
        timeout: Duration::from_mins(5),
        kill_after: Duration::from_secs(5),
        memory: Some(2 << 30),
        cpu: Some(Duration::from_mins(4)),
        file_size: None,
        work_size: None,
        open_files: Some(1024),
        ..Limits::default()
    }
}

fn ended(outcome: Outcome) -> Record {
    Record::bare(outcome, NOON.plus_ms(MINUTE), Duration::from_mins(1))
}

fn again() -> Retry<'static> {
    Retry { run_after: NOON.plus_ms(2 * MINUTE), limits: None, queue: "default" }
}
