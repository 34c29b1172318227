//! The page that a browser gets: how the export stands, when the page looks again, and what one can do.

use std::borrow::Cow;

use minijinja::{Environment, Value, context};
use serde_json::json;

use super::{
    log,
    pauses::{self, PATIENCE, PAUSES},
    templates::{Templates, built_in},
    url::Address,
    words::Words,
};
use crate::model::answer::{Answer, State};

/// What a page tells about.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    /// The answer's state, or `error`.
    pub(super) state: &'static str,
    pub(super) answer: &'a Answer,
    /// The file's name for the visitor.
    pub(super) name: Option<&'a str>,
    /// `None`: the request was no good, so there is nothing to come back to.
    pub(super) address: Option<&'a Address>,
    /// How often the page has reloaded itself.
    pub(super) turn: u32,
    /// A job is queued by a button, not by looking.
    pub(super) by_button: bool,
}

/// The word under which pages know a state. Unlike programs they tell a wrong value from a wrong address.
pub(super) const fn state_word(state: State) -> &'static str {
    match state {
        State::Unknown => "unknown",
        other => other.name(),
    }
}

/// The page's text. `nonce` stands in its `Content-Security-Policy`.
pub(super) fn render(templates: Templates, words: &Words, subject: &Subject, nonce: &str) -> String {
    let values = values(templates, words, subject, nonce);
    let page = templates.file("page.html").unwrap_or_default();
    fill(&page, &values).unwrap_or_else(|error| {
        log::line(format_args!("the site's page.html cannot be used: {error:#}"));
        fill(built_in("page.html").unwrap_or_default(), &values).unwrap_or_default()
    })
}

fn fill(page: &str, values: &Value) -> Result<String, minijinja::Error> {
    // The name's ending makes everything be escaped for HTML.
    Environment::new().render_named_str("page.html", page, values)
}

fn values(templates: Templates, words: &Words, subject: &Subject, nonce: &str) -> Value {
    let answer = subject.answer;
    let pending = matches!(subject.state, "queued" | "started");
    let pause = pauses::after(subject.turn).filter(|_| pending);
    let text = if pending && pause.is_none() { ("phrases", "stopped") } else { (subject.state, "text") };
    let message = message(words, answer);
    context! {
        lang => &*words.language,
        words => Value::from_pairs(words.table().iter().map(group)),
        state => subject.state,
        title => words.text(subject.state, "title"),
        text => words.text(text.0, text.1),
        name => subject.name,
        message => (!message.is_empty()).then_some(message),
        pending,
        percent => answer.percent,
        position => answer.position.map(|position| place(words, position)),
        expected => answer.eta_seconds.map(|seconds| words.duration(seconds)),
        again => pause.map(|seconds| words.duration(seconds)),
        retry => retry(words, subject),
        reload => reload(subject, pause),
        form => form(subject),
        link => link(words, subject),
        data => data(words, subject),
        nonce,
        style => templates.file("style.css").as_deref(),
        script => templates.file("script.js").as_deref(),
    }
}

/// A group of words, or a word that stands alone, by its name.
fn group((name, value): (&String, &toml::Value)) -> (Value, Value) {
    let text = |value: &toml::Value| Value::from(value.as_str().unwrap_or_default());
    let value = match value {
        toml::Value::Table(table) => Value::from_pairs(table.iter().map(|(name, value)| (&**name, text(value)))),
        value => text(value),
    };
    (Value::from(&**name), value)
}

fn pair((name, value): &(String, String)) -> Value {
    Value::from(vec![Value::from(&**name), Value::from(&**value)])
}

/// What the exporter says, why the request is refused, or that the queue stands still.
pub(super) fn message<'a>(words: &'a Words, answer: &'a Answer) -> Cow<'a, str> {
    if let Some(misfit) = &answer.misfit {
        return words.misfit(misfit).into();
    }
    let text = match (answer.state, &answer.message, &answer.reason) {
        (State::Queued, _, Some(_)) => words.text("phrases", "idle"),
        (_, Some(message), _) => words.sentence(message),
        (State::Unknown | State::Absent, ..) | (_, None, None) => "",
        (_, None, Some(reason)) => words.sentence(reason),
    };
    text.into()
}

/// A place is counted to 1000; beyond it is 1001.
fn place(words: &Words, position: u32) -> String {
    if position > 1000 { words.number("more_than", 1000) } else { position.to_string() }
}

fn retry(words: &Words, subject: &Subject) -> Option<String> {
    let refused = matches!(subject.state, "failed_timeout" | "failed_unknown" | "unavailable" | "limited");
    // Of input that was bad nobody knows whether it is better by then.
    let seconds = subject.answer.retry_after.filter(|_| refused && !subject.answer.bad_input)?;
    Some(match seconds {
        0 | 1 => words.text("phrases", "retry_now").to_owned(),
        seconds => words.text("phrases", "retry").replace("{time}", &words.duration(seconds)),
    })
}

/// A failure stays the answer until its time is over: before that nothing that one could press would change it.
fn is_settled(subject: &Subject) -> bool {
    let failed = matches!(subject.state, "failed_timeout" | "failed_unknown");
    failed && subject.answer.retry_after.is_some_and(|seconds| seconds > 1)
}

/// Where a page without scripts goes by itself: to its next state, or to the file.
fn reload(subject: &Subject, pause: Option<u64>) -> Option<Value> {
    let address = subject.address?;
    if subject.state == "ready" {
        return Some(context! { seconds => 1, url => address.with("format", "file").to_string() });
    }
    let url = address.with("format", &format!("page.{}", subject.turn.saturating_add(1)));
    pause.map(|seconds| context! { seconds, url => url.to_string() })
}

/// The button that queues the job.
fn form(subject: &Subject) -> Option<Value> {
    let asked = subject.by_button && matches!(subject.state, "absent" | "failed_timeout" | "failed_unknown");
    let address = subject.address.filter(|_| asked && !is_settled(subject))?;
    Some(context! { action => address.path(), pairs => address.pairs().iter().map(pair).collect::<Value>() })
}

fn link(words: &Words, subject: &Subject) -> Option<Value> {
    let address = subject.address?;
    let (url, label) = match subject.state {
        "ready" => (address.with("format", "file"), "download"),
        "queued" | "started" => (address.with("format", "page"), "reload"),
        "invalid" | "unknown" | "error" | "done" => return None,
        _ if subject.by_button || is_settled(subject) => return None,
        "absent" => (address.clone(), "make"),
        _ => (address.clone(), "try_again"),
    };
    Some(context! { url => url.to_string(), text => words.text("labels", label) })
}

/// What the script needs to know, as JSON that cannot end its element.
fn data(words: &Words, subject: &Subject) -> Option<String> {
    let address = subject.address.filter(|_| matches!(subject.state, "queued" | "started" | "ready"))?;
    let of = |state: &str| json!({ "title": words.text(state, "title"), "text": words.text(state, "text") });
    let phrase = |name: &str| words.text("phrases", name).to_owned();
    let data = json!({
        "state": subject.state,
        "pauses": PAUSES,
        "patience": PATIENCE,
        "status_url": address.with("format", "look").to_string(),
        "page_url": address.with("format", "page.1").to_string(),
        "file_url": address.with("format", "file").to_string(),
        "words": {
            "queued": of("queued"), "started": of("started"), "ready": of("ready"),
            "download": words.text("labels", "download"), "stopped": phrase("stopped"), "idle": phrase("idle"),
            "more_than": phrase("more_than"),
            "seconds": phrase("seconds"), "minutes": phrase("minutes"), "hours": phrase("hours"),
        },
    });
    Some(data.to_string().replace('<', "\\u003c"))
}
