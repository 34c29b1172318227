//! What one value of a parameter may be.

use super::{
    pattern::whole,
    types::{Param, ParamKind},
};
use crate::model::misfit::Misfit;

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
