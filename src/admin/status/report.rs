//! What `status` tells, however it tells it: the figures, and what is wrong.

use std::time::Duration;

use crate::{
    admin::queues::Queue,
    model::{
        breaker::Breaker,
        clock::{Doubt, Stamp, TickMark},
        job::Job,
        status::{DropReason, Outcome, Status},
    },
    site::Sight,
    store::Tally,
};

/// So many jobs of each are counted.
pub const MOST_HELD: u32 = 10_000;

/// Everything that `status` tells, however it tells it.
pub struct Report {
    pub now: Stamp,
    pub queues: Vec<Queue>,
    /// Failed jobs by queue and status.
    pub failed: Vec<(String, Status, u64)>,
    pub running: Vec<RunningJob>,
    pub max_running: u32,
    /// One sentence for each thing that keeps jobs from being started.
    pub held_back: Vec<String>,
    /// The queued job that could have been started for the longest time, and since when.
    pub oldest: Option<(Job, Stamp)>,
    /// A job that has waited for half of the time after which it is dropped: which job, for how long, of how long.
    pub impatient: Option<(Job, Duration, Duration)>,
    /// How many jobs were dropped in the last hour, by reason.
    pub dropped: Vec<(DropReason, u64)>,
    /// The same since the beginning, by exporter.
    pub drops: Vec<(String, DropReason, u64)>,
    /// How many notices wait while `notify.command` fails.
    pub notices: Option<u64>,
    /// How many notices were given up, since the beginning.
    pub lost_notices: u64,
    pub last_tick: Option<TickMark>,
    pub clock: Clock,
    /// The database was copied back, and no tick has seen that yet.
    pub restored: Option<String>,
    /// Jobs that wait for their next attempt longer than they may.
    pub late_retries: u64,
    pub cache: CacheSize,
    pub disk: Disk,
    /// How the attempts of the last hour ended.
    pub last_hour: Vec<(Outcome, u64)>,
    /// The jobs that failed in it and have neither been retried nor dismissed: by result, with the attempts they had.
    pub still_failed: Vec<(Outcome, u64, u64)>,
    /// Exporters whose breaker is not closed.
    pub breakers: Vec<(String, Breaker)>,
    /// Why ticks refuse the database, though it can be read.
    pub refused: Option<String>,
    /// Exporters that are not in the configuration and have queued jobs, which are held, and how many.
    pub held: Vec<(String, u32)>,
    /// A process that holds the write lock and does not let go.
    pub writer: Option<String>,
    /// Since the beginning.
    pub tallies: Vec<Tally>,
    /// The worst first.
    pub findings: Vec<Finding>,
}

/// What lies in the cache.
pub struct CacheSize {
    pub files: u64,
    /// Bytes.
    pub size: u64,
    pub max_size: u64,
    /// Bytes beyond `max_size` that no tick can remove just now.
    pub excess: u64,
}

/// Room on the disk; sizes in bytes.
pub struct Disk {
    /// `None`: it could not be found out.
    pub free: Option<u64>,
    pub min_free: u64,
    /// Nothing can be written, whatever is free: a quota is used up.
    pub is_refused: bool,
    pub free_inodes: Option<u64>,
    pub database: u64,
    /// Of the write-ahead log.
    pub wal: u64,
}

impl Report {
    /// `None`: all is well.
    pub fn worst(&self) -> Option<Level> {
        self.findings.iter().map(|finding| finding.level).max()
    }

    /// Jobs of the last hour's attempts that failed, by result.
    pub fn failures(&self) -> impl Iterator<Item = (Outcome, u64)> {
        self.last_hour.iter().copied().filter(|(outcome, _)| outcome.is_failure())
    }

    /// How many failed jobs a queue has of this status.
    pub fn failed_in(&self, queue: &str, status: Status) -> u64 {
        let of = |(name, kind, _): &&(String, Status, u64)| name == queue && *kind == status;
        self.failed.iter().find(of).map_or(0, |(_, _, count)| *count)
    }
}

/// How long nobody has ticked, and what is wrong with the clock.
pub struct Clock {
    /// `None`: nobody ever has.
    pub quiet: Option<Duration>,
    /// It was set since the last tick.
    pub was_set: bool,
    /// The last tick lies so far ahead.
    pub ahead: Option<Duration>,
    /// A round would not believe the clock. Others than the owner know that when a round has seen it.
    pub doubt: Option<Doubt>,
}

/// A started job.
pub struct RunningJob {
    pub job: Job,
    /// Whether its run holds its lock.
    pub sight: Sight,
    pub elapsed: Duration,
    /// What it is allowed; `None` if the attempt's row has gone.
    pub timeout: Option<Duration>,
    /// It should have been ended long ago.
    pub is_overdue: bool,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Warning,
    Critical,
}

impl Level {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    pub level: Level,
    /// A word for programs.
    pub code: &'static str,
    /// What it is, and what to do.
    pub text: String,
}
