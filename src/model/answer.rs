//! What `request` found out, before anybody decides how to say it, and what keeps a pending job from its file: said in
//! place of a time, or beside it.

use std::path::PathBuf;

use super::{clock::Stamp, misfit::Misfit};

/// The states that an answer can have; docs/states.md tells what each means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    Ready,
    Queued,
    Started,
    FailedTimeout,
    FailedUnknown,
    #[default]
    Absent,
    Unavailable,
    Limited,
    Invalid,
    /// An exporter that does not exist, or wrong usage.
    Unknown,
}

impl State {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Queued => "queued",
            Self::Started => "started",
            Self::FailedTimeout => "failed_timeout",
            Self::FailedUnknown => "failed_unknown",
            Self::Absent => "absent",
            Self::Unavailable => "unavailable",
            Self::Limited => "limited",
            Self::Invalid | Self::Unknown => "invalid",
        }
    }
}

/// One answer: the state and what is known beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub state: State,
    pub filename: Option<String>,
    /// The name under which a visitor saves the ready file.
    pub title: Option<String>,
    /// Absolute path of the ready file. Never shown to a visitor.
    pub path: Option<PathBuf>,
    pub content_type: Option<String>,
    pub size: Option<u64>,
    pub made_at: Option<Stamp>,
    /// `None` also when it never expires.
    pub expires_at: Option<Stamp>,
    /// The file is past its ttl and is served because a newer one is not there.
    pub stale: bool,
    /// The place in its queue, from 1; 1001 means "more than 1000".
    pub position: Option<u32>,
    pub percent: Option<u8>,
    /// For the visitor, from the exporter.
    pub message: Option<String>,
    pub eta_seconds: Option<u64>,
    /// Seconds after which asking again makes sense.
    pub retry_after: Option<u64>,
    pub attempts: Option<u32>,
    /// The exporter called its input bad: the same again would fail again.
    pub bad_input: bool,
    /// Why it is unavailable, limited or invalid, or what delays it.
    pub reason: Option<String>,
    /// The same for who speaks another language, where values do not fit.
    pub misfit: Option<Misfit>,
    /// Why an earlier request for the file was dropped while it was queued.
    pub dropped: Option<String>,
    /// What the reason says of a pending job, for programs.
    pub delay: Option<Delay>,
}

impl Answer {
    pub fn new(state: State) -> Self {
        Self { state, ..Self::default() }
    }

    /// Invalid, as the values do not fit.
    pub fn unfit(misfit: Misfit) -> Self {
        Self { misfit: Some(misfit.clone()), ..Self::because(State::Invalid, misfit) }
    }

    pub fn because(state: State, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::new(state) }
    }
}

/// Why a queued job is not started, or that a started one is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// An administrator has paused the queue.
    Paused,
    /// An administrator lets the queue run empty.
    Draining,
    /// Its exporter cannot be used as it is configured.
    Held,
    /// Its exporter fails all the time.
    Trouble,
    NoTick {
        minutes: u64,
    },
    DiskLow,
    MemoryLow,
    /// Every seat of the host is taken, and nobody knows until when.
    HostFull,
    /// It is not started before this moment.
    Until(Stamp),
    /// It has been running longer than nineteen of twenty others.
    Longer,
}

impl Delay {
    /// One of each kind.
    #[cfg(test)]
    pub const EACH: [Self; 10] = [
        Self::Paused,
        Self::Draining,
        Self::Held,
        Self::Trouble,
        Self::NoTick { minutes: 3 },
        Self::DiskLow,
        Self::MemoryLow,
        Self::HostFull,
        Self::Until(Stamp(0)),
        Self::Longer,
    ];

    /// The word for programs.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Draining => "draining",
            Self::Held => "held",
            Self::Trouble => "trouble",
            Self::NoTick { .. } => "no_tick",
            Self::DiskLow => "disk_low",
            Self::MemoryLow => "memory_low",
            Self::HostFull => "host_full",
            Self::Until(_) => "not_before",
            Self::Longer => "longer",
        }
    }

    /// The sentence for people who run the site.
    pub fn sentence(self) -> String {
        let sentence = match self {
            Self::Paused => "the queue is paused by the administrator",
            Self::Draining => "the queue is being drained by the administrator; no job is started",
            Self::Held => "this kind of export is misconfigured; its jobs are held",
            Self::Trouble => "this kind of export keeps failing; it is tried again later",
            Self::NoTick { minutes } => return format!("no tick has run for {minutes} minutes"),
            Self::DiskLow => "the server is low on disk space; no job is started",
            Self::MemoryLow => "the server is low on memory; the job waits until more is free",
            Self::HostFull => "the server is busy with other exports",
            Self::Until(moment) => return format!("waits until {}", moment.rfc3339()),
            Self::Longer => "it is taking longer than usual",
        };
        sentence.to_owned()
    }

    /// Whether it lasts until somebody does something or something else changes, so that no time can be told.
    pub const fn is_open(self) -> bool {
        !matches!(self, Self::Until(_))
    }
}
