//! Why there is no page: a status and one sentence.

use crate::{
    exit::{Exit, Failure},
    site::Site,
    store::StoreError,
    web::{log, problem::WebProblem},
};

#[derive(Debug)]
pub(super) struct StatusRefusal {
    pub(super) status: u16,
    /// For whoever has logged in.
    pub(super) sentence: String,
    /// The methods that are answered instead (RFC 9110, section 15.5.6).
    pub(super) allow: Option<&'static str>,
}

impl StatusRefusal {
    pub(super) fn new(status: u16, sentence: impl Into<String>) -> Self {
        Self { status, sentence: sentence.into(), allow: None }
    }

    pub(super) fn method(allow: &'static str) -> Self {
        let methods = match allow.rsplit_once(", ") {
            Some((others, last)) => format!("{others} and {last} are"),
            None => format!("{allow} is"),
        };
        Self { allow: Some(allow), ..Self::new(405, format!("only {methods} answered here")) }
    }

    /// With the commands as they have to be typed for this site.
    pub(super) fn completed(self, site: &Site) -> Self {
        Self { sentence: site.with_whole_command(&self.sentence), ..self }
    }

    /// What those may read who have not logged in: nothing about this machine.
    pub(super) fn public_sentence(&self) -> &str {
        if self.status < 500 { &self.sentence } else { "the status cannot be shown just now" }
    }
}

impl From<WebProblem> for StatusRefusal {
    fn from(problem: WebProblem) -> Self {
        Self::new(problem.status(), problem.answer().reason.unwrap_or_default())
    }
}

impl From<Failure> for StatusRefusal {
    fn from(failure: Failure) -> Self {
        let sentence = failure.error.map_or_else(String::new, |error| format!("{error:#}"));
        let status = match failure.exit {
            Exit::Usage | Exit::BadValue => 400,
            Exit::Absent => 404,
            Exit::Unavailable => 503,
            _ => 500,
        };
        if status == 500 {
            log::line(&sentence);
        }
        Self::new(status, sentence.trim_end())
    }
}

impl From<anyhow::Error> for StatusRefusal {
    fn from(error: anyhow::Error) -> Self {
        Failure::from(error).into()
    }
}

impl From<StoreError> for StatusRefusal {
    fn from(error: StoreError) -> Self {
        anyhow::Error::from(error).into()
    }
}
