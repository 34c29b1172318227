//! What `request` found out, before anybody decides how to say it.

use std::path::PathBuf;

use super::{clock::Stamp, delay::Delay, misfit::Misfit};

/// The states that an answer can have; docs/states.md tells what each means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Ready,
    Queued,
    Started,
    FailedTimeout,
    FailedUnknown,
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
#[derive(Clone, Debug, PartialEq)]
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
        Self {
            state,
            filename: None,
            title: None,
            path: None,
            content_type: None,
            size: None,
            made_at: None,
            expires_at: None,
            stale: false,
            position: None,
            percent: None,
            message: None,
            eta_seconds: None,
            retry_after: None,
            attempts: None,
            bad_input: false,
            reason: None,
            misfit: None,
            dropped: None,
            delay: None,
        }
    }

    /// Invalid, as the values do not fit.
    pub fn unfit(misfit: Misfit) -> Self {
        Self { misfit: Some(misfit.clone()), ..Self::because(State::Invalid, misfit) }
    }

    pub fn because(state: State, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::new(state) }
    }
}
