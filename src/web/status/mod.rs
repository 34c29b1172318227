//! The status page: what the commands `status`, `jobs` and `queues` show and do, for a browser and without scripts.
//!
//! A GET changes nothing and takes no lock, as with `status`. Users whom the web server has let log in (`REMOTE_USER`) see
//! everything, anonymous visitors nothing or counts. Actions are carried out by the commands' own functions, for users
//! listed in `status.admins`, by a POST with a token that only our own pages have.
//!
//! The query alone (`?page=jobs`) says which page is meant, so every link within the pages is relative and works behind
//! any server, at any path.

mod actions;
mod auth;
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
    status::{
        auth::{Visitor, VisitorSees},
        request::{StatusPage, StatusRefusal, StatusRequest},
    },
    variables::{self, Variables},
};
use crate::{context::Context, exit::Failure, logging, model::clock::Stamp, site::Site};

/// One request and what its answer needs.
struct StatusHandler<'a> {
    context: &'a Context,
    variables: &'a Variables,
    visitor: Visitor<'a>,
    request: StatusRequest,
    now: Stamp,
}

/// Answers one request.
pub(super) fn respond(context: Result<Context, Failure>, variables: &Variables, input: impl Read + AsFd) -> Response {
    let answered = context
        .map_err(StatusRefusal::from)
        .and_then(|context| answer(&context, variables, input).map_err(|refusal| refusal.completed(&context.site)));
    answered.unwrap_or_else(|refusal| html::refusal(variables, &refusal))
}

/// The answer to an internal error.
pub(super) fn internal_error(variables: &Variables) -> Response {
    html::refusal(variables, &StatusRefusal::new(500, "server error; the server's error log has the details"))
}

fn answer(context: &Context, variables: &Variables, input: impl Read + AsFd) -> Result<Response, StatusRefusal> {
    let visitor = Visitor::of(variables, &context.config.status);
    let request = StatusRequest::read(variables);
    if !visitor.may(request.as_ref().ok()) {
        // Some servers cut the connection when the form is not read.
        let _ = body::read(variables, input);
        if variables::is_only_claimed(variables) {
            logging::diagnostic_line(
                "nginx sets REMOTE_USER but not AUTH_TYPE; docs/status-page.md says where to set both",
            );
        }
        return Err(StatusRefusal::new(403, "log in to see this page"));
    }
    let handler = StatusHandler { context, variables, visitor, request: request?, now: Stamp::now() };
    match (handler.request.method, handler.request.page) {
        (Method::Post, StatusPage::Act) => actions::perform(&handler, input),
        (_, StatusPage::Act) => Err(StatusRefusal::method("POST")),
        (Method::Post, _) => Err(StatusRefusal::method("GET, HEAD")),
        _ => show(&handler),
    }
}

fn show(handler: &StatusHandler) -> Result<Response, StatusRefusal> {
    Site::open(&handler.context.config).map_err(anyhow::Error::from)?;
    let store = handler.context.view_store()?;
    let view = store.view();
    match handler.request.page {
        StatusPage::Overview if handler.visitor.sees == VisitorSees::Counts => overview::counts(handler, &view),
        StatusPage::Overview => overview::all(handler, &view),
        StatusPage::Jobs => jobs::jobs_page(handler, &view),
        StatusPage::History => jobs::history_page(handler, &view),
        StatusPage::Job => jobs::job_page(handler, &view),
        StatusPage::Act => Err(StatusRefusal::method("POST")),
    }
}
