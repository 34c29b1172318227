//! What a round does, step by step, as a value: a dry run prints it, as lines for people or as objects for programs.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::model::{
    clock::Stamp,
    format,
    job::{Claim, Job},
};

/// A time, for programs in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Stamp);

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0.rfc3339())
    }
}

/// A job by its id and its file.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    pub job: i64,
    pub filename: String,
}

impl From<&Job> for Named {
    fn from(job: &Job) -> Self {
        Self { job: job.id, filename: job.filename.clone() }
    }
}

impl From<&Claim> for Named {
    fn from(claim: &Claim) -> Self {
        Self { job: claim.job, filename: claim.filename.clone() }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "job {} ({})", self.job, self.filename)
    }
}

/// What becomes of a job whose run has died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    Queued,
    Failed,
    Gone,
}

/// What a schedule does in this round.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Due {
    /// It is due later.
    Next {
        at: Moment,
    },
    Queued(Named),
    /// Its job is queued or started already.
    Dropped(Named),
    Refused {
        why: String,
    },
}

/// One step of a round.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum PlanStep {
    /// Its run is alive.
    Running(Named),
    /// Its run is alive and should have ended long ago: it is killed.
    Kill(Named),
    /// Its run has died.
    Reap {
        #[serde(flatten)]
        job: Named,
        result: &'static str,
        next: Next,
        /// When a queued one may start again.
        at: Option<Moment>,
    },
    /// Nothing is pruned or dropped in this round.
    Calm {
        why: &'static str,
    },
    Prune {
        filename: String,
        made: Moment,
    },
    Expire {
        filename: String,
    },
    Drop {
        #[serde(flatten)]
        job: Named,
        why: String,
    },
    /// Into the queue where it belongs.
    Move {
        #[serde(flatten)]
        job: Named,
        from: String,
        to: String,
    },
    Schedule {
        schedule: String,
        exporter: String,
        #[serde(flatten)]
        due: Due,
    },
    /// The time of so many jobs has come.
    Wake {
        jobs: usize,
    },
    /// The source of a job whose turn it is has to be made first.
    Queue {
        #[serde(flatten)]
        job: Named,
        /// The file that is made from it.
        for_file: String,
    },
    /// Without being started.
    Fail {
        #[serde(flatten)]
        job: Named,
        why: String,
    },
    Claim {
        #[serde(flatten)]
        job: Named,
        exporter: String,
        queue: String,
        /// Which attempt it is, from 1.
        number: u32,
        /// Its program and arguments; empty if they cannot be told.
        command: Vec<String>,
    },
    Hold(Hold),
    /// So many more jobs wait in a queue.
    More {
        queue: String,
        jobs: u64,
    },
    /// What would be told on stderr.
    Problem {
        text: String,
    },
    /// Something that this plan leaves out.
    Beyond {
        text: String,
    },
}

/// A job that is queued at the end of the round, and why it is not started.
#[derive(Clone, Debug, Serialize)]
pub struct Hold {
    #[serde(flatten)]
    pub job: Named,
    pub queue: String,
    #[serde(flatten)]
    pub reason: HoldReason,
}

/// Why a job is not started.
#[derive(Clone, Debug, Serialize)]
pub struct HoldReason {
    /// A word for programs.
    #[serde(rename = "reason")]
    pub word: &'static str,
    /// A sentence for people.
    pub why: String,
    /// When that ends, if it is known.
    pub until: Option<Moment>,
}

impl HoldReason {
    pub fn new(word: &'static str, why: impl Into<String>) -> Self {
        Self { word, why: why.into(), until: None }
    }

    /// With the time at which it ends, at the end of the sentence.
    pub fn until(word: &'static str, why: &str, until: Stamp) -> Self {
        Self { word, why: format!("{why} {}", until.rfc3339()), until: Some(Moment(until)) }
    }
}

impl fmt::Display for PlanStep {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running(job) => write!(to, "running {job}"),
            Self::Kill(job) => write!(to, "kill {job}: its run should have ended long ago"),
            Self::Reap { job, result, next, at } => {
                write!(to, "reap {job}: its run has died, its result is {result}")?;
                match (next, at) {
                    (Next::Queued, Some(at)) => write!(to, "; it is queued again, not before {}", at.0.rfc3339()),
                    (Next::Queued, None) => to.write_str("; it is queued again"),
                    (Next::Failed, _) => to.write_str("; it has failed"),
                    (Next::Gone, _) => Ok(()),
                }
            }
            Self::Calm { why } => write!(to, "hold prune: {why}"),
            Self::Prune { filename, made } => write!(to, "prune cache/{filename}: made at {}", made.0.rfc3339()),
            Self::Expire { filename } => write!(to, "expire cache/{filename}: the cache is larger than max_size"),
            Self::Drop { job, why } | Self::Fail { job, why } => {
                write!(to, "{} {job}: {why}", if matches!(self, Self::Drop { .. }) { "drop" } else { "fail" })
            }
            Self::Move { job, from, to: queue } => write!(to, "move {job}: from queue {from} to queue {queue}"),
            Self::Schedule { schedule, exporter, due } => write!(to, "schedule {schedule} ({exporter}): {due}"),
            Self::Wake { jobs } => {
                write!(to, "wake {}: their time has come", format::count(*jobs as u64, "job"))
            }
            Self::Queue { job, for_file } => write!(to, "queue {job}: {for_file} is made from it"),
            Self::Claim { job, number, command, .. } => {
                let verb = if *number > 1 { format!("retry {number}") } else { "claim".to_owned() };
                let words: Vec<_> = command.iter().map(|word| format!("{word:?}")).collect();
                write!(to, "{verb} {job}: {}", words.join(" "))
            }
            Self::Hold(hold) => write!(to, "hold {}: {}", hold.job, hold.reason.why),
            Self::More { queue, jobs } => {
                write!(to, "hold queue {queue}: {} wait", format::count(*jobs, "more job"))
            }
            Self::Problem { text } => write!(to, "problem {text}"),
            Self::Beyond { text } => write!(to, "beyond {text}"),
        }
    }
}

impl fmt::Display for Due {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Next { at } => write!(to, "next at {}", at.0.rfc3339()),
            Self::Queued(job) => write!(to, "due now, {job} is queued"),
            Self::Dropped(job) => write!(to, "due now, and dropped: {job} is queued or started already"),
            Self::Refused { why } => write!(to, "due now, and refused: {why}"),
        }
    }
}
