//! What one value of a parameter may be.

use super::{
    pattern::whole,
    types::{Kind, Param},
};

/// Whether a text as a whole matches a pattern; an error is a sentence about the pattern.
pub(super) type Matches = fn(&str, &str) -> Result<bool, String>;

/// The value as it is kept, an integer in its shortest form, or a sentence that begins with the parameter's name.
pub(super) fn canonical(param: &Param, text: &str, matches: Matches) -> Result<String, String> {
    let name = &param.name;
    if text.len() > param.max_bytes {
        return Err(format!("parameter {name} is longer than {} bytes", param.max_bytes));
    }
    if text.chars().any(char::is_control) {
        return Err(format!("parameter {name} holds a control character"));
    }
    match &param.kind {
        Kind::Text => Ok(text.to_owned()),
        Kind::Pattern(pattern) => match matches(pattern, text) {
            Ok(true) => Ok(text.to_owned()),
            Ok(false) => Err(mismatch(param, pattern)),
            Err(problem) => Err(format!("parameter {name} cannot be checked: {problem}")),
        },
        Kind::OneOf(words) if words.iter().any(|word| word == text) => Ok(text.to_owned()),
        Kind::OneOf(words) => Err(format!("parameter {name} must be one of {}", quoted(words))),
        Kind::Integer(low, high) => integer(text)
            .filter(|number| (low..=high).contains(&number))
            .map(|number| number.to_string())
            .ok_or_else(|| format!("parameter {name} must be an integer{}", bounds(*low, *high))),
    }
}

pub(super) fn mismatch(param: &Param, pattern: &str) -> String {
    format!("parameter {} does not match {pattern}", param.name)
}

/// The sentence without the pattern, which is the administrator's to read and means nothing to a visitor.
pub fn for_visitors(sentence: &str) -> String {
    let parts = sentence.strip_prefix("parameter ").and_then(|rest| rest.split_once(' '));
    let about_pattern = |why: &str| why.starts_with("does not match ") || why.starts_with("cannot be checked: ");
    match parts {
        Some((name, why)) if about_pattern(why) => format!("parameter {name} is not valid here"),
        _ => sentence.to_owned(),
    }
}

/// Digits, with a `-` at most: no `+`, no space.
fn integer(text: &str) -> Option<i64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if plain { text.parse().ok() } else { None }
}

fn bounds(low: i64, high: i64) -> String {
    match (low, high) {
        (i64::MIN, i64::MAX) => String::new(),
        (low, i64::MAX) => format!(", {low} or more"),
        (i64::MIN, high) => format!(", {high} or less"),
        (low, high) => format!(" from {low} to {high}"),
    }
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
}

/// The real thing: the whole text must match.
pub(super) fn matches(pattern: &str, text: &str) -> Result<bool, String> {
    match whole(pattern) {
        Ok(regex) => Ok(regex.is_match(text)),
        Err(_) => Err(format!("its pattern {pattern:?} is not a regular expression")),
    }
}

/// A pattern that is none is told to whoever queues something.
#[expect(clippy::unnecessary_wraps, reason = "it stands in for `matches`")]
pub(super) fn matches_if_sound(pattern: &str, text: &str) -> Result<bool, String> {
    Ok(matches(pattern, text).unwrap_or(true))
}

/// For the time when patterns are not looked at.
#[expect(clippy::unnecessary_wraps, reason = "it stands in for `matches`")]
pub(super) const fn matches_anyway(_pattern: &str, _text: &str) -> Result<bool, String> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visitors_read_no_pattern() {
        let told = "parameter title is not valid here";
        assert_eq!(for_visitors("parameter title does not match [A-Z a-z]{1,80}"), told);
        assert_eq!(for_visitors("parameter title cannot be checked: its pattern \"(\" is no good"), told);
        for sentence in ["parameter title is missing", "parameter font must be one of \"a\", \"does not match b\""] {
            assert_eq!(for_visitors(sentence), sentence);
        }
    }
}
