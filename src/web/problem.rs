//! What is wrong with a request before anybody looks for its file.

use crate::model::{
    answer::{Answer, State},
    misfit::Misfit,
};

/// A request that is refused as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WebProblem {
    /// Neither GET nor HEAD nor POST.
    Method,
    /// A body that does not say how long it is.
    Length,
    /// A body over the limit.
    TooLarge,
    /// A body that is no form.
    NotAForm,
    /// A browser says that the form was sent from another site.
    Foreign,
    /// No exporter is named, or one that is not there for visitors.
    Unknown,
    /// What does not fit.
    Bad(Misfit),
}

impl WebProblem {
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
        match self {
            Self::Unknown => Answer::because(State::Unknown, "there is no such export"),
            Self::Bad(misfit) => Answer::unfit(misfit.clone()),
            other => Answer::because(State::Invalid, other.sentence()),
        }
    }

    const fn sentence(&self) -> &'static str {
        match self {
            Self::Method => "only the methods GET, HEAD and POST are supported",
            Self::Length => "the form must declare its length",
            Self::TooLarge => "the form is too large",
            Self::NotAForm => "the body must be a form (application/x-www-form-urlencoded)",
            Self::Foreign => "the form was sent from another site",
            Self::Unknown | Self::Bad(_) => "",
        }
    }
}
