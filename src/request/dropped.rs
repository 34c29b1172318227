//! An earlier request for the same file that was dropped while it was queued: whoever asks next is told.

use super::Ask;
use crate::{
    model::{clock::Stamp, status::Outcome},
    store::{StoreError, View},
};

/// A sentence about it, for as long as a failure would be the answer. The newest entry of the file in the history tells;
/// what cannot be read tells nothing.
pub fn told(view: &View, ask: &Ask, now: Stamp) -> anyhow::Result<Option<String>> {
    let newest = match view.attempts_of(&ask.filename, 1) {
        Err(StoreError::Unreadable(_) | StoreError::TooBig) => return Ok(None),
        read => read?.pop(),
    };
    let record = newest.and_then(|attempt| attempt.record).filter(|record| record.outcome == Outcome::Dropped);
    let recent = record.filter(|record| now < record.ended.plus(ask.exporter.failure_ttl));
    let why = |message: String| format!("an earlier request for this file was dropped: {message}");
    Ok(recent.and_then(|record| record.message).map(why))
}
