//! The states of a job and the results of an attempt: the same words as in `schema.sql`.

/// Where a job stands. There is no "completed": the file in the cache says that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Status {
    Queued = 0,
    Started = 1,
    FailedTimeout = 2,
    FailedUnknown = 3,
}

impl Status {
    pub const ALL: [Self; 4] = [Self::Queued, Self::Started, Self::FailedTimeout, Self::FailedUnknown];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Started => "started",
            Self::FailedTimeout => "failed_timeout",
            Self::FailedUnknown => "failed_unknown",
        }
    }

    pub const fn code(self) -> i64 {
        self as i64
    }

    pub fn from_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.code() == code)
    }

    #[cfg(test)]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    pub const fn is_failed(self) -> bool {
        matches!(self, Self::FailedTimeout | Self::FailedUnknown)
    }

    /// Every legal move. A move missing here is a bug, not a case to handle: the tests hold the store to it.
    #[cfg(test)]
    pub const fn may_become(self, next: Self) -> bool {
        use Status::{FailedTimeout, FailedUnknown, Queued, Started};
        matches!(
            (self, next),
            (Queued, Started | FailedTimeout | FailedUnknown) // failed at once: its source has failed
                | (Started, Queued | FailedTimeout | FailedUnknown)
                | (FailedTimeout | FailedUnknown, Queued)
        )
    }
}

/// How an attempt ended, in the words of the `attempt` table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Outcome {
    Ok,
    /// The wall clock.
    Timeout,
    Cpu,
    Memory,
    FileSize,
    /// A non-zero exit status.
    Exit,
    Signal,
    /// Exit 0 without an acceptable file.
    NoOutput,
    /// Could not be started, or the row no longer fits the configuration.
    Spawn,
    /// Its run died, so that nothing more is known.
    #[default]
    Lost,
    Cancelled,
    Shutdown,
    /// No attempt: the job was given up while it was queued.
    Dropped,
}

impl Outcome {
    pub const ALL: [Self; 13] = [
        Self::Ok,
        Self::Timeout,
        Self::Cpu,
        Self::Memory,
        Self::FileSize,
        Self::Exit,
        Self::Signal,
        Self::NoOutput,
        Self::Spawn,
        Self::Lost,
        Self::Cancelled,
        Self::Shutdown,
        Self::Dropped,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Timeout => "timeout",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::FileSize => "file_size",
            Self::Exit => "exit",
            Self::Signal => "signal",
            Self::NoOutput => "no_output",
            Self::Spawn => "spawn",
            Self::Lost => "lost",
            Self::Cancelled => "cancelled",
            Self::Shutdown => "shutdown",
            Self::Dropped => "dropped",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// Neither a success nor an end that an administrator wanted, of something that was started.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Ok | Self::Cancelled | Self::Shutdown | Self::Dropped)
    }

    /// The state of a job whose last attempt ended so.
    pub const fn failed_status(self) -> Status {
        match self {
            Self::Timeout | Self::Cpu => Status::FailedTimeout,
            _ => Status::FailedUnknown,
        }
    }
}

/// Why a queued job was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// It could have been started for longer than `queued_ttl`.
    TooOld,
    /// Nobody asked about it for `abandon_after`.
    Abandoned,
    /// Its exporter has not been configured for long.
    NoExporter,
    /// An administrator cancelled it.
    Cancelled,
}

impl DropReason {
    pub const ALL: [Self; 4] = [Self::TooOld, Self::Abandoned, Self::NoExporter, Self::Cancelled];

    pub const fn name(self) -> &'static str {
        match self {
            Self::TooOld => "too_old",
            Self::Abandoned => "abandoned",
            Self::NoExporter => "no_exporter",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// Neither an administrator nor the configuration asked for exactly this.
    pub const fn is_news(self) -> bool {
        matches!(self, Self::TooOld | Self::NoExporter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_lead_back_to_the_status() {
        for status in Status::ALL {
            assert_eq!(Status::from_code(status.code()), Some(status));
            assert_eq!(Status::from_name(status.name()), Some(status));
        }
        assert_eq!(Status::from_code(4), None);
    }

    #[test]
    fn a_failure_only_goes_back_to_the_queue() {
        for failed in [Status::FailedTimeout, Status::FailedUnknown] {
            let next: Vec<_> = Status::ALL.into_iter().filter(|next| failed.may_become(*next)).collect();
            assert_eq!(next, [Status::Queued]);
        }
    }
}
