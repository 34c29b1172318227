//! The page of a visitor: the state of the export, when the page checks again (soon at first, then less often, and at most
//! for half an hour), and what the visitor can do.

use std::borrow::Cow;

use minijinja::{Environment, Value, context};
use serde_json::json;

use super::{
    translations::{Templates, Words, built_in},
    url::Address,
};
use crate::{
    logging,
    model::{
        answer::{Answer, Delay, State},
        clock::Stamp,
    },
};

/// What a page shows.
#[derive(Debug)]
pub(super) struct PageSubject<'a> {
    /// The answer's state, or `error`.
    pub(super) state: &'static str,
    pub(super) answer: &'a Answer,
    /// The file's name for the visitor.
    pub(super) name: Option<&'a str>,
    /// Where the page reloads itself. `None`: it does not.
    pub(super) address: Option<&'a Address>,
    /// Where the same can be requested again.
    pub(super) again: Option<&'a Address>,
    /// Where the visitor came from.
    pub(super) back: &'a str,
    /// How often the page has reloaded itself.
    pub(super) reloads: u32,
    /// A job is queued by a button only, not by opening the page.
    pub(super) by_button: bool,
    /// The answer to a form, whose address alone does not say what was requested.
    pub(super) posted: bool,
}

/// The name of a state on pages. Unlike programs, pages distinguish an unknown exporter from a wrong value.
pub(super) const fn state_word(state: State) -> &'static str {
    match state {
        State::Unknown => "unknown",
        other => other.name(),
    }
}

/// The page's text. `nonce` stands in its `Content-Security-Policy`.
pub(super) fn render(templates: Templates, words: &Words, subject: &PageSubject, nonce: &str) -> String {
    let values = values(templates, words, subject, nonce);
    let page = templates.file("page.html").unwrap_or_default();
    fill(&page, &values).unwrap_or_else(|error| {
        logging::diagnostic_line(format_args!(
            "cannot use page.html of http.templates, the built-in page is sent: {error:#}"
        ));
        fill(built_in("page.html").unwrap_or_default(), &values).unwrap_or_default()
    })
}

fn fill(page: &str, values: &Value) -> Result<String, minijinja::Error> {
    // The name's ending makes everything be escaped for HTML.
    Environment::new().render_named_str("page.html", page, values)
}

fn values(templates: Templates, words: &Words, subject: &PageSubject, nonce: &str) -> Value {
    let answer = subject.answer;
    let pending = matches!(subject.state, "queued" | "started");
    let pause = poll_interval(subject.reloads).filter(|_| pending);
    // A page that has stopped checking says so, and nothing that is true only while it checks.
    let has_stopped = pending && pause.is_none();
    let (pending, shown) = (pending && !has_stopped, if has_stopped { "stopped" } else { subject.state });
    let message = if has_stopped { "".into() } else { message(words, answer) };
    context! {
        lang => &*words.language,
        words => Value::from_pairs(words.table().iter().map(group)),
        state => subject.state,
        title => words.text(shown, "title"),
        text => words.text(shown, "text").replace("{time}", &utc(Stamp::now())),
        name => subject.name,
        message => (!message.is_empty()).then_some(message),
        delay => answer.delay.filter(|_| pending).map(|delay| said(words, delay)),
        pending,
        percent => answer.percent,
        position => answer.position.map(|position| place(words, position)),
        expected => answer.eta_seconds.map(|seconds| words.duration(seconds)),
        again => pause.map(|seconds| words.duration(seconds)),
        retry => retry(words, subject),
        reload => reload(subject, pause),
        form => form(words, subject),
        link => link(words, subject),
        data => data(words, subject).filter(|_| !has_stopped),
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

/// What keeps the visitor's file, in the page's language.
fn said(words: &Words, delay: Delay) -> String {
    let text = words.text("delays", delay.code());
    match delay {
        Delay::Until(moment) => text.replace("{time}", &utc(moment)),
        _ => text.to_owned(),
    }
}

/// `2026-11-30 21:04 UTC`.
fn utc(stamp: Stamp) -> String {
    let text = stamp.rfc3339();
    text.get(..16).map_or_else(|| text.clone(), |minute| format!("{} UTC", minute.replace('T', " ")))
}

/// What the exporter says, or why the request is refused.
pub(super) fn message<'a>(words: &'a Words, answer: &'a Answer) -> Cow<'a, str> {
    if let Some(misfit) = &answer.misfit {
        return words.misfit(misfit).into();
    }
    let text = match (answer.state, &answer.message, &answer.reason) {
        (State::Queued, None, _) if answer.dropped.is_some() => words.text("phrases", "dropped"),
        (_, Some(message), _) => words.sentence(message),
        // The reason why a pending job is delayed is in `delay`.
        (State::Unknown | State::Absent | State::Queued | State::Started, ..) | (_, None, None) => "",
        (_, None, Some(reason)) => words.sentence(reason),
    };
    text.into()
}

/// Positions above 1000 are not counted: the store gives 1001 for all of them.
fn place(words: &Words, position: u32) -> String {
    if position > 1000 { words.number("more_than", 1000) } else { position.to_string() }
}

fn retry(words: &Words, subject: &PageSubject) -> Option<String> {
    let refused = matches!(subject.state, "failed_timeout" | "failed_unknown" | "unavailable" | "limited");
    // Bad input may be as bad the next time.
    let seconds = subject.answer.retry_after.filter(|_| refused && !subject.answer.bad_input)?;
    Some(match seconds {
        0 | 1 => words.text("phrases", "retry_now").to_owned(),
        seconds => words.text("phrases", "retry").replace("{time}", &words.duration(seconds)),
    })
}

/// Where a page without scripts reloads itself: to its next state, or to the file.
fn reload(subject: &PageSubject, pause: Option<u64>) -> Option<Value> {
    let address = subject.address?;
    if subject.state == "ready" {
        return Some(context! { seconds => 1, url => address.with("format", "file").to_string() });
    }
    let url = address.with("format", &format!("page.{}", subject.reloads.saturating_add(1)));
    pause.map(|seconds| context! { seconds, url => url.to_string() })
}

/// Where the same request may have another answer later. Bad input would be refused again.
fn again<'a>(subject: &PageSubject<'a>) -> Option<&'a Address> {
    let may_change =
        matches!(subject.state, "absent" | "failed_timeout" | "failed_unknown" | "unavailable" | "limited" | "error");
    subject.again.filter(|_| may_change && !subject.answer.bad_input)
}

fn again_label(subject: &PageSubject) -> &'static str {
    if subject.state == "absent" { "make" } else { "try_again" }
}

/// The button that queues the job: where only a button may, and where a form was sent.
fn form(words: &Words, subject: &PageSubject) -> Option<Value> {
    let address = again(subject).filter(|_| subject.posted || (subject.by_button && subject.state != "error"))?;
    let text = words.text("labels", again_label(subject));
    Some(context! { action => address.path(), pairs => address.pairs().iter().map(pair).collect::<Value>(), text })
}

/// What to do next, for visitors without scripts, too: every page has a link or a form.
fn link(words: &Words, subject: &PageSubject) -> Option<Value> {
    let (url, label) = match (subject.state, subject.address, again(subject)) {
        _ if form(words, subject).is_some() => return None,
        ("ready", Some(address), _) => (address.with("format", "file").to_string(), "download"),
        ("queued" | "started", Some(address), _) => (address.with("format", "page").to_string(), "reload"),
        // What another site's form requested, now by the visitor's own click.
        ("invalid", Some(address), _) => (address.to_string(), "make"),
        (_, _, Some(again)) => (again.to_string(), again_label(subject)),
        _ => (subject.back.to_owned(), "back"),
    };
    Some(context! { url, text => words.text("labels", label) })
}

/// The data of the script, as JSON that cannot end its element.
fn data(words: &Words, subject: &PageSubject) -> Option<String> {
    let address = subject.address.filter(|_| matches!(subject.state, "queued" | "started" | "ready"))?;
    let of = |state: &str| json!({ "title": words.text(state, "title"), "text": words.text(state, "text") });
    let phrase = |name: &str| words.text("phrases", name).to_owned();
    let data = json!({
        "state": subject.state,
        "pauses": POLL_INTERVALS,
        "patience": POLL_LIMIT,
        "status_url": address.with("format", "look").to_string(),
        "page_url": address.with("format", "page.1").to_string(),
        "file_url": address.with("format", "file").to_string(),
        "words": {
            "queued": of("queued"), "started": of("started"), "ready": of("ready"),
            "stopped": of("stopped"), "delays": words.table().get("delays"),
            "download": words.text("labels", "download"), "more_than": phrase("more_than"),
            "seconds": phrase("seconds"), "minutes": phrase("minutes"), "hours": phrase("hours"),
        },
    });
    Some(data.to_string().replace('<', "\\u003c"))
}

/// Seconds between checks; the last one repeats.
const POLL_INTERVALS: [u64; 8] = [2, 3, 4, 6, 9, 14, 20, 30];
/// Seconds after which a page stops: it has been forgotten in some tab.
const POLL_LIMIT: u64 = 30 * 60;

/// Seconds to the next check of a page that has reloaded itself so many times. `None`: it stops.
fn poll_interval(reloads: u32) -> Option<u64> {
    let intervals = POLL_INTERVALS.into_iter().chain(std::iter::repeat(POLL_INTERVALS[POLL_INTERVALS.len() - 1]));
    let mut allowed = intervals.scan(0, |end, interval| {
        *end += interval;
        (*end <= POLL_LIMIT).then_some(interval)
    });
    allowed.nth(reloads as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_two_seconds_to_thirty_and_end_after_half_an_hour() {
        assert_eq!([0, 1, 7, 20].map(poll_interval), [2, 3, 30, 30].map(Some));
        let all: Vec<u64> = (0..).map_while(poll_interval).collect();
        assert!(all.is_sorted());
        assert_eq!(all.last().copied(), Some(crate::config::LONGEST_PAUSE.as_secs()));
        let whole: u64 = all.iter().sum();
        assert!(whole <= POLL_LIMIT && whole + 30 > POLL_LIMIT, "{whole}");
        assert_eq!(poll_interval(u32::MAX), None);
    }
}
