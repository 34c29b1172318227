//! Derived formats: who is made from whom.

use std::collections::BTreeMap;

use super::{
    nearest,
    sheet::Reader,
    types::{Exporter, Param},
};

type Exporters = BTreeMap<String, Exporter>;

/// Checks all sources, and gives a derived format without parameters of its own those of its source.
pub(super) fn settle(exporters: &mut Exporters, sheet: &Reader<'_>) {
    let derived: Vec<_> = exporters.values().filter(|one| one.source.is_some()).map(|one| one.name.clone()).collect();
    for name in derived {
        if let Err(problem) = check(exporters, &name) {
            sheet.note_in(&["exporter", &name, "source"], format!("\"source\" in [exporter.{name}] {problem}"));
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
        let hint = nearest::hint(source, exporters.keys().map(|name| &**name));
        return Err(format!("is {source:?}, which is not an exporter{hint}"));
    };
    if from.is_task() {
        return Err(format!("is {source:?}, which makes no file"));
    }
    if let Some(circle) = circle(exporters, name) {
        return Err(format!("leads back to itself: {circle}"));
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
