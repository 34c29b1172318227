//! `[schedule.NAME]`: jobs that ask for themselves.

use std::{collections::BTreeMap, time::Duration};

use super::{
    nearest, params,
    sections::is_plain_name,
    sheet::TableReader,
    types::{Exporter, Schedule},
    words,
};

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
        match words::scalar(value) {
            Some(text) => drop(given.insert(name.to_owned(), text)),
            None => table.note(name, format_args!("is {}; it must be a string or an integer", words::shown(value))),
        }
    }
    given
}

fn check(table: &TableReader<'_>, schedule: &Schedule, exporters: &Exporters) {
    let name = &schedule.exporter;
    let Some(exporter) = exporters.get(name) else {
        if !name.is_empty() {
            let hint = nearest::hint(name, exporters.keys().map(|name| &**name));
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
