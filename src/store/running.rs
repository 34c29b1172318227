//! What is written and read while an attempt runs.

use super::{Result, Tx, View};
use crate::model::attempt::Claim;

impl Tx<'_> {
    /// What the exporter says of itself. `false`: the attempt was taken from us.
    pub fn progress(&self, claim: &Claim, percent: Option<u8>, message: Option<&str>) -> Result<bool> {
        todo!()
    }

    /// Asks the run of a started job to end it. `false`: it is not started.
    pub fn ask_cancel(&self, id: i64) -> Result<bool> {
        todo!()
    }
}

impl View<'_> {
    /// Whether the admin wants this attempt to end. `None`: it was taken from us.
    pub fn cancel_requested(&self, claim: &Claim) -> Result<Option<bool>> {
        todo!()
    }
}
