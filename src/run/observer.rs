//! What the supervisor tells and asks about once a second: progress into the row, and whether the admin wants an end.
//!
//! Nothing here waits: while the supervisor waits it watches no limit and reads no output. What the database refuses is
//! tried again at the next look; bookkeeping never breaks an export.

use std::time::{Duration, Instant};

use super::finish;
use crate::{
    context::Context,
    exit::Failure,
    model::job::Claim,
    store::{Store, StoreError, at_once},
    supervise::{Overseer, Progress, StopOrder},
};

/// Progress is written to the row at most so often.
const WRITE: Duration = Duration::from_secs(2);

type Said = (Option<u8>, Option<String>);

/// The overseer of a run. It opens the database, so that the exporter need not wait for that.
pub struct Observer<'a> {
    context: &'a Context,
    claim: &'a Claim,
    store: Option<Store>,
    /// Why the database cannot be opened, now or later.
    broken: Option<Failure>,
    written: Said,
    due: Instant,
}

impl<'a> Observer<'a> {
    pub const fn new(context: &'a Context, claim: &'a Claim, now: Instant) -> Self {
        Self { context, claim, store: None, broken: None, written: (None, None), due: now }
    }

    /// The database, now with patience: the exporter has ended.
    pub fn into_store(self) -> Result<Store, Failure> {
        match (self.store, self.broken) {
            (Some(store), _) => Ok(store),
            (None, Some(failure)) => Err(failure),
            (None, None) => finish::open_patiently(self.context),
        }
    }

    fn ask(&mut self, progress: &Progress) -> Result<StopOrder, Failure> {
        let Some(store) = &mut self.store else {
            let mut store = self.context.open_store()?;
            self.context.keep_activity(&mut store);
            self.store = Some(store);
            return self.ask(progress);
        };
        let said = (progress.percent, progress.text.clone());
        if said != self.written && Instant::now() >= self.due {
            self.due = Instant::now() + WRITE;
            if write(store, self.claim, &said).is_ok() {
                self.written = said;
            }
        }
        Ok(match store.view().cancel_requested(self.claim) {
            Ok(Some(true)) => StopOrder::Cancel,
            Ok(Some(false)) | Err(_) => StopOrder::GoOn,
            Ok(None) => StopOrder::Taken,
        })
    }
}

fn write(store: &mut Store, claim: &Claim, said: &Said) -> anyhow::Result<()> {
    store.relax()?;
    let written = store.note_progress(claim, said.0, said.1.as_deref());
    store.strict()?;
    written
}

impl Overseer for Observer<'_> {
    /// Without a database nobody would ever know how it went: then the exporter is ended.
    fn look(&mut self, progress: &Progress) -> StopOrder {
        match at_once(|| self.ask(progress)) {
            Ok(wish) => wish,
            Err(failure) if is_passing(&failure) => StopOrder::GoOn,
            Err(failure) => {
                self.broken = Some(failure);
                StopOrder::Taken
            }
        }
    }
}

fn is_passing(failure: &Failure) -> bool {
    let cause = failure.error.as_ref().and_then(|error| error.downcast_ref());
    matches!(cause, Some(StoreError::Busy | StoreError::DiskFull))
}
