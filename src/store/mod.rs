//! The database: operations named by intention, a backend behind them.
//!
//! Only this room knows how jobs are stored. What leaves it are the names below: no type, no text and no error code of
//! a database library. [`sqlite`] is the one backend so far.

mod error;
mod sqlite;

pub use self::{
    error::StoreError,
    sqlite::{
        Listener, Store, Tx, View,
        backup::Holdings,
        busy::at_once,
        checked::Unreadable,
        claim::{ClaimDecision, ClaimPolicy, NewAttempt, QueueMove},
        close::{AttemptClosing, AttemptEnd, IsOpen},
        copying::{DELAYED, Original},
        enqueue::{Decision, Enqueued, NewJob, QueueStep, ScheduleRun},
        finishing::Drop,
        history::{Measure, PastRun, Sample, Tally},
        keeping::{Oldest, Part},
        listing::{JobFilter, JobOrder, JobQuery},
        maintenance::Removal,
        notices::{Notice, NoticeEvent},
        past::{AttemptCursor, AttemptOrder, AttemptQuery, LOOK_BACK, Whose},
        settings::{Action, Mode, QueueState, ScheduleState},
        standing::{Pulse, Started},
        standstill::{Place, Standstill},
    },
};

/// One answer of the store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;
