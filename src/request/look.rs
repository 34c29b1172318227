//! What a request is decided by, and what it is refused for.

use super::ask::Ask;
use crate::{
    context::Context,
    model::{
        answer::{Answer, State},
        clock::Stamp,
    },
    store::View,
};

/// What a request is decided by: with or without the write lock, the same.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    pub context: &'a Context,
    pub view: &'a View<'a>,
    pub now: Stamp,
}

/// A refusal that has yet to be described: when to come again is estimated after the write lock was let go.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub answer: Answer,
    /// What has to become free, if that tells when to come again.
    pub relief: Option<Relief>,
}

impl From<Answer> for Refusal {
    fn from(answer: Answer) -> Self {
        Self { answer, relief: None }
    }
}

impl Refusal {
    pub(super) fn later(state: State, reason: &str, seconds: u64) -> Self {
        Answer { retry_after: Some(seconds), ..Answer::because(state, reason) }.into()
    }

    pub(super) fn until_room(state: State, reason: &str, relief: Relief) -> Self {
        Self { answer: Answer::because(state, reason), relief: Some(relief) }
    }

    /// The source's failure is the answer to who asked for what is made from it.
    pub(super) fn of_source(self, ask: &Ask) -> Self {
        let Answer { state, message, retry_after, bad_input, reason, .. } = self.answer;
        let answer = Answer { message, retry_after, bad_input, reason, ..ask.answer(state) };
        Self { answer, relief: self.relief }
    }

    /// Without an estimate.
    pub fn into_answer(self) -> Answer {
        self.answer
    }

    /// One sentence for a log.
    pub fn reason(self) -> String {
        self.answer.reason.or(self.answer.message).unwrap_or_default()
    }
}

/// Something that has to become free: a place among `these` jobs of a queue.
#[derive(Clone, Debug)]
pub struct Relief {
    pub exporter: String,
    pub queue: String,
    pub these: u64,
}

impl Relief {
    pub(super) fn of(ask: &Ask, queue: &str, these: u64) -> Self {
        Self { exporter: ask.exporter.name.clone(), queue: queue.to_owned(), these }
    }
}
