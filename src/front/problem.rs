//! What is wrong with a request before anybody looks for its file.

use crate::model::answer::{Answer, State};

/// A request that is refused as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// Neither GET nor HEAD nor POST.
    Method,
    /// A body that does not say how long it is.
    Length,
    /// A body over the limit.
    TooLarge,
    /// A body that is no form.
    NotAForm,
    /// A browser says that the form comes from another site.
    Foreign,
    /// No exporter is named, or one that is not there for visitors.
    Unknown,
    /// One sentence about what does not fit.
    Bad(String),
}

impl Problem {
    pub(super) const fn status(&self) -> u16 {
        match self {
            Self::Method => 405,
            Self::Length => 411,
            Self::TooLarge => 413,
            Self::NotAForm => 415,
            Self::Foreign => 403,
            Self::Unknown => 404,
            Self::Bad(_) => 400,
        }
    }

    pub(super) fn answer(&self) -> Answer {
        let state = if *self == Self::Unknown { State::Unknown } else { State::Invalid };
        Answer::because(state, self.sentence())
    }

    fn sentence(&self) -> &str {
        match self {
            Self::Method => "only GET, HEAD and POST are answered",
            Self::Length => "the form has to say how long it is",
            Self::TooLarge => "the form is too large",
            Self::NotAForm => "only forms (application/x-www-form-urlencoded) are read",
            Self::Foreign => "the form comes from another site",
            Self::Unknown => "there is no such export",
            Self::Bad(sentence) => sentence,
        }
    }
}
