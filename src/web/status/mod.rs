//! The status page: what `status`, `jobs` and `queues` tell and do, for a browser and without scripts.
//!
//! Looking changes nothing and takes no lock, as with `status`. Everything is shown to whoever the server has let log in
//! (`REMOTE_USER`), nothing or counts to everybody else. What is done is done by the commands' own functions, for those
//! whom `status.admins` names, by a POST that carries a token which only such a page has.
//!
//! Pages are told apart by the query alone (`?page=jobs`), so every link within them is relative and holds behind any
//! server, at any place.

mod actions;
mod chart;
mod html;
mod jobs;
mod overview;
mod plots;
mod request;

use std::{io::Read, os::fd::AsFd};

use super::{
    body,
    request::Method,
    response::Response,
    status::request::{Asked, StatusPage, StatusRefusal, Visitor, VisitorSees},
    variables::{self, Variables},
};
use crate::{context::Context, exit::Failure, logging, model::clock::Stamp, site::Site};

/// One visit.
struct StatusHandler<'a> {
    context: &'a Context,
    variables: &'a Variables,
    visitor: Visitor<'a>,
    asked: Asked,
    now: Stamp,
}

/// Answers one request.
pub(super) fn respond(context: Result<Context, Failure>, variables: &Variables, input: impl Read + AsFd) -> Response {
    let answered = context
        .map_err(StatusRefusal::from)
        .and_then(|context| answer(&context, variables, input).map_err(|refusal| refusal.completed(&context.site)));
    answered.unwrap_or_else(|refusal| html::refusal(variables, &refusal))
}

/// The answer when answering has failed.
pub(super) fn fault(variables: &Variables) -> Response {
    html::refusal(variables, &StatusRefusal::new(500, "the server has a fault; its error log tells more"))
}

fn answer(context: &Context, variables: &Variables, input: impl Read + AsFd) -> Result<Response, StatusRefusal> {
    let visitor = Visitor::of(variables, &context.config.status);
    let asked = Asked::read(variables);
    if !visitor.may(asked.as_ref().ok()) {
        // Some servers cut the connection when nobody takes the form from them.
        let _ = body::read(variables, input);
        if variables::is_only_claimed(variables) {
            logging::diagnostic_line(
                "nginx sets REMOTE_USER, but not AUTH_TYPE: see docs/status-page.md on where to set them",
            );
        }
        return Err(StatusRefusal::new(403, "you have to log in to see this"));
    }
    let visit = StatusHandler { context, variables, visitor, asked: asked?, now: Stamp::now() };
    match (visit.asked.method, visit.asked.page) {
        (Method::Post, StatusPage::Act) => actions::perform(&visit, input),
        (_, StatusPage::Act) => Err(StatusRefusal::method("POST")),
        (Method::Post, _) => Err(StatusRefusal::method("GET, HEAD")),
        _ => look(&visit),
    }
}

fn look(visit: &StatusHandler) -> Result<Response, StatusRefusal> {
    Site::open(&visit.context.config).map_err(anyhow::Error::from)?;
    let store = visit.context.view_store()?;
    let view = store.view();
    match visit.asked.page {
        StatusPage::Overview if visit.visitor.sight == VisitorSees::Counts => overview::counts(visit, &view),
        StatusPage::Overview => overview::all(visit, &view),
        StatusPage::Jobs => jobs::jobs_page(visit, &view),
        StatusPage::History => jobs::history_page(visit, &view),
        StatusPage::Job => jobs::job_page(visit, &view),
        StatusPage::Act => Err(StatusRefusal::method("POST")),
    }
}
