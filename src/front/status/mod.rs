//! The status page: what `status`, `jobs` and `queues` tell and do, for a browser and without scripts.
//!
//! Looking changes nothing and takes no lock, as with `status`. Everything is shown to whoever the server has let log in
//! (`REMOTE_USER`), nothing or counts to everybody else. What is done is done by the commands' own functions, for those
//! whom `status.admins` names, by a POST that carries a token which only such a page has.
//!
//! Pages are told apart by the query alone (`?page=jobs`), so every link within them is relative and holds behind any
//! server, at any place.

mod act;
mod asked;
mod draw;
mod form;
mod history;
mod html;
mod job;
mod jobs;
mod overview;
mod pace;
mod plot;
mod refresh;
mod refusal;
mod seal;
mod shown;
mod visitor;

use std::{io::Read, os::fd::AsFd};

use self::{
    asked::{Asked, Page},
    refusal::Refusal,
    visitor::{Sight, Visitor},
};
use super::{body, log, login, response::Response, variables::Variables, wish::Method};
use crate::{commands::world::World, exit::Failure, model::clock::Stamp, site::Site};

/// One visit.
struct Visit<'a> {
    world: &'a World,
    variables: &'a Variables,
    visitor: Visitor<'a>,
    asked: Asked,
    now: Stamp,
}

/// Answers one request.
pub(super) fn respond(world: Result<World, Failure>, variables: &Variables, input: impl Read + AsFd) -> Response {
    let answered = world
        .map_err(Refusal::from)
        .and_then(|world| answer(&world, variables, input).map_err(|refusal| refusal.completed(&world.site)));
    answered.unwrap_or_else(|refusal| html::refusal(variables, &refusal))
}

/// The answer when answering has failed.
pub(super) fn fault(variables: &Variables) -> Response {
    html::refusal(variables, &Refusal::new(500, "the server has a fault; its error log tells more"))
}

fn answer(world: &World, variables: &Variables, input: impl Read + AsFd) -> Result<Response, Refusal> {
    let visitor = Visitor::of(variables, &world.config.status);
    let asked = Asked::read(variables);
    if !visitor.may(asked.as_ref().ok()) {
        // Some servers cut the connection when nobody takes the form from them.
        let _ = body::read(variables, input);
        if login::is_only_claimed(variables) {
            log::line("nginx sets REMOTE_USER, but not AUTH_TYPE: see docs/status-page.md on where to set them");
        }
        return Err(Refusal::new(403, "you have to log in to see this"));
    }
    let visit = Visit { world, variables, visitor, asked: asked?, now: Stamp::now() };
    match (visit.asked.method, visit.asked.page) {
        (Method::Post, Page::Act) => act::perform(&visit, input),
        (_, Page::Act) => Err(Refusal::method("POST")),
        (Method::Post, _) => Err(Refusal::method("GET, HEAD")),
        _ => look(&visit),
    }
}

fn look(visit: &Visit) -> Result<Response, Refusal> {
    Site::open(&visit.world.config).map_err(anyhow::Error::from)?;
    let store = visit.world.view_store()?;
    let view = store.view();
    match visit.asked.page {
        Page::Overview if visit.visitor.sight == Sight::Counts => overview::counts(visit, &view),
        Page::Overview => overview::all(visit, &view),
        Page::Jobs => jobs::page(visit, &view),
        Page::History => history::page(visit, &view),
        Page::Job => job::page(visit, &view),
        Page::Act => Err(Refusal::method("POST")),
    }
}
