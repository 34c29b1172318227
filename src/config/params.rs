//! The parameters of a request: checked, completed by their defaults, and in the order of the configuration.

use std::fmt::Write;

use super::{
    command, nearest,
    types::{Condition, Exporter, LaneRules, Param, ParamKind},
    values::{self, Matches},
};
use crate::model::misfit::Misfit;

/// The values of one request, defaults included, in the order of the configuration. A parameter that is neither
/// required nor given and has no default is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(Vec<Value>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Value {
    name: String,
    text: String,
    /// An integer in its shortest form.
    integer: bool,
}

impl Values {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|value| value.name == name).map(|value| &*value.text)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|value| (&*value.name, &*value.text))
    }

    /// A JSON object, integers as numbers, everything else as strings.
    pub fn to_json(&self) -> String {
        let mut json = String::from("{");
        for Value { name, text, integer } in &self.0 {
            let comma = if json.len() > 1 { "," } else { "" };
            let text = if *integer { text.clone() } else { quoted(text) };
            let _ = write!(json, "{comma}{}:{text}", quoted(name)); // writing to a string cannot fail
        }
        json.push('}');
        json
    }

    /// Reads what `to_json` wrote and checks it again: the configuration may have changed since.
    ///
    /// # Errors
    /// One sentence, as `check` gives it.
    pub fn from_json(exporter: &Exporter, json: &str) -> Result<Self, String> {
        let unreadable = "the stored parameters are not a JSON object of strings and integers";
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).map_err(|_| unreadable)?;
        let bytes = |value| match value {
            serde_json::Value::String(text) => Ok(text.into_bytes()),
            serde_json::Value::Number(number) => Ok(number.to_string().into_bytes()),
            _ => Err(unreadable),
        };
        let given = object.into_iter().map(|(name, value)| Ok((name.into_bytes(), bytes(value)?)));
        Ok(check(exporter, &given.collect::<Result<Vec<_>, &str>>()?)?)
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Checks what was given against the rules of `exporter`. An empty value of a parameter that is neither required nor
/// has a default counts as not given, and so does an empty text where one is required: that is what a web form sends
/// for a field left empty.
///
/// # Errors
/// One sentence that names the parameter.
pub fn check(exporter: &Exporter, given: &[(Vec<u8>, Vec<u8>)]) -> Result<Values, Misfit> {
    accept(exporter, given, |_| values::matches)
}

/// As `check`, but no pattern is compiled, which is the dearest part of it.
///
/// # Errors
/// One sentence that names the parameter.
pub fn check_without_patterns(exporter: &Exporter, given: &[(Vec<u8>, Vec<u8>)]) -> Result<Values, Misfit> {
    accept(exporter, given, |_| values::matches_anyway)
}

/// As `check`, but patterns are looked at only for values that the filename does not tell. Enough to look whether a file
/// is in the cache: of those that it tells, it only got there by way of `check`. Whoever queues a job calls
/// [`check_patterns`] as well.
///
/// # Errors
/// One sentence that names the parameter.
pub fn check_for_a_look(exporter: &Exporter, given: &[(Vec<u8>, Vec<u8>)]) -> Result<Values, Misfit> {
    accept(exporter, given, |param| if param.key { values::matches_anyway } else { values::matches_if_sound })
}

/// What is wrong with a value, or with the pattern that it has to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    Value(Misfit),
    /// The configuration is to blame.
    Pattern(String),
}

/// The part of `check` that `check_for_a_look` leaves out. A default has been checked with the configuration.
///
/// # Errors
/// One sentence that names the parameter.
pub fn check_patterns(exporter: &Exporter, values: &Values) -> Result<(), Unfit> {
    for param in &exporter.params {
        let (ParamKind::Pattern(pattern), Some(text)) = (&param.kind, values.get(&param.name)) else { continue };
        if Some(text) == param.default.as_deref() {
            continue;
        }
        match values::matches(pattern, text) {
            Ok(true) => {}
            Ok(false) => return Err(Unfit::Value(values::mismatch(param, pattern))),
            Err(problem) => {
                let (exporter, param) = (&exporter.name, &param.name);
                return Err(Unfit::Pattern(format!("parameter {param} of exporter {exporter}: {problem}")));
            }
        }
    }
    Ok(())
}

/// The job's identity: the exporter and the name of its file.
pub fn filename(exporter: &Exporter, values: &Values) -> String {
    let part = |param: &Param| (param.name.clone(), values.get(&param.name).unwrap_or_default().to_owned(), param.key);
    let parts: Vec<_> = exporter.params.iter().map(part).collect();
    crate::model::filename::filename(&exporter.name, exporter.filename.as_deref(), &parts)
}

/// The queue that a new job goes to: that of the first lane whose conditions all hold, else the exporter's own.
pub fn lane<'a>(exporter: &'a Exporter, values: &Values) -> &'a str {
    let fits = |lane: &&LaneRules| lane.when.iter().all(|(name, condition)| holds(condition, values.get(name)));
    exporter.lanes.iter().find(fits).map_or(&exporter.queue, |lane| &lane.queue)
}

fn holds(condition: &Condition, text: Option<&str>) -> bool {
    match condition {
        Condition::Equals(wanted) => text.unwrap_or_default() == wanted,
        Condition::Range(low, high) => text
            .and_then(|text| text.parse::<i64>().ok())
            .is_some_and(|number| low.is_none_or(|low| low <= number) && high.is_none_or(|high| number <= high)),
    }
}

fn accept(
    exporter: &Exporter,
    given: &[(Vec<u8>, Vec<u8>)],
    matches: impl Fn(&Param) -> Matches,
) -> Result<Values, Misfit> {
    refuse_unknown(exporter, given)?;
    let values = exporter.params.iter().filter_map(|param| value(param, given, matches(param)).transpose());
    let values = Values(values.collect::<Result<_, _>>()?);
    command::refuse_options(exporter, &values)?;
    Ok(values)
}

fn refuse_unknown(exporter: &Exporter, given: &[(Vec<u8>, Vec<u8>)]) -> Result<(), Misfit> {
    let known = |name: &[u8]| exporter.params.iter().any(|param| param.name.as_bytes() == name);
    let Some((name, _)) = given.iter().find(|(name, _)| !known(name)) else { return Ok(()) };
    let name: String = String::from_utf8_lossy(name).chars().take(64).collect();
    let near = nearest::nearest(&name, exporter.params.iter().map(|param| &*param.name)).map(str::to_owned);
    Err(Misfit::Unknown { exporter: exporter.name.clone(), name, near })
}

/// `Ok(None)`: absent.
fn value(param: &Param, given: &[(Vec<u8>, Vec<u8>)], matches: Matches) -> Result<Option<Value>, Misfit> {
    let optional = !param.required && param.default.is_none();
    let is_filled = param.required && param.kind == ParamKind::Text;
    let text = match single(param, given)? {
        Some("") if optional || is_filled => None,
        Some(text) => Some(values::canonical(param, text, matches)?),
        None => param.default.clone(),
    };
    if text.is_none() && param.required {
        return Err(Misfit::Missing(param.name.clone()));
    }
    let integer = matches!(param.kind, ParamKind::Integer(..));
    Ok(text.map(|text| Value { name: param.name.clone(), text, integer }))
}

/// The one value that was given for `param`.
fn single<'a>(param: &Param, given: &'a [(Vec<u8>, Vec<u8>)]) -> Result<Option<&'a str>, Misfit> {
    let mut texts = given.iter().filter(|(name, _)| name == param.name.as_bytes()).map(|(_, text)| text);
    let Some(text) = texts.next() else { return Ok(None) };
    if texts.next().is_some() {
        return Err(Misfit::Repeated(param.name.clone()));
    }
    std::str::from_utf8(text).map(Some).map_err(|_| Misfit::NotUtf8(param.name.clone()))
}

#[cfg(test)]
#[path = "params_tests.rs"]
mod tests;
