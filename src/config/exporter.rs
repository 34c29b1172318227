//! `[exporter.NAME]`: one kind of job, its lanes (another queue for some values), and who is made from whom.

use std::{collections::BTreeMap, path::Path, time::Duration};

use toml::de::DeValue;

use super::{
    command, limits, param_rules, problem,
    reader::{Reader, TableReader},
    sections::{DAY, HOUR, MINUTE, retry_max_delay, stale},
    types::{BreakerRules, CacheRules, Condition, Exporter, FileOutput, LaneRules, OutputKind, Param, ParamKind},
    values,
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
        lanes: read_lanes(&table, &params),
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
        magic: table.read("magic", "pairs of hexadecimal digits", values::hex).unwrap_or_default(),
        ends_with: table.read("ends_with", "pairs of hexadecimal digits", values::hex).unwrap_or_default(),
    };
    if !task {
        return OutputKind::File(file);
    }
    for key in ["content_type", "min_size", "magic", "ends_with"].into_iter().filter(|key| table.has(key)) {
        table.note(key, r#"applies to a file, but this exporter makes none (output = "none")"#);
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
    values::factor(value).filter(|factor| (1.0..=1000.0).contains(factor))
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
            None => table.note(name, format_args!("is {}; it must be a string", values::shown(value))),
            Some(_) if !is_variable(name) => table.note(name, "cannot be the name of an environment variable"),
            Some(_) if name.starts_with("PRESSROOM_") => table.note(name, "is set by Pressroom itself"),
            Some(text) => drop(env.insert(name.to_owned(), text.to_owned())),
        }
    }
    env
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

pub(super) fn read_lanes(exporter: &TableReader<'_>, params: &[Param]) -> Vec<LaneRules> {
    exporter.list("lane").into_iter().map(|table| lane(table, params)).collect()
}

fn lane(table: TableReader<'_>, params: &[Param]) -> LaneRules {
    table.need("queue", "; name the queue that these jobs go to");
    table.need("when", r#"; say for which values, for instance when = { pages = "..20" }"#);
    let lane = LaneRules { queue: table.text("queue").unwrap_or_default(), when: when(&table, params) };
    table.done();
    lane
}

fn when(table: &TableReader<'_>, params: &[Param]) -> Vec<(String, Condition)> {
    let Some(when) = table.table("when") else { return Vec::new() };
    let condition = |(name, value): (&str, &DeValue<'_>)| {
        let kind = params.iter().find(|param| param.name == name).map(|param| &param.kind);
        match condition(kind, value) {
            Ok(condition) => Some((name.to_owned(), condition)),
            Err(problem) => {
                when.note(name, problem);
                None
            }
        }
    };
    when.entries().into_iter().filter_map(condition).collect()
}

/// An unknown parameter is told later, when inherited parameters are known.
fn condition(kind: Option<&ParamKind>, value: &DeValue<'_>) -> Result<Condition, String> {
    let text = values::scalar(value).ok_or("must be a value or a range such as \"..20\"")?;
    match (kind, values::range(&text)) {
        (None | Some(ParamKind::Integer(..)), Some((low, high))) => Ok(Condition::Range(low, high)),
        (Some(ParamKind::Integer(..)), None) => {
            let number = text.parse().map_err(|_| format!("is {text:?}, but the parameter is an integer"))?;
            Ok(Condition::Range(Some(number), Some(number)))
        }
        (Some(ParamKind::OneOf(words)), None) if !words.contains(&text) => {
            Err(format!("is {text:?}, which is not one of its values"))
        }
        (Some(_), Some(_)) => Err("is a range, but the parameter is not an integer".to_owned()),
        (_, None) => Ok(Condition::Equals(text)),
    }
}

type Exporters = BTreeMap<String, Exporter>;

/// Checks all sources, and gives a derived format without parameters of its own those of its source.
pub(super) fn settle(exporters: &mut Exporters, reader: &Reader<'_>) {
    let derived: Vec<_> = exporters.values().filter(|one| one.source.is_some()).map(|one| one.name.clone()).collect();
    for name in derived {
        if let Err(problem) = check(exporters, &name) {
            reader.note_in(&["exporter", &name, "source"], format!("\"source\" in [exporter.{name}] {problem}"));
            continue;
        }
        if exporters[&name].params.is_empty() {
            let params = inherited(exporters, &name);
            exporters.entry(name).and_modify(|one| one.params = params);
        }
    }
}

fn check(exporters: &Exporters, name: &str) -> Result<(), String> {
    let Some(source) = exporters[name].source.as_deref() else { return Ok(()) };
    let Some(from) = exporters.get(source) else {
        let hint = problem::hint(source, exporters.keys().map(|name| &**name));
        return Err(format!("is {source:?}, which is not an exporter{hint}"));
    };
    if from.is_task() {
        return Err(format!("is {source:?}, which makes no file"));
    }
    if let Some(circle) = circle(exporters, name) {
        return Err(format!("leads back to its own exporter: {circle}"));
    }
    let (own, wanted) = (&exporters[name].params, inherited(exporters, source));
    match missing(own, &wanted) {
        Some(param) => Err(format!("is {source:?}, whose parameter {param:?} is missing in [exporter.{name}.params]")),
        None => Ok(()),
    }
}

/// The first parameter of the source that the derived format would have to know. One that is neither required nor
/// changes the file may be left out.
fn missing<'a>(own: &[Param], wanted: &'a [Param]) -> Option<&'a str> {
    let has = |name: &str| own.is_empty() || own.iter().any(|param| param.name == name);
    let counts = |param: &&Param| param.key || param.required;
    wanted.iter().filter(counts).find(|param| !has(&param.name)).map(|param| &*param.name)
}

/// The parameters of an exporter or, if it has none, those of the nearest source that has some.
fn inherited(exporters: &Exporters, name: &str) -> Vec<Param> {
    chain(exporters, name).find(|one| !one.params.is_empty()).map(|one| one.params.clone()).unwrap_or_default()
}

/// An exporter, its source, the source's source and so on; endless if they form a circle, so it is cut.
fn chain<'a>(exporters: &'a Exporters, name: &str) -> impl Iterator<Item = &'a Exporter> {
    let next = |one: &&'a Exporter| exporters.get(one.source.as_deref()?);
    std::iter::successors(exporters.get(name), next).take(exporters.len() + 1)
}

fn circle(exporters: &Exporters, name: &str) -> Option<String> {
    let names: Vec<_> = chain(exporters, name).map(|one| &*one.name).collect();
    let back = names.iter().skip(1).position(|other| *other == name)?;
    Some(names[..=back + 1].join(" from "))
}
