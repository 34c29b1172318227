//! Typed reads with their defaults.

use std::{fmt, ops::RangeInclusive, time::Duration};

use toml::de::DeValue;

use super::{
    sheet::TableReader,
    words::{self, DURATION, DURATION_OR_NONE, SIZE, SIZE_OR_NONE},
};

impl TableReader<'_> {
    pub(super) fn flag(&self, key: &'static str, default: bool) -> bool {
        self.read(key, "true or false", DeValue::as_bool).unwrap_or(default)
    }

    pub(super) fn text(&self, key: &'static str) -> Option<String> {
        self.read(key, "a string that is not empty", words::text).map(str::to_owned)
    }

    pub(super) fn texts(&self, key: &'static str) -> Vec<String> {
        self.words(key, "a list of strings", words::plain).unwrap_or_default()
    }

    pub(super) fn duration(&self, key: &'static str, default: Duration) -> Duration {
        self.read(key, DURATION, words::duration).unwrap_or(default)
    }

    /// Longer than nothing.
    pub(super) fn some_duration(&self, key: &'static str, default: Duration) -> Duration {
        let what = format_args!("{DURATION}, longer than nothing");
        self.read(key, what, words::some_duration).unwrap_or(default)
    }

    pub(super) fn duration_or_none(&self, key: &'static str, default: Option<Duration>) -> Option<Duration> {
        self.read_or(key, "none", DURATION_OR_NONE, default, words::duration)
    }

    /// Longer than nothing, or "none".
    pub(super) fn some_duration_or_none(&self, key: &'static str, default: Option<Duration>) -> Option<Duration> {
        let what = format_args!("{DURATION}, longer than nothing, or \"none\"");
        self.read_or(key, "none", what, default, words::some_duration)
    }

    pub(super) fn size(&self, key: &'static str, default: u64) -> u64 {
        self.read(key, SIZE, words::size).unwrap_or(default)
    }

    pub(super) fn size_or_none(&self, key: &'static str, default: Option<u64>) -> Option<u64> {
        self.read_or(key, "none", SIZE_OR_NONE, default, words::size)
    }

    pub(super) fn count_or_none(&self, key: &'static str, default: Option<u64>) -> Option<u64> {
        let count = |value: &DeValue<'_>| words::integer(value).and_then(|number| u64::try_from(number).ok());
        self.read_or(key, "none", r#"a number, or "none""#, default, count)
    }

    pub(super) fn count<N>(&self, key: &'static str, range: RangeInclusive<N>, default: N) -> N
    where
        N: TryFrom<i64> + PartialOrd + fmt::Display,
    {
        let what = format_args!("an integer from {} to {}", range.start(), range.end());
        let fitting = |value: &_| N::try_from(words::integer(value)?).ok().filter(|number| range.contains(number));
        self.read(key, what, fitting).unwrap_or(default)
    }

    /// A list of words, each of which `parse` knows. The first one that it does not know is named, at its own place.
    pub(super) fn words<T>(&self, key: &'static str, what: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
        let items = self.read(key, what, DeValue::as_array)?;
        let known = |item: &DeValue<'_>| item.as_str().and_then(&parse);
        if let Some(wrong) = items.iter().find(|item| known(item.get_ref()).is_none()) {
            self.note_at(
                wrong.span().start,
                key,
                format_args!("has {}; it must be {what}", words::shown(wrong.get_ref())),
            );
            return None;
        }
        Some(items.iter().filter_map(|item| known(item.get_ref())).collect())
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)], default: T) -> T {
        let find = |word: &str| words.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning);
        self.read(key, OneOf(words), |value| find(value.as_str()?)).unwrap_or(default)
    }
}

/// Prints as `"get" or "post"`.
struct OneOf<'a, T>(&'a [(&'a str, T)]);

impl<T> fmt::Display for OneOf<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.0.iter().map(|(word, _)| format!("{word:?}")).collect();
        out.write_str(&words.join(" or "))
    }
}
