//! One request of a visitor, up to its response: the file if it is fresh, else what `request` answers.
//!
//! A request that waits holds one of `http.max_waiters` slots: a lock on one byte of a file. The kernel releases the lock
//! with the process, so a killed CGI program leaks no slot.

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
    negotiation::Representation,
    problem::WebProblem,
    reply::Reply,
    request::{Format, Method, WebRequest, moment, written},
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

/// Why a request ends early.
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
    let mut handler = Handler {
        context,
        now: Stamp::now(),
        reply: Reply { rules: Some(&context.config.http), ..Reply::bare(variables) },
    };
    let answered =
        WebRequest::read(variables, input).map_err(EarlyEnd::from).and_then(|request| handler.answer(request));
    answered.unwrap_or_else(|end| match end {
        EarlyEnd::Refused(answer) => Reply { name: None, address: None, again: None, ..handler.reply }.answer(&answer),
        EarlyEnd::Problem(problem) => handler.reply.problem(&problem),
        EarlyEnd::Failure(failure) => handler.reply.failure(&explained_at(failure, &context.site)),
    })
}

struct Handler<'a> {
    context: &'a Context,
    now: Stamp,
    reply: Reply<'a>,
}

impl<'a> Handler<'a> {
    fn answer(&mut self, mut request: WebRequest) -> Result<Response, EarlyEnd> {
        self.reply.format = request.format;
        let ask = self.ask(&mut request)?;
        let address = request.address(self.reply.variables);
        self.reply.name = Some(request::download_name(ask.exporter, &ask.values));
        // A page that reloaded a task would start it again and again.
        self.reply.again = Some(settled(&address, ask.after));
        self.reply.address = self.reply.again.clone().filter(|_| !ask.exporter.is_task());
        match request.method {
            Method::Post if variables::is_from_elsewhere(self.reply.variables) => Err(WebProblem::Foreign.into()),
            Method::Post => self.post(&request, &address, &ask),
            _ if request.refresh && ask.after.is_some() => Ok(see_other(&request, &address)),
            _ => self.get(&request, &ask),
        }
    }

    /// What the request asks of an exporter that is there for visitors. `refresh=1` becomes an `after` of this moment.
    fn ask(&self, request: &mut WebRequest) -> Result<Ask<'a>, EarlyEnd> {
        let config = &self.context.config;
        self.check_exporter(request)?;
        let ask = Ask::parse(config, &request.exporter, &request.values).map_err(EarlyEnd::Refused)?;
        if request.refresh && config.http.refresh.is_some() {
            request.after = Some(written(self.now));
        }
        let after = moment(request.after.as_deref(), config.http.refresh, self.now)?;
        let speculative = request.method == Method::Head || self.is_speculative(request);
        Ok(Ask { after, no_enqueue: self.must_not_enqueue(request), speculative, ..ask })
    }

    fn check_exporter(&self, request: &WebRequest) -> Result<(), WebProblem> {
        let exporter =
            std::str::from_utf8(&request.exporter).ok().and_then(|name| self.context.config.exporters.get(name));
        if exporter.is_some_and(|exporter| exporter.web) { Ok(()) } else { Err(WebProblem::Unknown) }
    }

    fn must_not_enqueue(&self, request: &WebRequest) -> bool {
        let by_button = self.context.config.http.enqueue_on == EnqueueOn::Post;
        request.method != Method::Post && (by_button || request.must_not_enqueue() || self.is_speculative(request))
    }

    fn is_speculative(&self, request: &WebRequest) -> bool {
        request.method != Method::Post && variables::is_speculative(self.reply.variables)
    }

    /// Redirects to the GET that shows the state; a refusal is the answer itself.
    fn post(&self, request: &WebRequest, address: &Address, ask: &Ask) -> Result<Response, EarlyEnd> {
        let state = match self.fresh(ask)? {
            Some(_) => Answer::new(State::Ready),
            None => self.look_up(ask)?,
        };
        match state.state {
            State::Unavailable | State::Limited | State::Invalid | State::Unknown => Ok(self.reply.answer(&state)),
            _ => Ok(see_other(request, address)),
        }
    }

    fn get(&self, request: &WebRequest, ask: &Ask) -> Result<Response, EarlyEnd> {
        if let Some((file, cached)) = self.fresh(ask)? {
            return Ok(self.ready(request, ask, file, cached));
        }
        let answer = self.look_up(ask)?;
        let answer = self.wait(request, ask, answer)?;
        if answer.state != State::Ready {
            return Ok(self.reply.answer(&answer));
        }
        if ask.exporter.is_task() {
            return Ok(self.reply.done(&answer));
        }
        match self.context.cache.open(&ask.filename)? {
            Some((file, cached)) => Ok(self.ready(request, ask, file, cached)),
            None => Ok(self.reply.answer(&Answer::new(State::Unavailable))),
        }
    }

    /// The file, opened, if it is fresh and the request demands no newer one. Its age is judged by the file that was opened.
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

    fn ready(&self, request: &WebRequest, ask: &Ask, file: File, cached: Cached) -> Response {
        if self.reply.representation() == Representation::Json || matches!(request.format, Some(Format::Page(_))) {
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
        ready.response(&self.context.config.http.sendfile, request.method, self.reply.variables, self.now)
    }

    /// A request that does not fit its exporter ends early: its answer names no file and no address.
    fn look_up(&self, ask: &Ask) -> Result<Answer, EarlyEnd> {
        let answer = request::answer(self.context, ask, &|| self.client())?;
        match answer.state {
            State::Invalid | State::Unknown => Err(EarlyEnd::Refused(answer)),
            _ => Ok(answer),
        }
    }

    /// The client to whom a queued job is counted.
    fn client(&self) -> Option<Vec<u8>> {
        let client = client::of(self.reply.variables, &self.context.config.http.client);
        if client.is_missing {
            self.note_missing_client();
        }
        client.name
    }

    /// Where the variable that `http.client` names is missing, all visitors behind a proxy are one client: an administrator
    /// has to know.
    fn note_missing_client(&self) {
        match self.context.site.note_unnamed() {
            Ok(true) => logging::diagnostic_line(
                "the web server does not set the variable that client in [http] names; REMOTE_ADDR is used instead",
            ),
            Ok(false) => {}
            Err(error) => logging::diagnostic_line(format_args!(
                "cannot write {}: {error}",
                self.context.site.unnamed().display()
            )),
        }
    }

    /// Waits for a better answer, as long as the request allows and if a slot is free.
    fn wait(&self, request: &WebRequest, ask: &Ask, answer: Answer) -> Result<Answer, EarlyEnd> {
        let rules = &self.context.config.http;
        let limit = request.wait.unwrap_or_default().min(rules.max_wait);
        let pending = matches!(answer.state, State::Queued | State::Started);
        if !pending || limit == Duration::ZERO || ask.speculative || request.method != Method::Get {
            return Ok(answer);
        }
        match self.slot() {
            Some(_slot) => Ok(request::until_settled(self.context, ask, answer, limit)?),
            None => Ok(answer),
        }
    }

    /// A slot to wait in. Without one the answer is sent at once.
    fn slot(&self) -> Option<WaitSlot> {
        let file = self.context.site.waiters();
        take_slot(&file, self.context.config.http.max_waiters).unwrap_or_else(|error| {
            logging::diagnostic_line(format_args!(
                "cannot use {}: {error}; requests are answered without waiting",
                file.display()
            ));
            None
        })
    }
}

/// The address for later requests. It has the moment that `after` means now, as "younger than a minute" would mean
/// another moment each time.
fn settled(address: &Address, after: Option<Stamp>) -> Address {
    // The moment is rounded up when it is read again.
    after.map_or_else(|| address.clone(), |after| address.with("after", &written(after.plus_ms(-1))))
}

/// Redirects to the same address by GET.
fn see_other(request: &WebRequest, address: &Address) -> Response {
    let onward =
        request.answer_options().into_iter().fold(address.clone(), |address, (word, value)| address.with(word, &value));
    Response::no_store(303).with("Location", onward.to_string()).with("Content-Length", "0")
}

/// A slot; it is free again when this is dropped.
#[derive(Debug)]
struct WaitSlot {
    _file: File,
}

/// Takes a free one of `many` slots in `file`, which is created if it is missing. `None`: all are taken.
fn take_slot(file: &Path, many: u32) -> io::Result<Option<WaitSlot>> {
    let file = site::open_shared(file)?;
    let free = (0..many).any(|slot| lock(&file, slot));
    Ok(free.then_some(WaitSlot { _file: file }))
}

fn lock(file: &File, slot: u32) -> bool {
    #[expect(clippy::cast_possible_truncation, reason = "both are small; C only has other types for them")]
    let byte = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: slot.into(),
        l_len: 1,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_OFD_SETLK(&byte)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_slots_as_configured() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("waiters");
        let first = take_slot(&file, 2).unwrap();
        let second = take_slot(&file, 2).unwrap();
        assert!(first.is_some() && second.is_some());
        assert!(take_slot(&file, 2).unwrap().is_none());
        drop(first);
        assert!(take_slot(&file, 2).unwrap().is_some());
        assert!(take_slot(&file, 0).unwrap().is_none());
    }
}
