//! The sections that are the same on every site: `[cache]`, `[host]`, `[queue]`, `[status]`, `[history]`, `[log]`,
//! `[notify]`, and `[schedule.NAME]`, jobs queued by a schedule.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    command, params, problem,
    reader::TableReader,
    types::{CacheRules, Exporter, HistoryRules, HostRules, LogRules, Notify, QueueRules, Rate, Schedule, StatusRules},
    values::{self, DURATION},
};

pub(super) const MINUTE: Duration = Duration::from_mins(1);
pub(super) const HOUR: Duration = Duration::from_hours(1);
pub(super) const DAY: Duration = Duration::from_hours(24);
const MILLISECOND: Duration = Duration::from_millis(1);
const MOST: u32 = 1_000_000;

impl Default for CacheRules {
    fn default() -> Self {
        Self {
            ttl: Some(10 * MINUTE),
            grace: 2 * MINUTE,
            stale: Duration::ZERO,
            max_size: 10_000_000_000,
            min_free: 1_000_000_000,
        }
    }
}

pub(super) fn cache(top: &TableReader<'_>) -> CacheRules {
    let base = CacheRules::default();
    let Some(table) = top.table("cache") else { return base };
    let rules = CacheRules {
        ttl: table.some_duration_or_none("ttl", base.ttl),
        grace: table.duration("grace", base.grace),
        stale: stale(&table, base.stale),
        max_size: table.size("max_size", base.max_size),
        min_free: table.size("min_free", base.min_free),
    };
    table.done();
    rules
}

/// "none" is no time at all.
pub(super) fn stale(table: &TableReader<'_>, default: Duration) -> Duration {
    table.duration_or_none("stale", Some(default)).unwrap_or_default()
}

pub(super) fn host(top: &TableReader<'_>) -> HostRules {
    let base = HostRules { max_running: 8, min_free_memory: 512_000_000 };
    let Some(table) = top.table("host") else { return base };
    let rules = HostRules {
        max_running: table.count("max_running", 1..=MOST, base.max_running),
        min_free_memory: table.size("min_free_memory", base.min_free_memory),
    };
    table.done();
    rules
}

impl Default for QueueRules {
    fn default() -> Self {
        let new_per_client = Some(Rate { count: 60, window: 10 * MINUTE });
        Self { max_running: 4, max_queued: 500, max_per_client: 10, new_per_client }
    }
}

const RATE: &str = r#"a number and a duration of at most a day, such as "60/10m", or "none""#;

/// What counts against a rate has to be kept for as long as the rate looks back.
fn rate(value: &toml::de::DeValue<'_>) -> Option<Rate> {
    let (count, window) = value.as_str()?.split_once('/')?;
    let count = count.trim().parse().ok().filter(|count| (1..=1_000_000).contains(count))?;
    let window = humantime::parse_duration(window.trim()).ok()?;
    (MILLISECOND..=DAY).contains(&window).then_some(Rate { count, window })
}

/// All queues of the file, and `default` in any case.
pub(super) fn queues(top: &TableReader<'_>, host: &HostRules) -> BTreeMap<String, QueueRules> {
    let base = QueueRules::default();
    let base = QueueRules { max_running: base.max_running.min(host.max_running), ..base };
    let mut queues = BTreeMap::from([("default".to_owned(), base.clone())]);
    for (name, table) in top.named("queue") {
        table.check_name(name, "a queue", is_plain_name);
        queues.insert(name.to_owned(), queue(table, &base));
    }
    queues
}

fn queue(table: TableReader<'_>, base: &QueueRules) -> QueueRules {
    let rules = QueueRules {
        max_running: table.count("max_running", 1..=MOST, base.max_running),
        max_queued: table.count("max_queued", 1..=100_000_000, base.max_queued),
        max_per_client: table.count("max_per_client", 1..=100_000_000, base.max_per_client),
        new_per_client: table.read_or("new_per_client", "none", RATE, base.new_per_client, rate),
    };
    table.done();
    rules
}

/// `[a-z0-9][a-z0-9_-]*`: exporters, queues and schedules.
pub(super) fn is_plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.bytes().next().is_some_and(plain) && name.bytes().all(|byte| plain(byte) || byte == b'_' || byte == b'-')
}

pub(super) fn status(top: &TableReader<'_>) -> StatusRules {
    let Some(table) = top.table("status") else { return StatusRules::default() };
    let rules = StatusRules { public: table.flag("public", false), admins: table.texts("admins") };
    table.done();
    rules
}

pub(super) fn history(top: &TableReader<'_>) -> HistoryRules {
    let base = HistoryRules { keep: 30 * DAY, keep_ok_logs: DAY, max_size: 2_000_000_000 };
    let Some(table) = top.table("history") else { return base };
    let rules = HistoryRules {
        keep: table.duration("keep", base.keep),
        keep_ok_logs: table.duration("keep_ok_logs", base.keep_ok_logs),
        max_size: table.size("max_size", base.max_size),
    };
    table.done();
    rules
}

/// `absolute` makes a path out of one that is relative to the state directory.
pub(super) fn log(top: &TableReader<'_>, absolute: impl Fn(&str) -> PathBuf) -> LogRules {
    const ACTIVITY: &str = "log/activity.log";
    let base = LogRules { activity: Some(absolute(ACTIVITY)), activity_max: 10_000_000 };
    let Some(table) = top.table("log") else { return base };
    let path = table.text("activity").unwrap_or_else(|| ACTIVITY.to_owned());
    let rules = LogRules {
        activity: (path != "none").then(|| absolute(&path)),
        activity_max: table.size("activity_max", base.activity_max),
    };
    table.done();
    rules
}

pub(super) fn notify(top: &TableReader<'_>, dir: &Path) -> Option<Notify> {
    let table = top.table("notify")?;
    table.need("command", "; give the program that is told about failures");
    let event = |word: &str| ["failed", "ok"].into_iter().find(|known| *known == word);
    let on = table.words("on", r#"a list of "failed" and "ok""#, event).unwrap_or_else(|| vec!["failed"]);
    let (on_failed, on_ok) = (on.contains(&"failed"), on.contains(&"ok"));
    let notify = Notify { command: command::read(&table, dir), on_failed, on_ok };
    table.done();
    Some(notify)
}

pub(super) fn retry_max_delay(table: &TableReader<'_>, default: Duration) -> Duration {
    table.read("retry_max_delay", DURATION, values::duration).unwrap_or(default)
}

type Exporters = BTreeMap<String, Exporter>;

pub(super) fn schedules(top: &TableReader<'_>, exporters: &Exporters) -> BTreeMap<String, Schedule> {
    top.named("schedule").into_iter().map(|(name, table)| (name.to_owned(), schedule(name, table, exporters))).collect()
}

fn schedule(name: &str, table: TableReader<'_>, exporters: &Exporters) -> Schedule {
    table.check_name(name, "a schedule", is_plain_name);
    table.need("exporter", "; name the exporter that it asks");
    table.need("every", r#"; say how often, for instance "17s""#);
    let schedule = Schedule {
        name: name.to_owned(),
        exporter: table.text("exporter").unwrap_or_default(),
        params: given(&table),
        every: table.some_duration("every", Duration::MAX),
    };
    check(&table, &schedule, exporters);
    table.done();
    schedule
}

fn given(table: &TableReader<'_>) -> BTreeMap<String, String> {
    let Some(table) = table.table("params") else { return BTreeMap::new() };
    let mut given = BTreeMap::new();
    for (name, value) in table.entries() {
        match values::scalar(value) {
            Some(text) => drop(given.insert(name.to_owned(), text)),
            None => table.note(name, format_args!("is {}; it must be a string or an integer", values::shown(value))),
        }
    }
    given
}

fn check(table: &TableReader<'_>, schedule: &Schedule, exporters: &Exporters) {
    let name = &schedule.exporter;
    let Some(exporter) = exporters.get(name) else {
        if !name.is_empty() {
            let hint = problem::hint(name, exporters.keys().map(|name| &**name));
            table.note("exporter", format_args!("is {name:?}, but there is no [exporter.{name}]{hint}"));
        }
        return;
    };
    if let Err(problem) = params::check_without_patterns(exporter, &as_given(schedule)) {
        table.note("params", format_args!("do not fit the exporter: {problem}"));
    }
}

/// The parameters as a request would give them.
pub(super) fn as_given(schedule: &Schedule) -> Vec<(Vec<u8>, Vec<u8>)> {
    schedule.params.iter().map(|(name, text)| (name.clone().into_bytes(), text.clone().into_bytes())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_and_a_duration() {
        let read = |text: &str| rate(toml::de::DeValue::parse(text).unwrap().get_ref());
        assert_eq!(read("'60/10m'"), Some(Rate { count: 60, window: 10 * MINUTE }));
        assert_eq!(read("'1 / 1s'"), Some(Rate { count: 1, window: Duration::from_secs(1) }));
        for wrong in ["'60'", "'0/10m'", "'60/0s'", "'60/2d'", "'-1/1m'", "'60/m'", "'/'", "60", "'99999999/1m'"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
