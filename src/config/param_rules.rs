//! `[exporter.NAME.params.PARAM]`: the rules for the values of one parameter.

use super::{
    params,
    reader::TableReader,
    types::{Param, ParamKind},
    values,
};

/// Words that a request uses for itself, and the placeholders that are not parameters.
const RESERVED: [&str; 7] = ["exporter", "after", "wait", "refresh", "format", "output", "source"];
const MAX_BYTES: usize = 255;

/// In the order of the file.
pub(super) fn read(exporter: &TableReader<'_>) -> Vec<Param> {
    exporter.named("params").into_iter().map(|(name, table)| param(name, table)).collect()
}

fn param(name: &str, table: TableReader<'_>) -> Param {
    table.check_name(name, "a parameter", is_name);
    if RESERVED.contains(&name) {
        table.check_name(name, "a parameter: it is reserved", |_| false);
    }
    let default = table.read("default", "a string or an integer", values::scalar);
    let param = Param {
        name: name.to_owned(),
        kind: kind(&table),
        required: table.flag("required", !table.has("default")),
        default,
        max_bytes: table.count("max_bytes", 1..=65536, MAX_BYTES),
        key: table.flag("key", true),
    };
    let param = with_checked_default(&table, param);
    table.done();
    param
}

/// Whether a parameter can be called so.
pub(super) fn is_free(name: &str) -> bool {
    is_name(name) && !RESERVED.contains(&name)
}

fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(good)
}

fn kind(table: &TableReader<'_>) -> ParamKind {
    let pattern = table.text("pattern").map(ParamKind::Pattern);
    let one_of = table.read("one_of", "a list of strings, at least one", one_of);
    let integer = table.read("integer", r#"a range such as "1..100000""#, integer);
    let mut kinds =
        [("pattern", pattern), ("one_of", one_of), ("integer", integer)].into_iter().filter(|(_, kind)| kind.is_some());
    let first = kinds.next();
    if let (Some((first, _)), Some((second, _))) = (&first, kinds.next()) {
        table.note(second, format_args!("and {first:?} exclude each other"));
    }
    first.and_then(|(_, kind)| kind).unwrap_or(ParamKind::Text)
}

fn one_of(value: &toml::de::DeValue<'_>) -> Option<ParamKind> {
    values::texts(value).filter(|texts| !texts.is_empty()).map(ParamKind::OneOf)
}

fn integer(value: &toml::de::DeValue<'_>) -> Option<ParamKind> {
    let (low, high) = values::range(value.as_str()?)?;
    Some(ParamKind::Integer(low.unwrap_or(i64::MIN), high.unwrap_or(i64::MAX)))
}

/// A default obeys the parameter's own rules, and a required parameter has none. Patterns wait for `check`.
fn with_checked_default(table: &TableReader<'_>, mut param: Param) -> Param {
    let Some(default) = param.default.take() else { return param };
    if param.required {
        table.note("default", r#"is never used, because the parameter has "required = true""#);
    }
    match params::canonical(&param, &default, |_, _| Ok(true)) {
        Ok(text) => param.default = Some(text),
        Err(problem) => table.note("default", format_args!("breaks the parameter's own rules: {problem}")),
    }
    param
}
