//! The overview looks again by itself, unless somebody does not want that.
//!
//! By a header, which every browser knows, and not by a `meta` element, which is taken for one that nobody can stop: what
//! changes by itself has to have a switch (WCAG 2.2.2).

use std::time::Duration;

use minijinja::{Value, context};

use super::{StatusHandler, pace::PlotSpan, refusal::StatusRefusal};
use crate::{model::format, web::response::Response};

/// Seconds after which the page looks again.
const AGAIN: u64 = 30;

pub(super) struct Refresh {
    /// Where it leads; without what was done last, which is told once. `None`: nowhere.
    to: Option<String>,
    /// The link that turns it the other way.
    other: String,
}

impl Refresh {
    pub(super) fn of(visit: &StatusHandler, span: PlotSpan) -> Result<Self, StatusRefusal> {
        let stays = visit.asked.get("refresh")?.is_some_and(|word| word == "off");
        let link = |refresh| {
            let pairs = [("page", "overview"), ("span", span.name()), ("refresh", refresh), ("said", ""), ("seal", "")];
            format!("?{}", visit.asked.link(&pairs))
        };
        let other = link(if stays { "" } else { "off" });
        Ok(Self { to: (!stays).then(|| link("")), other })
    }

    pub(super) fn asked_of(&self, response: Response) -> Response {
        response.maybe("Refresh", self.to.as_ref().map(|to| format!("{AGAIN}; url={to}")))
    }

    pub(super) fn values(&self) -> Value {
        let often = format::duration(Duration::from_secs(AGAIN));
        context! { on => self.to.is_some(), often, other => &*self.other }
    }
}
