//! Why a request is refused before its file is looked up.

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
    /// A body that is not a form.
    NotAForm,
    /// The browser says that another site has sent the form.
    Foreign,
    /// No exporter is named, or one that does not exist or is not for visitors.
    Unknown,
    /// A parameter that is not valid.
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
