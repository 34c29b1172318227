//! `[exporter.NAME]`: one kind of job.

use std::{collections::BTreeMap, path::Path, time::Duration};

use toml::de::DeValue;

use super::{
    command, lane_rules, limits, param_rules,
    sections::{DAY, HOUR, MINUTE, retry_max_delay, stale},
    sheet::TableReader,
    types::{BreakerRules, CacheRules, Exporter, FileOutput, OutputKind},
    words,
};
use crate::model::{filename::extension, status::Outcome};

/// What an exporter takes over from the rest of the file.
pub(super) struct Around<'a> {
    pub(super) dir: &'a Path,
    pub(super) cache: &'a CacheRules,
    pub(super) retry_max_delay: Duration,
}

pub(super) fn read(name: &str, table: TableReader<'_>, around: &Around<'_>) -> Exporter {
    table.check_name(name, "an exporter", super::sections::is_plain_name);
    table.need("command", r#"; give the program and its arguments, such as ["bin/make", "{output}"]"#);
    let task = table.word("output", &[("file", false), ("none", true)], false);
    let filename = table.text("filename");
    let params = param_rules::read(&table);
    let limits = limits::read(&table);
    let retry_on = retry_on(&table, task);
    // What nobody waits for at a page may wait for as long as it takes.
    let patience = if task { None } else { Some(HOUR) };
    let scheduled_ttl = table.some_duration_or_none("queued_ttl", None);
    let exporter = Exporter {
        name: name.to_owned(),
        web: table.flag("web", false),
        command: command::read(&table, around.dir),
        wrapper: command::read_wrapper(&table, around.dir),
        output: output(&table, task, filename.as_deref()),
        filename,
        source: table.text("source"),
        queue: table.text("queue").unwrap_or_else(|| if task { name } else { "default" }.to_owned()),
        lanes: lane_rules::read_lanes(&table, &params),
        params,
        ttl: table.some_duration_or_none("ttl", around.cache.ttl),
        stale: stale(&table, around.cache.stale),
        limits_max: limits::read_max(&table, &limits),
        limits,
        escalate: table.read("escalate", "a factor from 1 to 1000", escalate).unwrap_or(2.0),
        max_attempts: table.count("max_attempts", 1..=1000, 2),
        retry_delay: table.duration("retry_delay", Duration::from_secs(30)),
        retry_max_delay: retry_max_delay(&table, around.retry_max_delay),
        retry_temporary: retry_on.temporary,
        retry_on: retry_on.outcomes,
        failure_ttl: table.duration("failure_ttl", 5 * MINUTE),
        failure_keep: table.duration("failure_keep", DAY),
        queued_ttl: if table.has("queued_ttl") { scheduled_ttl } else { patience },
        scheduled_ttl,
        abandon_after: table.duration_or_none("abandon_after", None),
        breaker: breaker(&table),
        env: env(&table),
        log_max: table.size("log_max", 65536),
    };
    table.done();
    exporter
}

fn output(table: &TableReader<'_>, task: bool, filename: Option<&str>) -> OutputKind {
    let file = FileOutput {
        extension: filename.map(extension).unwrap_or_default().to_owned(),
        content_type: content_type(table, filename),
        min_size: table.size("min_size", 1),
        magic: table.read("magic", "pairs of hexadecimal digits", words::hex).unwrap_or_default(),
        ends_with: table.read("ends_with", "pairs of hexadecimal digits", words::hex).unwrap_or_default(),
    };
    if !task {
        return OutputKind::File(file);
    }
    for key in ["content_type", "min_size", "magic", "ends_with"].into_iter().filter(|key| table.has(key)) {
        table.note(key, r#"is about a file, but the exporter makes none (output = "none")"#);
    }
    OutputKind::None
}

fn content_type(table: &TableReader<'_>, filename: Option<&str>) -> String {
    let given = table.read("content_type", r#"a media type such as "application/pdf""#, media_type);
    given.unwrap_or_else(|| mime_guess::from_path(filename.unwrap_or_default()).first_or_octet_stream().to_string())
}

fn media_type(value: &DeValue<'_>) -> Option<String> {
    let text = value.as_str()?;
    let (kind, rest) = text.split_once('/')?;
    let printable = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    (printable && !kind.is_empty() && !rest.is_empty() && !kind.contains(' ')).then(|| text.to_owned())
}

fn escalate(value: &DeValue<'_>) -> Option<f64> {
    words::factor(value).filter(|factor| (1.0..=1000.0).contains(factor))
}

struct RetryOn {
    outcomes: Vec<Outcome>,
    temporary: bool,
}

const RETRIED: [Outcome; 5] = [Outcome::Timeout, Outcome::Cpu, Outcome::Memory, Outcome::Lost, Outcome::Signal];
const RETRIABLE: &str = "a list of \"timeout\", \"cpu\", \"memory\", \"file_size\", \"exit\", \"signal\", \"no_output\", \
                         \"spawn\", \"lost\" and \"temporary\"";

fn retry_on(table: &TableReader<'_>, task: bool) -> RetryOn {
    let outcomes = if task { Vec::new() } else { RETRIED.to_vec() };
    let Some(named) = table.words("retry_on", RETRIABLE, retried) else { return RetryOn { outcomes, temporary: true } };
    let temporary = named.contains(&None);
    RetryOn { outcomes: named.into_iter().flatten().collect(), temporary }
}

/// What the word stands for; `Some(None)`: the exit status of a temporary failure.
#[expect(clippy::option_option, reason = "the outer one says whether the word is known")]
fn retried(word: &str) -> Option<Option<Outcome>> {
    match Outcome::from_name(word) {
        _ if word == "temporary" => Some(None),
        None | Some(Outcome::Ok | Outcome::Cancelled | Outcome::Shutdown | Outcome::Dropped) => None,
        known => Some(known),
    }
}

fn breaker(table: &TableReader<'_>) -> BreakerRules {
    let base = BreakerRules { failures: 5, pause: 5 * MINUTE };
    let Some(table) = table.table("breaker") else { return base };
    let breaker = BreakerRules {
        failures: table.count("failures", 1..=1000, base.failures),
        pause: table.duration("pause", base.pause),
    };
    table.done();
    breaker
}

fn env(table: &TableReader<'_>) -> BTreeMap<String, String> {
    let Some(table) = table.table("env") else { return BTreeMap::new() };
    let mut env = BTreeMap::new();
    for (name, value) in table.entries() {
        match value.as_str().filter(|text| !text.contains('\0')) {
            None => table.note(name, format_args!("is {}; it must be a string", words::shown(value))),
            Some(_) if !is_variable(name) => table.note(name, "cannot be the name of a variable"),
            Some(_) if name.starts_with("PRESSROOM_") => table.note(name, "is set by Pressroom itself"),
            Some(text) => drop(env.insert(name.to_owned(), text.to_owned())),
        }
    }
    env
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}
