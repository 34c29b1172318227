//! Pages: the frame that they share, and the headers that keep everything else out of them.
//!
//! In text from outside, control characters and direction marks are shown as escapes, and what is too long for a page is
//! cut. Markup is escaped by the templates.

use minijinja::{Environment, UndefinedBehavior, Value, context};
use serde_json::json;

use super::{
    StatusHandler, actions,
    request::{StatusPage, StatusRefusal, StatusRequest},
};
use crate::{
    admin::status,
    model::{clock::Stamp, format, safe},
    store::View,
    web::{
        negotiation,
        response::Response,
        url,
        variables::{self, Variables},
    },
};

/// A file that is built in.
macro_rules! template {
    ($name:literal) => {
        ($name, include_str!(concat!("pages/", $name)))
    };
}

const TEMPLATES: [(&str, &str); 8] = [
    template!("base.html"),
    template!("parts.html"),
    template!("overview.html"),
    template!("counts.html"),
    template!("jobs.html"),
    template!("history.html"),
    template!("job.html"),
    template!("refusal.html"),
];

const STYLE: &str = include_str!("pages/style.css");

const LINKS: [(StatusPage, &str); 3] =
    [(StatusPage::Overview, "Overview"), (StatusPage::Jobs, "Jobs"), (StatusPage::History, "History")];

/// What the frame of a page shows.
struct Frame<'a> {
    title: &'a str,
    user: Option<&'a [u8]>,
    current: Option<StatusPage>,
    notice: Option<String>,
    now: Stamp,
}

/// A page with these values.
pub(super) fn page(
    handler: &StatusHandler,
    view: &View,
    title: &str,
    template: &str,
    values: Value,
) -> Result<Response, StatusRefusal> {
    let notice = actions::notice(handler, view)?.map(|notice| line(&notice));
    let frame =
        Frame { title, user: handler.visitor.user, current: Some(handler.request.page), notice, now: handler.now };
    Ok(render(Response::no_store(200), &frame, template, values)?)
}

/// The sentence of a refusal, as JSON or as a page. Anonymous visitors get it as a line of text.
pub(super) fn refusal(variables: &Variables, refusal: &StatusRefusal) -> Response {
    let user = variables::user(variables);
    let response = Response::no_store(refusal.status).with_optional("Allow", refusal.allow);
    let response = response.with_optional("Retry-After", (refusal.status == 503).then_some(30));
    let sentence = if user.is_some() { line(&refusal.sentence) } else { refusal.public_sentence().to_owned() };
    if wants_json(variables, StatusRequest::read(variables).ok().as_ref()) {
        return response.text("application/json", in_json(refusal.status, &sentence));
    }
    if user.is_none() {
        return guarded(response, "").text("text/plain; charset=utf-8", format!("{sentence}\n"));
    }
    let frame = Frame { title: "Request refused", user, current: None, notice: None, now: Stamp::now() };
    let plain = format!("{sentence}\n");
    render(response, &frame, "refusal.html", context! { sentence })
        .unwrap_or_else(|_| Response::no_store(500).text("text/plain; charset=utf-8", plain))
}

/// Whether the client wants JSON, by `format=json` or else by `Accept`.
pub(super) fn wants_json(variables: &Variables, request: Option<&StatusRequest>) -> bool {
    let format = request.and_then(|request| request.get("format").ok()).flatten();
    let accept = || {
        negotiation::representation(variables.text("HTTP_ACCEPT").unwrap_or_default())
            == negotiation::Representation::Json
    };
    format.map_or_else(accept, |format| format == "json")
}

fn in_json(status: u16, sentence: &str) -> String {
    let object =
        if status < 500 { json!({ "state": "error", "reason": sentence }) } else { status::json::broken(sentence) };
    format!("{object}\n")
}

fn render(response: Response, frame: &Frame, template: &str, values: Value) -> anyhow::Result<Response> {
    let nonce = crate::supervise::nonce()?;
    let values = context! {
        title => frame.title,
        user => frame.user.map(|user| line(&String::from_utf8_lossy(user))),
        links => frame.user.map(|_| LINKS.map(|link| link_to(link, frame.current)).to_vec()),
        notice => frame.notice.as_deref(),
        now => format::time(frame.now),
        style => STYLE,
        nonce => &*nonce,
        ..values
    };
    let text = environment()?.get_template(template)?.render(values)?;
    Ok(guarded(response, &format!(" 'nonce-{nonce}'"))
        .with("Content-Language", "en")
        .text("text/html; charset=utf-8", text))
}

fn link_to((page, text): (StatusPage, &str), current: Option<StatusPage>) -> Value {
    context! { url => format!("?{}", url::encode([("page", page.name())])), text, current => current == Some(page) }
}

/// Templates whose names end in `.html` escape every value for HTML. A value that is missing is a mistake of ours.
fn environment() -> anyhow::Result<Environment<'static>> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    TEMPLATES.iter().try_for_each(|(name, text)| environment.add_template(name, text))?;
    Ok(environment)
}

/// The page loads nothing, runs nothing, cannot be framed, and its forms lead nowhere else. Its address is sent to this
/// site only; with no referrer at all a browser would not send the origin of a form either.
fn guarded(response: Response, style: &str) -> Response {
    let style = if style.is_empty() { String::new() } else { format!("style-src{style}; ") };
    let policy = format!("default-src 'none'; {style}form-action 'self'; base-uri 'none'; frame-ancestors 'none'");
    response.with("Content-Security-Policy", policy).with("Referrer-Policy", "same-origin")
}

/// Characters of one cell.
const LINE: usize = 300;
/// Characters of a log's end.
const LOG: usize = 8192;

/// One line, cut at its end.
pub(super) fn line(text: &str) -> String {
    match text.char_indices().nth(LINE) {
        Some((end, _)) => safe::line(&text[..end]) + "…",
        None => safe::line(text),
    }
}

/// Several lines, cut at their beginning: the reason of a failure is at the end of a log.
pub(super) fn log(text: &str) -> String {
    match text.char_indices().rev().nth(LOG) {
        Some((start, _)) => format!("…{}", safe::text(&text[start..])),
        None => safe::text(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_cut_and_what_acts_is_shown() {
        assert_eq!(line("a\u{0}\u{1b}[31m\u{202e}é"), r"a\u{0}\u{1b}[31m\u{202e}é");
        assert_eq!(line(&"é".repeat(1_000_000)).chars().count(), LINE + 1);
        assert_eq!(line(&"é".repeat(LINE)), "é".repeat(LINE));
        let log = log(&format!("{}\nend\r\u{7}", "x".repeat(1_000_000)));
        assert!(log.starts_with("…x") && log.ends_with("x\nend\n\\u{7}") && log.len() < LOG + 20, "{log}");
    }
}
