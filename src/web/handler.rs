//! One visit, from the request to the response: the file if it is fresh, else what `request` answers.
//!
//! Requests that wait have seats: `http.max_waiters` of them, each one byte of a file that an open file can lock. The kernel
//! lets a lock go with its process, so a killed CGI program leaks no seat.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::AsFd,
    path::Path,
    time::Duration,
};

use nix::{
    fcntl::{FcntlArg, fcntl},
    libc,
};

use super::{
    client,
    file::OpenFile,
    negotiation::Wants,
    problem::WebProblem,
    reply::Reply,
    request::{Form, Method, WebRequest, moment, written},
    response::Response,
    url::Address,
    variables::{self, Variables},
};
use crate::{
    cache::Cached,
    config::{EnqueueOn, Exporter},
    context::{Context, explained_at},
    exit::Failure,
    logging,
    model::{
        age::{Freshness, freshness},
        answer::{Answer, State},
        clock::Stamp,
    },
    request::{self, Ask},
    site,
};

/// Why a visit ends early.
enum EarlyEnd {
    Refused(Answer),
    Problem(WebProblem),
    Failure(Failure),
}

impl From<WebProblem> for EarlyEnd {
    fn from(problem: WebProblem) -> Self {
        Self::Problem(problem)
    }
}

impl<E: Into<Failure>> From<E> for EarlyEnd {
    fn from(error: E) -> Self {
        Self::Failure(error.into())
    }
}

/// Answers one request.
pub(super) fn respond(context: &Context, variables: &Variables, input: impl Read + AsFd) -> Response {
    let mut visit = Handler {
        context,
        now: Stamp::now(),
        reply: Reply { rules: Some(&context.config.http), ..Reply::bare(variables) },
    };
    let answered = WebRequest::read(variables, input).map_err(EarlyEnd::from).and_then(|wish| visit.answer(wish));
    answered.unwrap_or_else(|stop| match stop {
        EarlyEnd::Refused(answer) => Reply { name: None, address: None, again: None, ..visit.reply }.answer(&answer),
        EarlyEnd::Problem(problem) => visit.reply.problem(&problem),
        EarlyEnd::Failure(failure) => visit.reply.failure(&explained_at(failure, &context.site)),
    })
}

struct Handler<'a> {
    context: &'a Context,
    now: Stamp,
    reply: Reply<'a>,
}

impl<'a> Handler<'a> {
    fn answer(&mut self, mut wish: WebRequest) -> Result<Response, EarlyEnd> {
        let rules = &self.context.config.http;
        self.reply.form = wish.form;
        let exporter = self.exporter(&wish)?;
        let ask = Ask::parse(&self.context.config, &wish.exporter, &wish.values).map_err(EarlyEnd::Refused)?;
        if wish.refresh && rules.refresh.is_some() {
            wish.after = Some(written(self.now));
        }
        let after = moment(wish.after.as_deref(), rules.refresh, self.now)?;
        let speculative = wish.method == Method::Head || self.is_speculative(&wish);
        let ask = Ask { after, no_enqueue: self.only_looks(&wish), speculative, ..ask };
        self.reply.name = Some(request::download_name(exporter, &ask.values));
        let address = wish.address(self.reply.variables);
        // A page that came back to a task would start it again and again.
        self.reply.again = Some(settled(&address, after));
        self.reply.address = self.reply.again.clone().filter(|_| !exporter.is_task());
        match wish.method {
            Method::Post if variables::is_from_elsewhere(self.reply.variables) => Err(WebProblem::Foreign.into()),
            Method::Post => self.post(&wish, &address, &ask),
            _ if wish.refresh && after.is_some() => Ok(see_other(&wish, &address)),
            _ => self.get(&wish, &ask),
        }
    }

    fn exporter(&self, wish: &WebRequest) -> Result<&'a Exporter, WebProblem> {
        let name = std::str::from_utf8(&wish.exporter).map_err(|_| WebProblem::Unknown)?;
        self.context.config.exporters.get(name).filter(|exporter| exporter.web).ok_or(WebProblem::Unknown)
    }

    fn only_looks(&self, wish: &WebRequest) -> bool {
        let by_button = self.context.config.http.enqueue_on == EnqueueOn::Post;
        wish.method != Method::Post && (by_button || wish.only_looks() || self.is_speculative(wish))
    }

    fn is_speculative(&self, wish: &WebRequest) -> bool {
        wish.method != Method::Post && variables::is_speculative(self.reply.variables)
    }

    /// What was queued is told by the GET that follows; what could not be queued, at once.
    fn post(&self, wish: &WebRequest, address: &Address, ask: &Ask) -> Result<Response, EarlyEnd> {
        let state = match self.fresh(ask)? {
            Some(_) => Answer::new(State::Ready),
            None => self.look_up(ask)?,
        };
        match state.state {
            State::Unavailable | State::Limited | State::Invalid | State::Unknown => Ok(self.reply.answer(&state)),
            _ => Ok(see_other(wish, address)),
        }
    }

    fn get(&self, wish: &WebRequest, ask: &Ask) -> Result<Response, EarlyEnd> {
        if let Some((file, cached)) = self.fresh(ask)? {
            return Ok(self.ready(wish, ask, file, cached));
        }
        let answer = self.look_up(ask)?;
        let answer = self.waited(wish, ask, answer)?;
        if answer.state != State::Ready {
            return Ok(self.reply.answer(&answer));
        }
        if ask.exporter.is_task() {
            return Ok(self.reply.done(&answer));
        }
        match self.context.cache.open(&ask.filename)? {
            Some((file, cached)) => Ok(self.ready(wish, ask, file, cached)),
            None => Ok(self.reply.answer(&Answer::new(State::Unavailable))),
        }
    }

    /// The file, opened, if it is fresh as it was opened and nothing more is asked of it.
    fn fresh(&self, ask: &Ask) -> Result<Option<(File, Cached)>, EarlyEnd> {
        if ask.after.is_some() || ask.exporter.is_task() {
            return Ok(None);
        }
        let opened = self.context.cache.open(&ask.filename)?;
        Ok(opened.filter(|(_, cached)| self.age(ask.exporter, cached) == Freshness::Fresh))
    }

    fn age(&self, exporter: &Exporter, cached: &Cached) -> Freshness {
        freshness(cached.made, self.now, exporter.ttl, exporter.stale)
    }

    fn ready(&self, wish: &WebRequest, ask: &Ask, file: File, cached: Cached) -> Response {
        if self.reply.wants() == Wants::Json || matches!(wish.form, Some(Form::Page(_))) {
            return self.reply.answer(&request::ready(ask, &cached, self.now));
        }
        let ready = OpenFile {
            file,
            filename: ask.filename.clone(),
            name: self.reply.name.clone().unwrap_or_default(),
            content_type: ask.exporter.file().map(|file| file.content_type.clone()).unwrap_or_default(),
            expires: ask.exporter.ttl.map(|ttl| cached.made.plus(ttl)),
            stale: self.age(ask.exporter, &cached) != Freshness::Fresh,
            cached,
        };
        ready.response(&self.context.config.http.sendfile, wish.method, self.reply.variables, self.now)
    }

    /// What does not fit its exporter is told as if nothing else had been said.
    fn look_up(&self, ask: &Ask) -> Result<Answer, EarlyEnd> {
        let answer = request::answer(self.context, ask, &|| self.client())?;
        match answer.state {
            State::Invalid | State::Unknown => Err(EarlyEnd::Refused(answer)),
            _ => Ok(answer),
        }
    }

    /// The visitor's name, which only a row needs.
    fn client(&self) -> Option<Vec<u8>> {
        let client = client::of(self.reply.variables, &self.context.config.http.client);
        if client.is_missing {
            self.note_missing();
        }
        client.name
    }

    /// Without what `http.client` names, all visitors behind a proxy are one client: an admin has to know.
    fn note_missing(&self) {
        match self.context.site.note_unnamed() {
            Ok(true) => logging::diagnostic_line(
                "the server does not set what client in [http] names; REMOTE_ADDR is taken instead",
            ),
            Ok(false) => {}
            Err(error) => logging::diagnostic_line(format_args!(
                "cannot note in {}: {error}",
                self.context.site.unnamed().display()
            )),
        }
    }

    /// Holds the answer while there is a seat and hope that it becomes a better one.
    fn waited(&self, wish: &WebRequest, ask: &Ask, answer: Answer) -> Result<Answer, EarlyEnd> {
        let rules = &self.context.config.http;
        let limit = wish.wait.unwrap_or_default().min(rules.max_wait);
        let pending = matches!(answer.state, State::Queued | State::Started);
        if !pending || limit == Duration::ZERO || ask.speculative || wish.method != Method::Get {
            return Ok(answer);
        }
        match self.seat() {
            Some(_seat) => Ok(request::until_settled(self.context, ask, answer, limit)?),
            None => Ok(answer),
        }
    }

    /// A seat for one who waits. Where there can be none, the answer comes at once.
    fn seat(&self) -> Option<Slot> {
        let file = self.context.site.waiters();
        take(&file, self.context.config.http.max_waiters).unwrap_or_else(|error| {
            logging::diagnostic_line(format_args!(
                "cannot use {}: {error}; nobody can wait for a file",
                file.display()
            ));
            None
        })
    }
}

/// The address for whoever comes back: with the moment that counts now, as "younger than a minute" would mean another
/// one each time.
fn settled(address: &Address, after: Option<Stamp>) -> Address {
    // Its last digit will be counted up again.
    after.map_or_else(|| address.clone(), |after| address.with("after", &written(after.plus_ms(-1))))
}

/// On to the same thing by GET.
fn see_other(wish: &WebRequest, address: &Address) -> Response {
    let onward = wish.manner().into_iter().fold(address.clone(), |address, (word, value)| address.with(word, &value));
    Response::passing(303).with("Location", onward.to_string()).with("Content-Length", "0")
}

/// A seat; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    _file: File,
}

/// Takes a free seat of `many` in `file`, which is made if it is not there. `None`: all are taken.
pub(super) fn take(file: &Path, many: u32) -> io::Result<Option<Slot>> {
    let file = site::open_shared(file)?;
    let free = (0..many).any(|seat| lock(&file, seat));
    Ok(free.then_some(Slot { _file: file }))
}

fn lock(file: &File, seat: u32) -> bool {
    #[expect(clippy::cast_possible_truncation, reason = "both are small; C only has other types for them")]
    let byte = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: seat.into(),
        l_len: 1,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_OFD_SETLK(&byte)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_seats_as_configured() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("waiters");
        let first = take(&file, 2).unwrap();
        let second = take(&file, 2).unwrap();
        assert!(first.is_some() && second.is_some());
        assert!(take(&file, 2).unwrap().is_none());
        drop(first);
        assert!(take(&file, 2).unwrap().is_some());
        assert!(take(&file, 0).unwrap().is_none());
    }
}
