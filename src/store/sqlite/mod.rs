//! The queue in one SQLite file.
//!
//! Every write happens inside [`Store::immediate`], which begins IMMEDIATE: a transaction that first reads and
//! then writes would fail at once with "busy" when somebody wrote in between, and no waiting helps it. Polls are
//! plain reads and take no write lock. The log (`-wal`) and its index (`-shm`) stay when a connection closes, since
//! hundreds of short processes would otherwise each copy the log back and delete it; `tick` copies it back instead.

pub(super) mod backup;
pub(super) mod busy;
pub(super) mod checked;
pub(super) mod claim;
pub(super) mod close;
pub(super) mod copying;
pub(super) mod counting;
pub(super) mod counts;
pub(super) mod enqueue;
pub(super) mod files;
pub(super) mod finishing;
pub(super) mod history;
pub(super) mod keeping;
pub(super) mod listing;
pub(super) mod maintenance;
pub(super) mod mend;
pub(super) mod migrate;
pub(super) mod notices;
pub(super) mod open;
pub(super) mod past;
pub(super) mod rows;
pub(super) mod schema;
pub(super) mod settings;
pub(super) mod standing;
pub(super) mod standstill;
#[cfg(test)]
mod tests;
pub(super) mod upkeep;
pub(super) mod view;

use std::{cell::RefCell, ops::Deref};

use rusqlite::{Connection, TransactionBehavior};

use super::{StoreError, sqlite::checked::UnreadableRows};
use crate::site::ActivityEvent;

/// An open database of ours.
pub struct Store {
    conn: Connection,
    notes: UnreadableRows,
    listener: Option<Listener>,
}

/// Who hears what was committed.
pub type Listener = Box<dyn Fn(&[ActivityEvent])>;

/// Plain reads. Each call sees the newest commit, or, inside a transaction, that transaction.
pub struct View<'a> {
    conn: &'a Connection,
    /// Rows that could not be read, for a tick to remove.
    notes: &'a UnreadableRows,
}

/// A transaction that holds the write lock. It reads like a [`View`].
pub struct Tx<'a> {
    view: View<'a>,
    events: &'a RefCell<Vec<ActivityEvent>>,
}

impl<'a> Deref for Tx<'a> {
    type Target = View<'a>;

    fn deref(&self) -> &View<'a> {
        &self.view
    }
}

impl Store {
    pub fn view(&self) -> View<'_> {
        View { conn: &self.conn, notes: &self.notes }
    }

    /// Does `work` under the write lock and commits; an error or a panic in it rolls everything back.
    ///
    /// A [`StoreError`] can be found in the error by `downcast_ref`.
    pub fn immediate<T>(&mut self, work: impl FnOnce(&Tx<'_>) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let transaction =
            self.conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(StoreError::from)?;
        let events = RefCell::default();
        let value = work(&Tx { view: View { conn: &transaction, notes: &self.notes }, events: &events })?;
        transaction.commit().map_err(StoreError::from)?;
        self.pass_on(&events.take());
        Ok(value)
    }

    /// From here on `listener` hears what each transaction has told, once it is committed.
    pub fn listen(&mut self, listener: Option<Listener>) {
        self.listener = listener;
    }

    fn pass_on(&self, events: &[ActivityEvent]) {
        if let Some(listener) = self.listener.as_ref().filter(|_| !events.is_empty()) {
            listener(events);
        }
    }
}

impl Tx<'_> {
    /// Tells the store's listener, as soon as the transaction is committed, and not if it is undone.
    pub fn tell(&self, event: ActivityEvent) {
        self.events.borrow_mut().push(event);
    }
}
