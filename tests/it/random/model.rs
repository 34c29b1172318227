//! What has been promised: files that were answered as ready, and wishes that were answered as queued or started.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    records::Records,
    world::{GRACE, Wanted, World},
};

/// The last answers about one file that something is still to come of. Moments are those before the question.
#[derive(Clone, Default)]
pub struct Wish {
    queued: Option<i64>,
    started: Option<i64>,
    /// The judgement before `started`.
    judged: u64,
    /// The question, and the moment at or after which the making has to begin.
    after: Option<(i64, i64)>,
    /// The last command that cancels had ended then.
    cancelled: Option<i64>,
}

/// An attempt of the history, and the reading that saw it first.
pub struct Ended {
    pub row: Value,
    seen: u64,
}

/// A file that must not go before `until`.
pub struct Promise {
    filename: String,
    asked: i64,
}

#[derive(Default)]
pub struct Model {
    pub wishes: HashMap<String, Wish>,
    promises: Vec<Promise>,
    /// Attempts of the history that have ended.
    pub ended: HashMap<String, Ended>,
    /// How often the history was read.
    pub read: u64,
    /// Jobs that were asked for once, not to be started before a moment.
    pub late: HashMap<String, i64>,
}

impl Model {
    /// The answer was queued or started.
    pub fn wish(&mut self, wanted: &Wanted, asked: i64, after: Option<i64>, is_started: bool) {
        let wish = self.wishes.entry(wanted.filename()).or_default();
        match after {
            Some(after) if wish.after.is_none_or(|(_, before)| before < after) => wish.after = Some((asked, after)),
            Some(_) => {}
            None if is_started => (wish.started, wish.judged) = (wish.started.max(Some(asked)), self.read),
            None => wish.queued = wish.queued.max(Some(asked)),
        }
    }

    pub fn history(&mut self, rows: Vec<Value>) {
        self.read += 1;
        for row in rows {
            let id = row["attempt"].as_str().expect("an id").to_owned();
            let seen = self.read;
            self.ended.entry(id).or_insert(Ended { row, seen });
        }
    }

    pub fn cancelled(&mut self, filename: &str, when: i64) {
        let wish = self.wishes.entry(filename.into()).or_default();
        wish.cancelled = wish.cancelled.max(Some(when));
    }

    pub fn promise(&mut self, filename: String, asked: i64) {
        self.promises.push(Promise { filename, asked });
    }

    /// A file that has gone too early.
    pub fn broken_promise(&mut self, world: &World) -> Option<String> {
        let gone = |promise: &Promise| !world.site.cached(&promise.filename).exists();
        let early = |promise: &Promise| world.is_comparable(promise.asked) && world.now() < promise.asked + GRACE;
        let broken = self.promises.iter().find(|promise| gone(promise) && early(promise));
        let told = broken.map(|promise| format!("{} was ready and has gone within grace", promise.filename));
        let now = world.now();
        self.promises.retain(|promise| now < promise.asked + GRACE);
        told
    }

    /// Wishes of which nothing has come and nothing can come any more. `rows` are the jobs of a moment after the wishes
    /// were made, and the history was read later still.
    pub fn lost(&self, wishes: &HashMap<String, Wish>, rows: &[Value], world: &World) -> Vec<String> {
        let rows: HashMap<&str, &Value> =
            rows.iter().filter_map(|row| Some((row["filename"].as_str()?, row))).collect();
        let mut made: HashMap<&str, Vec<&Ended>> = HashMap::new();
        for attempt in self.ended.values() {
            made.entry(attempt.row["filename"].as_str().unwrap_or_default()).or_default().push(attempt);
        }
        let fate = |(filename, wish): (&String, &Wish)| {
            let attempts = made.get(&**filename).map_or(&[][..], |attempts| attempts);
            let told = wish.fate(rows.get(&**filename).copied(), attempts, world)?;
            Some(format!("{filename}: {told}"))
        };
        wishes.iter().filter_map(fate).collect()
    }

    /// Those that began too early.
    pub fn early(&self, records: &Records, world: &World) -> Vec<String> {
        let early = records.runs.values().filter(|run| {
            let moment = self.late.get(&run.name);
            moment.is_some_and(|moment| run.start < *moment && world.is_comparable(*moment))
        });
        early.map(|run| format!("{} began before its time", run.name)).collect()
    }
}

impl Wish {
    fn fate(&self, row: Option<&Value>, attempts: &[&Ended], world: &World) -> Option<String> {
        let of = |result: &'static str| attempts.iter().filter(move |attempt| attempt.row["result"] == result);
        let is_open = |asked: &i64| world.is_comparable(*asked) && self.cancelled < Some(*asked);
        if let Some(asked) = self.queued.filter(is_open)
            && row.is_none()
            && !of("ok").any(|attempt| attempt.ended() >= asked)
        {
            return Some(format!("was queued at {asked} and has come to nothing"));
        }
        if let Some(asked) = self.started.filter(is_open) {
            // What was published has ended a moment, or one death of its run, before it is forgotten.
            let since = |attempt: &&Ended| attempt.ended() >= asked || attempt.seen > self.judged;
            // Asked for nothing but the attempt that an earlier command had cancelled already.
            let was_cancelled = |attempt: &&Ended| self.cancelled >= Some(attempt.began());
            let mut attempts = attempts.iter().copied().filter(since);
            if row.is_none() && !attempts.any(|attempt| attempt.row["result"] == "ok" || was_cancelled(&attempt)) {
                return Some(format!("was started at {asked} and has come to nothing"));
            }
        }
        let (asked, after) = self.after.filter(|(asked, after)| world.is_comparable(*after) && is_open(asked))?;
        let is_lost = match row {
            None => !of("ok").any(|attempt| attempt.began() >= after),
            Some(row) => {
                // A derived file fails with its source, without an attempt.
                let by_itself = !row["failed"].is_null() && !row["attempt"].is_null() && row["source"].is_null();
                by_itself && stamp(&row["started"]) < after
            }
        };
        is_lost.then(|| format!("of the run for {after}, asked for at {asked}, nothing is left: {row:?}"))
    }
}

impl Ended {
    fn began(&self) -> i64 {
        stamp(&self.row["start_date"])
    }

    fn ended(&self) -> i64 {
        stamp(&self.row["ended"])
    }
}

/// Milliseconds of a time in an answer; 0 if there is none.
pub fn stamp(time: &Value) -> i64 {
    time.as_str().and_then(|time| time.parse::<Timestamp>().ok()).map_or(0, Timestamp::as_millisecond)
}
