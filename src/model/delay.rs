//! What keeps a pending job from its file: said in place of a time, or beside it.

use super::clock::Stamp;

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
            Self::Draining => "the queue is being drained by the administrator, no job is started",
            Self::Held => "this kind of export is not validly configured, its jobs are held",
            Self::Trouble => "this kind of export is having trouble, it is tried again later",
            Self::NoTick { minutes } => return format!("no tick has run for {minutes} minutes"),
            Self::DiskLow => "the server is low on disk space, no job is started",
            Self::MemoryLow => "the server is low on memory, the job waits for a quieter hour",
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
