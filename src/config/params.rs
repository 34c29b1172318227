//! The parameters of a request: checked value by value, completed by their defaults, and in the order of the configuration.
//!
//! One function compiles the patterns, so that `check` and a request never differ.

use std::fmt::Write;

use regex::Regex;

use super::{
    problem,
    types::{Condition, Exporter, LaneRules, Param, ParamKind},
};
use crate::model::{
    misfit::Misfit,
    template::{Piece, pieces},
};

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
    accept(exporter, given, |_| matches)
}

/// As `check`, but no pattern is compiled, which is the dearest part of it.
///
/// # Errors
/// One sentence that names the parameter.
pub fn check_without_patterns(exporter: &Exporter, given: &[(Vec<u8>, Vec<u8>)]) -> Result<Values, Misfit> {
    accept(exporter, given, |_| matches_anyway)
}

/// As `check`, but patterns are looked at only for values that the filename does not tell. Enough to look whether a file
/// is in the cache: of those that it tells, it only got there by way of `check`. Whoever queues a job calls
/// [`check_patterns`] as well.
///
/// # Errors
/// One sentence that names the parameter.
pub fn check_for_a_look(exporter: &Exporter, given: &[(Vec<u8>, Vec<u8>)]) -> Result<Values, Misfit> {
    accept(exporter, given, |param| if param.key { matches_anyway } else { matches_if_sound })
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
        match matches(pattern, text) {
            Ok(true) => {}
            Ok(false) => return Err(Unfit::Value(mismatch(param, pattern))),
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
    refuse_options(exporter, &values)?;
    Ok(values)
}

fn refuse_unknown(exporter: &Exporter, given: &[(Vec<u8>, Vec<u8>)]) -> Result<(), Misfit> {
    let known = |name: &[u8]| exporter.params.iter().any(|param| param.name.as_bytes() == name);
    let Some((name, _)) = given.iter().find(|(name, _)| !known(name)) else { return Ok(()) };
    let name: String = String::from_utf8_lossy(name).chars().take(64).collect();
    let near = problem::nearest(&name, exporter.params.iter().map(|param| &*param.name)).map(str::to_owned);
    Err(Misfit::Unknown { exporter: exporter.name.clone(), name, near })
}

/// `Ok(None)`: absent.
fn value(param: &Param, given: &[(Vec<u8>, Vec<u8>)], matches: Matches) -> Result<Option<Value>, Misfit> {
    let optional = !param.required && param.default.is_none();
    let is_filled = param.required && param.kind == ParamKind::Text;
    let text = match single(param, given)? {
        Some("") if optional || is_filled => None,
        Some(text) => Some(canonical(param, text, matches)?),
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

/// Whether a text as a whole matches a pattern; an error is a sentence about the pattern.
pub(super) type Matches = fn(&str, &str) -> Result<bool, String>;

/// The value as it is kept, an integer in its shortest form.
pub(super) fn canonical(param: &Param, text: &str, matches: Matches) -> Result<String, Misfit> {
    let name = || param.name.clone();
    if text.len() > param.max_bytes {
        return Err(Misfit::TooLong(name(), param.max_bytes));
    }
    if text.chars().any(char::is_control) {
        return Err(Misfit::Control(name()));
    }
    match &param.kind {
        ParamKind::Text => Ok(text.to_owned()),
        ParamKind::Pattern(pattern) => match matches(pattern, text) {
            Ok(true) => Ok(text.to_owned()),
            Ok(false) => Err(mismatch(param, pattern)),
            Err(problem) => Err(Misfit::Unchecked { param: name(), problem }),
        },
        ParamKind::OneOf(words) if words.iter().any(|word| word == text) => Ok(text.to_owned()),
        ParamKind::OneOf(words) => Err(Misfit::NotOneOf { param: name(), words: words.clone() }),
        ParamKind::Integer(low, high) => integer(text)
            .filter(|number| (low..=high).contains(&number))
            .map(|number| number.to_string())
            .ok_or_else(|| Misfit::NotInteger { param: name(), low: *low, high: *high }),
    }
}

pub(super) fn mismatch(param: &Param, pattern: &str) -> Misfit {
    Misfit::Mismatch { param: param.name.clone(), pattern: pattern.to_owned() }
}

/// Digits, with a `-` at most: no `+`, no space.
fn integer(text: &str) -> Option<i64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if plain { text.parse().ok() } else { None }
}

/// The real thing: the whole text must match.
pub(super) fn matches(pattern: &str, text: &str) -> Result<bool, String> {
    match whole(pattern) {
        Ok(regex) => Ok(regex.is_match(text)),
        Err(_) => Err(format!("its pattern {pattern:?} is not a regular expression")),
    }
}

/// An invalid pattern is reported to whoever queues something.
#[expect(clippy::unnecessary_wraps, reason = "it stands in for `matches`")]
pub(super) fn matches_if_sound(pattern: &str, text: &str) -> Result<bool, String> {
    Ok(matches(pattern, text).unwrap_or(true))
}

/// For the time when patterns are not looked at.
#[expect(clippy::unnecessary_wraps, reason = "it stands in for `matches`")]
pub(super) const fn matches_anyway(_pattern: &str, _text: &str) -> Result<bool, String> {
    Ok(true)
}

/// A pattern that has to match the whole text, whatever alternatives, flags and comments it holds.
///
/// By itself it is compiled as well: `a)|(b` is only sound between the two parentheses that are put around it.
///
/// # Errors
/// What is wrong with it, in the words of the regex crate.
pub(super) fn whole(pattern: &str) -> Result<Regex, String> {
    let reason = |error: regex::Error| {
        error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
    };
    Regex::new(pattern).map_err(reason)?;
    let anchored = Regex::new(&format!(r"\A(?:{pattern})\z"));
    // A sound pattern fails there if it ends in a comment, `(?x) [a-z]+ # letters`, which takes the closing
    // parenthesis with it. A line break ends the comment, and means nothing where there can be comments.
    anchored.or_else(|_| Regex::new(&format!("\\A(?:{pattern}\n)\\z"))).map_err(reason)
}

/// What is wrong with the pattern of a parameter, or with the default that has to match it.
pub(super) fn problem(param: &Param) -> Option<String> {
    let ParamKind::Pattern(pattern) = &param.kind else { return None };
    let name = &param.name;
    if let Err(reason) = whole(pattern) {
        return Some(format!("the pattern {pattern:?} of parameter {name} is not a regular expression: {reason}"));
    }
    let default = param.default.as_deref()?;
    let problem = canonical(param, default, matches).err()?;
    Some(format!("the default {default:?} breaks the parameter's own rules: {problem}"))
}

/// An argument that begins with a placeholder must not come out as an option, unless a `--` stands before it.
pub(super) fn refuse_options(exporter: &Exporter, values: &Values) -> Result<(), Misfit> {
    let mut arguments = exporter.command.iter().skip(1).take_while(|argument| *argument != "--");
    match arguments.find_map(|argument| option_from(argument, values)) {
        Some(name) => Err(Misfit::LikeAnOption(name.to_owned())),
        None => Ok(()),
    }
}

/// The placeholder that an argument begins with, if the argument comes out with a `-` in front.
fn option_from<'a>(argument: &'a str, values: &Values) -> Option<&'a str> {
    let mut parts = pieces(argument).map(|(piece, _)| piece).peekable();
    let Some(&Piece::Name(first)) = parts.peek() else { return None };
    let text = |piece| match piece {
        Piece::Text(text) | Piece::Stray(text) => text,
        Piece::Name("output" | "source") => "/",
        Piece::Name(name) => values.get(name).unwrap_or_default(),
    };
    parts.map(text).find(|text| !text.is_empty())?.starts_with('-').then_some(first)
}

#[cfg(test)]
#[path = "params_tests.rs"]
mod tests;

#[cfg(test)]
mod pattern_tests {
    use super::*;

    #[track_caller]
    fn matched<'a>(pattern: &str, texts: &[&'a str]) -> Vec<&'a str> {
        let regex = whole(pattern).unwrap_or_else(|reason| panic!("{pattern}: {reason}"));
        texts.iter().copied().filter(|text| regex.is_match(text)).collect()
    }

    #[test]
    fn a_pattern_matches_the_whole_text_whatever_it_holds() {
        assert_eq!(matched("a|ab", &["a", "ab", "abc", "xa", ""]), ["a", "ab"]);
        assert_eq!(matched("(?x) [a-z]+ # letters", &["emma", "Emma", "a b", "emma\n", "emma # letters"]), ["emma"]);
        assert_eq!(matched("(?x) a | # one\n b # two", &["a", "b", "ab", "a\n", "b\n"]), ["a", "b"]);
        assert_eq!(matched("(?xi)a#)", &["a", "A", "a)"]), ["a", "A"]);
        assert_eq!(matched("(?i)emma", &["EMMA", "Emma ", "emma"]), ["EMMA", "emma"]);
        assert_eq!(matched("a#", &["a#", "a", "a#\n"]), ["a#"]);
        assert_eq!(matched("(?m)^a$", &["a", "a\n", "a\nb", "b\na"]), ["a"]);
        assert_eq!(matched("a$", &["a", "a\n"]), ["a"]);
        assert_eq!(matched("", &["", "a"]), [""]);
    }

    #[test]
    fn what_is_only_sound_between_parentheses_is_refused() {
        for pattern in ["a)|(b", "a)(?:b", "(", "[", "a\\", "(?x)a)#", "(?P<n>a)(?P<n>b)"] {
            assert!(whole(pattern).is_err(), "{pattern}");
        }
    }
}
