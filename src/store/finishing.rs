//! The end of an attempt. Every statement names the attempt and `started`; when it changes no row, somebody else
//! has ended the attempt, nothing is written, and the answer is `false`: touch neither row nor cache.

use super::{Result, Tx};
use crate::model::{
    attempt::{Claim, Record},
    clock::Stamp,
    limits::Limits,
};

/// How the next attempt at a job differs.
#[derive(Clone, Debug)]
pub struct Retry<'a> {
    /// Not before this moment.
    pub run_after: Stamp,
    /// Limits in place of the configured ones.
    pub limits: Option<&'a Limits>,
    /// The queue that it goes to; for a job that leaves the express lane another one than `claim.queue`.
    pub queue: &'a str,
}

impl Tx<'_> {
    /// The file is published: the job is forgotten, or queued again if one more run was noted.
    pub fn finish_ok(&self, claim: &Claim, record: &Record) -> Result<bool> {
        todo!()
    }

    /// It failed and is tried again. It keeps its rank; a noted run is satisfied by the next attempt, which
    /// is not started before that note's moment.
    pub fn finish_retry(&self, claim: &Claim, record: &Record, retry: &Retry<'_>) -> Result<bool> {
        todo!()
    }

    /// It failed for good, or is queued again if one more run was noted.
    pub fn finish_failed(&self, claim: &Claim, record: &Record, now: Stamp) -> Result<bool> {
        todo!()
    }

    /// A shutdown cut it short: back into the queue. The attempt is not counted, unless it is the fourth shutdown in a row.
    pub fn finish_returned(&self, claim: &Claim, record: &Record) -> Result<bool> {
        todo!()
    }

    /// The admin wanted it to end: the job is forgotten.
    pub fn finish_cancelled(&self, claim: &Claim, record: &Record) -> Result<bool> {
        todo!()
    }
}
