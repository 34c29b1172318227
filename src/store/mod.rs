//! The database: operations named by intention, SQLite behind them.
//!
//! Every write happens inside [`Store::immediate`], which begins IMMEDIATE: a transaction that first reads and
//! then writes would fail at once with "busy" when somebody wrote in between, and no waiting helps it. Polls are
//! plain reads and take no write lock. The log (`-wal`) and its index (`-shm`) stay when a connection closes, since
//! hundreds of short processes would otherwise each copy the log back and delete it; `tick` copies it back instead.

mod actions;
mod backup;
mod breakers;
mod busy;
mod checked;
mod choosing;
mod claiming;
mod copying;
mod counting;
mod counts;
mod dropping;
mod error;
mod finishing;
mod healing;
mod history;
mod keeping;
mod listing;
mod mending;
mod migrating;
mod notices;
mod opening;
mod pace;
mod past;
mod pulse;
mod queueing;
mod returning;
mod rows;
mod running;
mod schema;
mod settings;
mod standing;
mod standstill;
mod tallies;
mod trimming;
mod upkeep;
mod view;
mod writer;

#[cfg(test)]
mod tests;

pub use self::listing::{JobFilter, JobOrder, JobQuery};
pub use self::notices::{Notice, NoticeEvent};
pub use self::pace::{PastRun, Sample};
pub use actions::Action;
pub use backup::Holdings;
pub use busy::at_once;
pub use checked::Unreadable;
pub use copying::{DELAYED, Original};
pub use dropping::Drop;
pub use error::StoreError;
pub use finishing::Retry;
pub use past::{AttemptOrder, AttemptQuery, LOOK_BACK, Whose};
pub use pulse::Pulse;
pub use queueing::NewJob;
pub use settings::{Mode, QueueState, ScheduleState};
pub use standing::Started;
pub use standstill::{Place, Standstill};
pub use tallies::{Measure, Tally};
pub use trimming::{Oldest, Part};

use std::{cell::RefCell, ops::Deref};

use self::checked::UnreadableRows;

use rusqlite::{Connection, TransactionBehavior};

use crate::model::event::ActivityEvent;

/// One answer of the store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

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
