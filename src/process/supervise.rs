//! The loop around one exporter.

use std::io;

use super::{ending::Ending, order::Order, overseer::Overseer, spawn::Leader};

/// Watches the exporter until its leader has ended, ends what is left of its tree, and reaps.
///
/// Returns only when the tree is gone: a process that cannot be killed keeps the caller here, and with it the slot.
pub fn supervise(leader: Leader, order: &Order, overseer: &mut dyn Overseer) -> io::Result<Ending> {
    let _ = (leader, order, overseer);
    todo!()
}
