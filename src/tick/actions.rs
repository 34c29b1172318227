//! What administrators did goes from the database, where the web user can write it, into the activity log.

use super::Round;
use crate::{site::ActivityEvent, store::Action};

/// So many in a round.
const MOST: u32 = 1000;

/// Written first and marked then: what a crash interrupts is written twice rather than never.
pub fn log(round: &mut Round) -> anyhow::Result<()> {
    let new = round.store.view().unlogged_actions(MOST)?;
    let Some(last) = new.last().map(|action| action.id) else { return Ok(()) };
    let event =
        |action: Action| ActivityEvent::new("action", action.at).with("by", action.who).with("what", action.what);
    let events: Vec<_> = new.into_iter().map(event).collect();
    round.context.tell(&events);
    round.store.immediate(|tx| Ok(tx.actions_logged(last)?))
}
