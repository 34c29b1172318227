//! How an answer is said on stdout, and with which exit code (docs/states.md).

use std::io::Write;

use serde_json::{Map, Value, json};

use crate::{
    cli::Format,
    exit::{Exit, Failure},
    model::{
        answer::{Answer, Delay, State},
        clock::Stamp,
    },
};

/// Prints the answer; its exit code is the result.
pub fn out(answer: &Answer, format: Format) -> Result<(), Failure> {
    match format {
        Format::Text => line(&text(answer))?,
        Format::Json => json(answer)?,
    }
    exit(answer.state).map_or(Ok(()), |exit| Err(Failure::code(exit)))
}

/// One JSON object on stdout.
pub fn json(answer: &Answer) -> Result<(), Failure> {
    line(&Value::Object(object(answer)).to_string())
}

/// Standard output is the protocol: an answer that cannot be written was not given.
fn line(text: &str) -> Result<(), Failure> {
    let written = writeln!(std::io::stdout(), "{text}");
    written.map_err(|error| Failure::because(Exit::Io, format!("cannot write the answer: {error}")))
}

/// With `--format json` an error is an object, too; its sentence goes to stderr all the same.
pub fn failure(failure: Failure, format: Format) -> Failure {
    if let (Format::Json, Some(error)) = (format, &failure.error) {
        let state = if failure.exit == Exit::Usage { "invalid" } else { "error" };
        let told = line(&json!({ "state": state, "reason": format!("{error:#}") }).to_string());
        if let Err(unwritten) = told {
            return unwritten;
        }
    }
    failure
}

const fn exit(state: State) -> Option<Exit> {
    match state {
        State::Ready => None,
        State::Queued | State::Started => Some(Exit::TryLater),
        State::FailedTimeout | State::FailedUnknown => Some(Exit::Failed),
        State::Absent => Some(Exit::Absent),
        State::Unavailable | State::Limited => Some(Exit::Unavailable),
        State::Invalid => Some(Exit::BadValue),
        State::Unknown => Some(Exit::Usage),
    }
}

fn text(answer: &Answer) -> String {
    let detail = match answer.state {
        State::Ready => answer.path.as_ref().map(|path| path.display().to_string()),
        State::Queued => answer.position.map(|position| position.to_string()),
        State::Started => Some(answer.percent.map_or_else(|| "?".to_owned(), |percent| percent.to_string())),
        State::FailedTimeout | State::FailedUnknown => answer.message.clone(),
        State::Absent => None,
        State::Unavailable | State::Limited | State::Invalid | State::Unknown => answer.reason.clone(),
    };
    match detail {
        Some(detail) => format!("{} {detail}", answer.state.name()),
        None => answer.state.name().to_owned(),
    }
}

/// The fields that callers rely on; what is not known is left out.
pub fn object(answer: &Answer) -> Map<String, Value> {
    let time = |stamp: Option<Stamp>| stamp.map(Stamp::rfc3339);
    let fields = [
        ("state", json!(answer.state.name())),
        ("filename", json!(answer.filename)),
        ("title", json!(answer.title)),
        ("path", json!(answer.path.as_ref().map(|path| path.display().to_string()))),
        ("content_type", json!(answer.content_type)),
        ("size", json!(answer.size)),
        ("made_at", json!(time(answer.made_at))),
        ("expires_at", json!(time(answer.expires_at))),
        ("stale", json!((answer.state == State::Ready).then_some(answer.stale))),
        ("position", json!(answer.position)),
        ("percent", json!(answer.percent)),
        ("message", json!(answer.message)),
        ("eta_seconds", json!(answer.eta_seconds)),
        ("retry_after", json!(answer.retry_after)),
        ("attempts", json!(answer.attempts)),
        ("reason", json!(reason(answer))),
        ("delay", json!(answer.delay.map(Delay::code))),
        ("not_before", json!(if let Some(Delay::Until(moment)) = answer.delay { time(Some(moment)) } else { None })),
    ];
    fields.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What delays the job, and what became of an earlier one.
fn reason(answer: &Answer) -> Option<String> {
    let both: Vec<_> = answer.reason.iter().chain(&answer.dropped).map(String::as_str).collect();
    (!both.is_empty()).then(|| both.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_left_out() {
        let object = object(&Answer { position: Some(3), ..Answer::new(State::Queued) });
        assert_eq!(Value::Object(object), json!({ "state": "queued", "position": 3 }));
    }

    #[test]
    fn an_unknown_percentage_is_a_question_mark() {
        assert_eq!(text(&Answer::new(State::Started)), "started ?");
        assert_eq!(text(&Answer::new(State::Absent)), "absent");
    }
}
