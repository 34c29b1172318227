//! `[[exporter.NAME.lane]]`: another queue for some values.

use toml::de::DeValue;

use super::{
    sheet::TableReader,
    types::{Condition, LaneRules, Param, ParamKind},
    words,
};

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
    let text = words::scalar(value).ok_or("must be a value or a range such as \"..20\"")?;
    match (kind, words::range(&text)) {
        (None | Some(ParamKind::Integer(..)), Some((low, high))) => Ok(Condition::Range(low, high)),
        (Some(ParamKind::Integer(..)), None) => {
            let number = text.parse().map_err(|_| format!("is {text:?}, but the parameter is an integer"))?;
            Ok(Condition::Range(Some(number), Some(number)))
        }
        (Some(ParamKind::OneOf(words)), None) if !words.contains(&text) => {
            Err(format!("is {text:?}, which the parameter never is"))
        }
        (Some(_), Some(_)) => Err("is a range, but the parameter is not an integer".to_owned()),
        (_, None) => Ok(Condition::Equals(text)),
    }
}
