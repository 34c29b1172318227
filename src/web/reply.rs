//! Saying an answer in the form that the visitor wants, faults included.

use super::{
    accept::{self, Wants},
    log,
    page::{self, PageSubject},
    problem::WebProblem,
    query,
    request::Form,
    response::Response,
    say, speculative,
    templates::Templates,
    url::{self, Address},
    variables::Variables,
};
use crate::{
    config::{EnqueueOn, HttpRules},
    exit::{Exit, Failure},
    model::{
        answer::{Answer, State},
        misfit::Misfit,
    },
};

/// What is known of the request when its answer is said.
#[derive(Clone, Debug)]
pub(super) struct Reply<'a> {
    pub(super) variables: &'a Variables,
    /// `None`: there is no usable configuration.
    pub(super) rules: Option<&'a HttpRules>,
    pub(super) form: Option<Form>,
    /// The file's name for the visitor.
    pub(super) name: Option<String>,
    /// Where a page comes back to by itself, and where the file will be.
    pub(super) address: Option<Address>,
    /// Where the visitor can ask for the same again. A task has one too.
    pub(super) again: Option<Address>,
}

impl<'a> Reply<'a> {
    pub(super) fn bare(variables: &'a Variables) -> Self {
        let query = query::decode(variables.query());
        let wants_json = query.iter().any(|(name, value)| name == b"format" && matches!(&**value, b"json" | b"look"));
        let form = wants_json.then_some(Form::Json);
        Self { variables, rules: None, form, name: None, address: None, again: None }
    }

    /// An answer in the words of `request`.
    pub(super) fn answer(&self, answer: &Answer) -> Response {
        let response = Response::passing(self.status(answer.state)).maybe("Retry-After", self.retry_after(answer));
        let reason = answer.misfit.as_ref().map(Misfit::for_visitors);
        let told = Answer { reason: reason.or_else(|| answer.reason.clone()), ..answer.clone() };
        self.said(response, page::state_word(answer.state), &told)
    }

    /// A task has been carried out; there is nothing to fetch.
    pub(super) fn done(&self, answer: &Answer) -> Response {
        self.said(Response::passing(200), "done", answer)
    }

    pub(super) fn problem(&self, problem: &WebProblem) -> Response {
        let allow = (*problem == WebProblem::Method).then_some("GET, HEAD, POST");
        let answer = problem.answer();
        let response = Response::passing(problem.status()).maybe("Allow", allow);
        self.said(response, page::state_word(answer.state), &answer)
    }

    /// A failure is the administrator's to read and only a status for the visitor, unless it will pass.
    pub(super) fn failure(&self, failure: &Failure) -> Response {
        if failure.exit == Exit::Unavailable {
            return self.answer(&Answer::because(State::Unavailable, "the database is busy"));
        }
        if let Some(error) = &failure.error {
            log::line(format_args!("{error:#}"));
        }
        self.fault()
    }

    pub(super) fn fault(&self) -> Response {
        let response = Response::passing(500);
        if self.wants() == Wants::Json {
            let text = "{\"reason\":\"the server has a fault\",\"state\":\"error\"}\n";
            return response.text("application/json", text.to_owned());
        }
        self.said(response, "error", &Answer::new(State::Unavailable))
    }

    /// The status of an answer. Where there is nothing yet, who only looks is told that there may be (HEAD), or that the
    /// visit itself has to come (a prefetch, which a browser then throws away); and what is no page is not sent to a client
    /// who would save it as the file.
    fn status(&self, state: State) -> u16 {
        let (defaults, pending) = (HttpRules::default(), matches!(state, State::Queued | State::Started));
        let rules = self.rules.unwrap_or(&defaults);
        match state {
            _ if !pending && state != State::Absent => say::status(state, rules),
            _ if speculative::is_speculative(self.variables) => 503,
            _ if self.variables.is_head() => 202,
            _ if pending && self.wants() == Wants::Line => rules.pending_status,
            _ => say::status(state, rules),
        }
    }

    fn retry_after(&self, answer: &Answer) -> Option<u64> {
        say::retry_after(answer).or_else(|| (self.status(answer.state) == 503).then_some(say::SOON))
    }

    /// What the client can use, by `format=` or else by `Accept`.
    pub(super) fn wants(&self) -> Wants {
        let named = || accept::wants(self.variables.text("HTTP_ACCEPT").unwrap_or_default());
        match self.form {
            Some(Form::Json | Form::Look) => Wants::Json,
            Some(Form::Page(_)) => Wants::Page,
            // Who wants the file itself would take JSON for it.
            Some(Form::File) if named() != Wants::Page => Wants::Line,
            _ if speculative::is_speculative(self.variables) => Wants::Line,
            _ => named(),
        }
    }

    fn said(&self, response: Response, state: &'static str, answer: &Answer) -> Response {
        match self.wants() {
            Wants::Json => response.text("application/json", say::json(answer, self.address.as_ref())),
            Wants::Line => say::line(response, self.templates(), self.language(), state, answer),
            Wants::Page => self.page(response, state, answer),
        }
    }

    fn templates(&self) -> Templates<'a> {
        Templates::new(self.rules.and_then(|rules| rules.templates.as_deref()))
    }

    fn language(&self) -> &'a str {
        self.variables.text("HTTP_ACCEPT_LANGUAGE").unwrap_or_default()
    }

    fn page(&self, response: Response, state: &'static str, answer: &Answer) -> Response {
        let turn = if let Some(Form::Page(turn)) = self.form { turn } else { 0 };
        let by_button = self.rules.is_some_and(|rules| rules.enqueue_on == EnqueueOn::Post);
        let posted = self.variables.text("REQUEST_METHOD") == Some("POST");
        // What went wrong before the request was understood may go well the next time.
        let itself = (state == "error" && !posted).then(|| Address::itself(self.variables));
        let again = self.again.clone().or(itself);
        let (name, address, again) = (self.name.as_deref(), self.address.as_ref(), again.as_ref());
        let back = &*url::back(self.variables);
        let subject = PageSubject { state, answer, name, address, again, back, turn, by_button, posted };
        say::page(response, self.templates(), self.language(), &subject)
    }
}
