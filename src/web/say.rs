//! An answer that is no file, for a program or for a browser.

use serde_json::{Map, Value, json};

use super::{
    page::{self, PageSubject},
    response::Response,
    templates::Templates,
    translations::Words,
    url::Address,
};
use crate::{
    config::HttpRules,
    model::answer::{Answer, State},
    request::output,
};

/// Seconds after which a refusal that does not say when may be over.
pub(super) const SOON: u64 = 30;

/// The status of an answer. A ready file's is that of the JSON or the page about it.
pub(super) const fn status(state: State, rules: &HttpRules) -> u16 {
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

/// Seconds for `Retry-After`, in the states in which asking again makes sense.
pub(super) fn retry_after(answer: &Answer) -> Option<u64> {
    match answer.state {
        State::Ready | State::Absent | State::Invalid | State::Unknown => None,
        _ => Some(answer.retry_after.unwrap_or(SOON)),
    }
}

/// The JSON of an answer: where it is ready, an address in place of the path.
pub(super) fn json(answer: &Answer, address: Option<&Address>) -> String {
    let mut object: Map<String, Value> = output::object(answer);
    object.remove("path");
    if let (State::Ready, Some(address)) = (answer.state, address) {
        object.insert("url".to_owned(), json!(address.with("format", "file").to_string()));
    }
    format!("{}\n", Value::Object(object))
}

/// Pages may load nothing from elsewhere; a site's own pages may load what lies on the site.
fn policy(templates: Templates, nonce: &str) -> String {
    let (own, style) = if templates.are_own() { ("; img-src 'self'; font-src 'self'", " 'self'") } else { ("", "") };
    format!(
        "default-src 'none'; style-src 'nonce-{nonce}'{style}; script-src 'nonce-{nonce}'; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'self'{own}"
    )
}

/// One line of text: the state's name for programs, and what it means in the reader's language.
pub(super) fn line(
    response: Response,
    templates: Templates,
    accept_language: &str,
    state: &'static str,
    answer: &Answer,
) -> Response {
    let words = Words::choose(templates, accept_language);
    let message = page::message(&words, answer);
    let between = if message.is_empty() { "" } else { ": " };
    let text = format!("{state}: {}{between}{message}", words.text(state, "title"));
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    response.with("Content-Language", &*words.language).text("text/plain; charset=utf-8", text + "\n")
}

/// A page over the headers that are there already.
pub(super) fn page(response: Response, templates: Templates, accept_language: &str, subject: &PageSubject) -> Response {
    let words = Words::choose(templates, accept_language);
    // Without random numbers the page has no style.
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
        assert_eq!(retry_after(&Answer::new(State::Unavailable)), Some(SOON));
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
        let address = Address::of(&variables, &WebRequest::read(&variables, reader).unwrap());
        let answer = Answer { path: Some("/srv/secret".into()), ..Answer::new(State::Ready) };
        let json = json(&answer, Some(&address));
        assert_eq!(json, "{\"stale\":false,\"state\":\"ready\",\"url\":\"/x/epub?t=1&format=file\"}\n");
    }
}
