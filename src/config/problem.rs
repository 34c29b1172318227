//! What is wrong with a configuration file, and where; and the known word that is nearest to a mistyped one.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Everything that is wrong with one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub file: PathBuf,
    /// In the order of the file; never empty.
    pub problems: Vec<ConfigProblem>,
}

/// One mistake and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// From 1; 0 if the file could not be read at all.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    pub message: String,
}

impl ConfigError {
    /// The file could not even be read.
    pub(super) fn unread(file: &Path, message: String) -> Self {
        Self { file: file.to_owned(), problems: vec![ConfigProblem { line: 0, column: 0, message }] }
    }

    /// Sorts by place and turns byte offsets in `text` into lines and columns.
    pub(super) fn new(file: &Path, text: &str, mut found: Vec<(usize, String)>) -> Self {
        found.sort();
        found.dedup();
        let problems = found.into_iter().map(|(at, message)| ConfigProblem::new(text, at, message)).collect();
        Self { file: file.to_owned(), problems }
    }
}

impl ConfigProblem {
    fn new(text: &str, at: usize, message: String) -> Self {
        let before = &text[..text.floor_char_boundary(at)];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        Self { line, column: before[start..].chars().count() + 1, message }
    }
}

impl fmt::Display for ConfigError {
    /// One line for each problem, as compilers write them, so that editors find the place.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, ConfigProblem { line, column, message }) in self.problems.iter().enumerate() {
            let end = if number == 0 { "" } else { "\n" };
            write!(out, "{end}{}:", self.file.display())?;
            if *line > 0 {
                write!(out, "{line}:{column}:")?;
            }
            write!(out, " {message}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// `; did you mean "ttl"?`, or nothing if no word is near.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|near| format!("; did you mean {near:?}?")).unwrap_or_default()
}

pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = word.chars().count().div_ceil(3).min(3);
    let near = |known: &&'a str| distance(word, known) <= limit;
    known.into_iter().filter(near).min_by_key(|known| distance(word, known))
}

/// Letters to insert, remove, replace or swap with their neighbour.
fn distance(one: &str, two: &str) -> usize {
    let (one, two): (Vec<_>, Vec<_>) = (one.to_lowercase().chars().collect(), two.chars().collect());
    let (mut before, mut last) = (Vec::new(), (0..=two.len()).collect::<Vec<_>>());
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in two.iter().enumerate() {
            let mut steps = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == two[j - 1] && one[i - 1] == *b {
                steps = steps.min(before[j - 1] + 1);
            }
            row.push(steps);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[two.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["ttl", "grace", "stale", "max_size"];

    #[test]
    fn a_near_miss_is_recognised_and_a_strange_word_is_not() {
        assert_eq!(hint("ttll", KNOWN), "; did you mean \"ttl\"?");
        assert_eq!(hint("tlt", KNOWN), "; did you mean \"ttl\"?");
        assert_eq!(hint("maxsize", KNOWN), "; did you mean \"max_size\"?");
        assert_eq!(hint("Stale", KNOWN), "; did you mean \"stale\"?");
        assert_eq!(hint("colour", KNOWN), "");
        assert_eq!(hint("x", KNOWN), "");
    }

    #[test]
    fn a_swap_is_one_step() {
        assert_eq!(distance("grcae", "grace"), 1);
        assert_eq!(distance("", "ab"), 2);
    }
}
