//! What the supervisor tells and asks about once a second: progress into the row, and whether the admin wants an end.

use std::time::{Duration, Instant};

use crate::{
    model::attempt::Claim,
    process::{Overseer, Progress, Wish},
    store::Store,
};

/// Progress is written to the row at most so often.
const WRITE: Duration = Duration::from_secs(2);

type Said = (Option<u8>, Option<String>);

/// The overseer of a run. Whatever fails here is left for the next second: bookkeeping never breaks an export.
pub struct Watch<'a> {
    store: &'a mut Store,
    claim: &'a Claim,
    written: Said,
    due: Instant,
}

impl<'a> Watch<'a> {
    pub fn new(store: &'a mut Store, claim: &'a Claim) -> Self {
        Self { store, claim, written: (None, None), due: Instant::now() }
    }

    fn write(&mut self, said: Said) {
        let claim = self.claim;
        let _ = self.store.relax();
        let written = self.store.immediate(|tx| Ok(tx.progress(claim, said.0, said.1.as_deref())?));
        let _ = self.store.strict();
        self.due = Instant::now() + WRITE;
        if written.is_ok() {
            self.written = said;
        }
    }
}

impl Overseer for Watch<'_> {
    fn look(&mut self, progress: &Progress) -> Wish {
        let said = (progress.percent, progress.text.clone());
        if said != self.written && Instant::now() >= self.due {
            self.write(said);
        }
        match self.store.view().cancel_requested(self.claim) {
            Ok(Some(true)) => Wish::Cancel,
            Ok(Some(false)) | Err(_) => Wish::GoOn,
            Ok(None) => Wish::Taken,
        }
    }
}
