//! A run that starts nothing although its job is not at fault: the machine refuses for a while, or the configuration has
//! changed since the claim. The job goes back into the queue, and the attempt is none.
//!
//! The metadata in the lock file say so too, for the next tick: it tells the admin, and gives the job back where the
//! database could not be written. No bell is rung, since the tick would only start the job again at once.

use std::{fs::File, io, time::Duration};

use super::exec_spec::SetupError;
use crate::{
    context::Context,
    exit::{Exit, Failure},
    model::{clock::Stamp, job::Claim, passing},
    site::LockMetadata,
    supervise::{ExecSpec, SpawnError},
};

/// Why nothing is started.
pub(super) enum NotStarted {
    /// It is the job's, or its exporter's, failure.
    Refused(String),
    /// It is not. What the tick tells the admin, and what stands in the log; empty: somebody else tells it.
    Returned {
        told: String,
        why: String,
    },
    Failed(Failure),
}

impl NotStarted {
    /// The claim is not one by the configuration that is on the disk now.
    pub(super) fn configuration(error: Option<anyhow::Error>) -> Self {
        let why = error.map_or_else(String::new, |error| format!("{error:#}"));
        Self::Returned { told: String::new(), why }
    }

    pub(super) fn not_spawned(error: &SpawnError, order: &ExecSpec) -> Self {
        match error.passing(&order.limits) {
            Some(advice) => Self::machine(&error.to_string(), advice),
            None => Self::Refused(error.to_string()),
        }
    }

    fn machine(error: &str, advice: &str) -> Self {
        let told = format!("{error}; {advice}");
        Self::Returned { why: told.clone(), told }
    }

    /// Undoes the claim. The result is what this process ends with.
    pub(super) fn give_back(self, context: &Context, claim: &Claim, lock: &File, begun: Duration) -> Failure {
        let is_returned = matches!(self, Self::Returned { .. });
        let failure = self.note(lock, begun);
        if is_returned {
            // Otherwise the next tick does it.
            let _ = context.open_store().map(|mut store| {
                context.keep_activity(&mut store);
                store.give_back([claim], Stamp::now())
            });
        }
        failure
    }

    /// Notes it down for the next tick.
    pub(super) fn note(self, lock: &File, begun: Duration) -> Failure {
        match self {
            Self::Returned { told, why } => {
                let metadata = LockMetadata { refused: Some(told), since_boot: begun, ..LockMetadata::default() };
                let _ = metadata.write(lock); // on a full disk the database may still tell
                Failure::because(Exit::TryLater, why)
            }
            Self::Refused(sentence) => Failure::because(Exit::Io, sentence),
            Self::Failed(failure) => failure,
        }
    }
}

impl From<io::Error> for NotStarted {
    fn from(error: io::Error) -> Self {
        Failure::from(error).into()
    }
}

impl From<Failure> for NotStarted {
    fn from(failure: Failure) -> Self {
        let error = failure.error.as_ref();
        match error.and_then(|error| Some((format!("{error:#}"), passing::advice_for(error)?))) {
            Some((error, advice)) => Self::machine(&error, advice),
            None => Self::Failed(failure),
        }
    }
}

/// While the exporter's surroundings are prepared.
impl From<anyhow::Error> for NotStarted {
    fn from(error: anyhow::Error) -> Self {
        match passing::advice_for(&error) {
            _ if error.is::<SetupError>() => Self::configuration(Some(error)),
            Some(advice) => Self::machine(&format!("{error:#}"), advice),
            None => Self::Refused(format!("{error:#}")),
        }
    }
}
