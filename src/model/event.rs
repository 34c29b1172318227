//! A change of state, as the activity log keeps it.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    attempt::{Claim, Record},
    clock::Stamp,
    job::Job,
};

/// One line of the activity log: when, what, and the facts about it. Times are RFC 3339 in UTC, durations seconds,
/// sizes bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActivityEvent {
    at: String,
    #[serde(rename = "event")]
    what: &'static str,
    #[serde(flatten)]
    facts: Map<String, Value>,
}

impl ActivityEvent {
    pub fn new(what: &'static str, at: Stamp) -> Self {
        Self { at: at.rfc3339_millis(), what, facts: Map::new() }
    }

    /// With one more fact; one that is not known is left out.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        match value.into() {
            Value::Null => {}
            value => drop(self.facts.insert(name.to_owned(), value)),
        }
        self
    }

    /// Which job it is about.
    pub fn job(self, job: &Job) -> Self {
        let about = self.with("job", job.id).with("filename", &*job.filename);
        about.with("exporter", &*job.exporter).with("queue", &*job.queue)
    }

    /// Which attempt it is about.
    pub fn claim(self, claim: &Claim) -> Self {
        let about = self.with("job", claim.job).with("attempt", claim.attempt.as_str()).with("number", claim.number);
        let about = about.with("filename", &*claim.filename).with("exporter", &*claim.exporter);
        about.with("queue", &*claim.queue)
    }

    /// How the attempt ended and what it used.
    pub fn record(self, record: &Record) -> Self {
        let seconds = |time: std::time::Duration| time.as_secs_f64();
        let result = self.with("result", record.outcome.name()).with("duration", seconds(record.duration));
        let result = result.with("exit_code", record.exit_code).with("signal", record.signal);
        let used = result.with("peak_memory", record.peak_memory).with("cpu_used", record.cpu_used.map(seconds));
        used.with("output_size", record.output_size).with("detail", record.detail.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_left_out() {
        let event = ActivityEvent::new("pruned", Stamp(1_500)).with("size", 7).with("reason", None::<&str>);
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(line, r#"{"at":"1970-01-01T00:00:01.500Z","event":"pruned","size":7}"#);
    }
}
