//! Saying an answer in the form that the visitor wants, faults included.

use super::{
    accept, log,
    page::{self, Subject},
    problem::Problem,
    query,
    response::Response,
    say,
    templates::Templates,
    url::Address,
    variables::Variables,
    wish::Form,
};
use crate::{
    config::{EnqueueOn, HttpRules, for_visitors},
    exit::{Exit, Failure},
    model::answer::{Answer, State},
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
    pub(super) address: Option<Address>,
}

impl<'a> Reply<'a> {
    pub(super) fn bare(variables: &'a Variables) -> Self {
        let query = query::decode(variables.query());
        let wants_json = query.iter().any(|(name, value)| name == b"format" && matches!(&**value, b"json" | b"look"));
        let form = wants_json.then_some(Form::Json);
        Self { variables, rules: None, form, name: None, address: None }
    }

    /// An answer in the words of `request`.
    pub(super) fn answer(&self, answer: &Answer) -> Response {
        let defaults = HttpRules::default();
        let status = say::status(answer.state, self.rules.unwrap_or(&defaults));
        let response = Response::passing(status).maybe("Retry-After", say::retry_after(answer));
        let reason = answer.reason.as_deref().filter(|_| answer.state == State::Invalid).map(for_visitors);
        let told = Answer { reason: reason.or_else(|| answer.reason.clone()), ..answer.clone() };
        self.said(response, page::state_word(answer.state), &told)
    }

    /// A task has been carried out; there is nothing to fetch.
    pub(super) fn done(&self, answer: &Answer) -> Response {
        self.said(Response::passing(200), "done", answer)
    }

    pub(super) fn problem(&self, problem: &Problem) -> Response {
        let allow = (*problem == Problem::Method).then_some("GET, HEAD, POST");
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
        if self.wants_json() {
            let text = "{\"reason\":\"the server has a fault\",\"state\":\"error\"}\n";
            return response.text("application/json", text.to_owned());
        }
        self.page(response, "error", &Answer::new(State::Unavailable))
    }

    /// Whether a program asks, by `format=` or else by `Accept`.
    pub(super) fn wants_json(&self) -> bool {
        match self.form {
            Some(form) => matches!(form, Form::Json | Form::Look),
            None => accept::wants_json(self.variables.text("HTTP_ACCEPT").unwrap_or_default()),
        }
    }

    fn said(&self, response: Response, state: &'static str, answer: &Answer) -> Response {
        if self.wants_json() {
            return response.text("application/json", say::json(answer, self.address.as_ref()));
        }
        self.page(response, state, answer)
    }

    fn page(&self, response: Response, state: &'static str, answer: &Answer) -> Response {
        let turn = if let Some(Form::Page(turn)) = self.form { turn } else { 0 };
        let by_button = self.rules.is_some_and(|rules| rules.enqueue_on == EnqueueOn::Post);
        let (name, address) = (self.name.as_deref(), self.address.as_ref());
        let subject = Subject { state, answer, name, address, turn, by_button };
        let templates = Templates::new(self.rules.and_then(|rules| rules.templates.as_deref()));
        let language = self.variables.text("HTTP_ACCEPT_LANGUAGE").unwrap_or_default();
        say::page(response, templates, language, &subject)
    }
}
