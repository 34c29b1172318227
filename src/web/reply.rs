//! An answer, a refusal or an error as a response in the form that the client wants: JSON, a line of text or a page.

use serde_json::{Map, Value, json};

use super::{
    negotiation::{self, Representation},
    page::{self, PageSubject},
    problem::WebProblem,
    request::Format,
    response::Response,
    translations::{Templates, Words},
    url::{self, Address},
    variables::{self, Variables},
};
use crate::{
    config::{EnqueueOn, HttpRules},
    exit::{Exit, Failure},
    logging,
    model::{
        answer::{Answer, State},
        misfit::Misfit,
    },
    request::output,
};

/// What is known of a request when its response is made.
#[derive(Clone, Debug)]
pub(super) struct Reply<'a> {
    pub(super) variables: &'a Variables,
    /// `None`: there is no usable configuration.
    pub(super) rules: Option<&'a HttpRules>,
    pub(super) format: Option<Format>,
    /// The file's name for the visitor.
    pub(super) name: Option<String>,
    /// Where a page reloads itself, and where the file will be.
    pub(super) address: Option<Address>,
    /// Where the visitor can request the same again. A task has one, too.
    pub(super) again: Option<Address>,
}

impl<'a> Reply<'a> {
    /// Before the request and the configuration have been read.
    pub(super) fn bare(variables: &'a Variables) -> Self {
        let query = url::decode(variables.query());
        let wants_json = query.iter().any(|(name, value)| name == b"format" && matches!(&**value, b"json" | b"look"));
        let format = wants_json.then_some(Format::Json);
        Self { variables, rules: None, format, name: None, address: None, again: None }
    }

    /// The response to an answer of `request`.
    pub(super) fn answer(&self, answer: &Answer) -> Response {
        let response =
            Response::no_store(self.status(answer.state)).with_optional("Retry-After", self.retry_after(answer));
        let reason = answer.misfit.as_ref().map(Misfit::for_visitors);
        let answer = Answer { reason: reason.or_else(|| answer.reason.clone()), ..answer.clone() };
        self.respond(response, page::state_word(answer.state), &answer)
    }

    /// A task has been carried out; there is nothing to download.
    pub(super) fn done(&self, answer: &Answer) -> Response {
        self.respond(Response::no_store(200), "done", answer)
    }

    pub(super) fn problem(&self, problem: &WebProblem) -> Response {
        let allow = (*problem == WebProblem::Method).then_some("GET, HEAD, POST");
        let answer = problem.answer();
        let response = Response::no_store(problem.status()).with_optional("Allow", allow);
        self.respond(response, page::state_word(answer.state), &answer)
    }

    /// The details of a failure go to the server's error log; the visitor sees only a status, or that the database is busy.
    pub(super) fn failure(&self, failure: &Failure) -> Response {
        if failure.exit == Exit::Unavailable {
            return self.answer(&Answer::because(State::Unavailable, "the database is busy"));
        }
        if let Some(error) = &failure.error {
            logging::diagnostic_line(format_args!("{error:#}"));
        }
        self.internal_error()
    }

    pub(super) fn internal_error(&self) -> Response {
        let response = Response::no_store(500);
        if self.representation() == Representation::Json {
            let object = json!({ "state": "error", "reason": "server error" });
            return response.text("application/json", format!("{object}\n"));
        }
        self.respond(response, "error", &Answer::new(State::Unavailable))
    }

    /// The status of an answer. While there is no file, HEAD gets 202, since a GET will have the file made; a prefetch gets
    /// 503, so that the browser discards it and sends the real request; and so does a client that would save a line of text
    /// as the file.
    fn status(&self, state: State) -> u16 {
        let (defaults, pending) = (HttpRules::default(), matches!(state, State::Queued | State::Started));
        let rules = self.rules.unwrap_or(&defaults);
        match state {
            _ if !pending && state != State::Absent => status(state, rules),
            _ if variables::is_speculative(self.variables) => 503,
            _ if self.variables.is_head() => 202,
            _ if pending && self.representation() == Representation::Line => rules.pending_status,
            _ => status(state, rules),
        }
    }

    fn retry_after(&self, answer: &Answer) -> Option<u64> {
        retry_after(answer).or_else(|| (self.status(answer.state) == 503).then_some(DEFAULT_RETRY))
    }

    /// The form of the answer, by `format=` or else by `Accept`.
    pub(super) fn representation(&self) -> Representation {
        let named = || negotiation::representation(self.variables.text("HTTP_ACCEPT").unwrap_or_default());
        match self.format {
            Some(Format::Json | Format::Look) => Representation::Json,
            Some(Format::Page(_)) => Representation::Page,
            // A client that wants the file itself would take JSON for it.
            Some(Format::File) if named() != Representation::Page => Representation::Line,
            _ if variables::is_speculative(self.variables) => Representation::Line,
            _ => named(),
        }
    }

    fn respond(&self, response: Response, state: &'static str, answer: &Answer) -> Response {
        match self.representation() {
            Representation::Json => response.text("application/json", json(answer, self.address.as_ref())),
            Representation::Line => line(response, self.templates(), self.language(), state, answer),
            Representation::Page => self.page(response, state, answer),
        }
    }

    fn templates(&self) -> Templates<'a> {
        Templates::new(self.rules.and_then(|rules| rules.templates.as_deref()))
    }

    fn language(&self) -> &'a str {
        self.variables.text("HTTP_ACCEPT_LANGUAGE").unwrap_or_default()
    }

    fn page(&self, response: Response, state: &'static str, answer: &Answer) -> Response {
        let reloads = if let Some(Format::Page(reloads)) = self.format { reloads } else { 0 };
        let by_button = self.rules.is_some_and(|rules| rules.enqueue_on == EnqueueOn::Post);
        let posted = self.variables.text("REQUEST_METHOD") == Some("POST");
        // What failed before the request was understood may succeed the next time.
        let itself = (state == "error" && !posted).then(|| Address::itself(self.variables));
        let again = self.again.clone().or(itself);
        let (name, address, again) = (self.name.as_deref(), self.address.as_ref(), again.as_ref());
        let back = &*url::back(self.variables);
        let subject = PageSubject { state, answer, name, address, again, back, reloads, by_button, posted };
        page(response, self.templates(), self.language(), &subject)
    }
}

/// `Retry-After` in seconds where an answer names no time.
const DEFAULT_RETRY: u64 = 30;

/// The status of an answer. For a ready file it is that of the JSON or the page about it.
const fn status(state: State, rules: &HttpRules) -> u16 {
    match state {
        State::Ready => 200,
        State::Queued | State::Started => 202,
        State::FailedUnknown => rules.failed_status.0,
        State::FailedTimeout => rules.failed_status.1,
        State::Absent | State::Unknown => 404,
        State::Unavailable => 503,
        State::Limited => 429,
        State::Invalid => 400,
    }
}

/// Seconds for `Retry-After`, in the states that may change.
fn retry_after(answer: &Answer) -> Option<u64> {
    match answer.state {
        State::Ready | State::Absent | State::Invalid | State::Unknown => None,
        _ => Some(answer.retry_after.unwrap_or(DEFAULT_RETRY)),
    }
}

/// The JSON of an answer; for a ready file with its address in place of its path.
fn json(answer: &Answer, address: Option<&Address>) -> String {
    let mut object: Map<String, Value> = output::object(answer);
    object.remove("path");
    if let (State::Ready, Some(address)) = (answer.state, address) {
        object.insert("url".to_owned(), json!(address.with("format", "file").to_string()));
    }
    format!("{}\n", Value::Object(object))
}

/// `Content-Security-Policy`: pages may load nothing from elsewhere; with templates of the site also files of the site.
fn policy(templates: Templates, nonce: &str) -> String {
    let (own, style) = if templates.are_own() { ("; img-src 'self'; font-src 'self'", " 'self'") } else { ("", "") };
    format!(
        "default-src 'none'; style-src 'nonce-{nonce}'{style}; script-src 'nonce-{nonce}'; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'self'{own}"
    )
}

/// One line of text: the name of the state, for programs, and what it means in the reader's language.
fn line(
    response: Response,
    templates: Templates,
    accept_language: &str,
    state: &'static str,
    answer: &Answer,
) -> Response {
    let words = Words::choose(templates, accept_language);
    let message = page::message(&words, answer);
    let separator = if message.is_empty() { "" } else { ": " };
    let text = format!("{state}: {}{separator}{message}", words.text(state, "title"));
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    response.with("Content-Language", &*words.language).text("text/plain; charset=utf-8", text + "\n")
}

/// A page in the reader's language, with its policy.
fn page(response: Response, templates: Templates, accept_language: &str, subject: &PageSubject) -> Response {
    let words = Words::choose(templates, accept_language);
    // Without random numbers the page has no style and no script.
    let nonce = crate::supervise::nonce().unwrap_or_default();
    let text = page::render(templates, &words, subject, &nonce);
    response
        .with("Content-Language", &*words.language)
        .with("Content-Security-Policy", policy(templates, &nonce))
        .with("Referrer-Policy", "same-origin")
        .text("text/html; charset=utf-8", text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::{request::WebRequest, variables::Variables};

    #[test]
    fn every_state_has_its_status() {
        let rules = HttpRules { failed_status: (502, 404), ..HttpRules::default() };
        let of = |state| status(state, &rules);
        assert_eq!([State::Ready, State::Queued, State::Started].map(of), [200, 202, 202]);
        assert_eq!([State::FailedUnknown, State::FailedTimeout].map(of), [502, 404]);
        assert_eq!([State::Absent, State::Unknown, State::Invalid].map(of), [404, 404, 400]);
        assert_eq!([State::Unavailable, State::Limited].map(of), [503, 429]);
    }

    #[test]
    fn a_refusal_always_says_when_to_come_back() {
        assert_eq!(retry_after(&Answer::new(State::Unavailable)), Some(DEFAULT_RETRY));
        assert_eq!(retry_after(&Answer { retry_after: Some(7), ..Answer::new(State::Queued) }), Some(7));
        assert_eq!(retry_after(&Answer::new(State::Invalid)), None);
    }

    #[test]
    fn no_path_leaves_the_server() {
        let (reader, _) = std::io::pipe().unwrap();
        let variables = Variables::of(&[
            ("REQUEST_METHOD", "GET"),
            ("REQUEST_URI", "/x/epub?t=1"),
            ("PATH_INFO", "/epub"),
            ("QUERY_STRING", "t=1"),
        ]);
        let address = WebRequest::read(&variables, reader).unwrap().address(&variables);
        let answer = Answer { path: Some("/srv/secret".into()), ..Answer::new(State::Ready) };
        let json = json(&answer, Some(&address));
        assert_eq!(json, "{\"stale\":false,\"state\":\"ready\",\"url\":\"/x/epub?t=1&format=file\"}\n");
    }
}
