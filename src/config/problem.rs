//! What is wrong with a configuration file, and where.

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
