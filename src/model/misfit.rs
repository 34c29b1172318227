//! What is wrong with the values of a request: a kind and its details, which each language puts into its own words.

use std::fmt;

/// Why a request is invalid. Prints as the English sentence of the command line and of JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    Missing(String),
    Repeated(String),
    NotUtf8(String),
    /// With the most bytes that it may have.
    TooLong(String, usize),
    Control(String),
    Mismatch {
        param: String,
        pattern: String,
    },
    /// Its pattern cannot be used.
    Unchecked {
        param: String,
        problem: String,
    },
    NotOneOf {
        param: String,
        words: Vec<String>,
    },
    NotInteger {
        param: String,
        low: i64,
        high: i64,
    },
    /// A command would take it for an option.
    LikeAnOption(String),
    Unknown {
        exporter: String,
        name: String,
        near: Option<String>,
    },
    /// A word with a meaning of its own, such as `format`, likewise.
    WordRepeated(&'static str),
    WordNotUtf8(&'static str),
    /// A time, and the sentence about it.
    NotATime {
        text: String,
        sentence: String,
    },
    /// The time that was given with this word.
    Ahead(&'static str),
    /// A sentence without details.
    Said(&'static str),
}

impl Misfit {
    /// The name of its kind in the files of the languages. `None`: they know the sentence itself.
    pub const fn kind(&self) -> Option<&'static str> {
        Some(match self {
            Self::Missing(_) => "missing",
            Self::Repeated(_) | Self::WordRepeated(_) => "repeated",
            Self::NotUtf8(_) | Self::WordNotUtf8(_) => "not_utf8",
            Self::TooLong(..) => "too_long",
            Self::Control(_) => "control",
            Self::Mismatch { .. } | Self::Unchecked { .. } => "mismatch",
            Self::NotOneOf { .. } => "not_one_of",
            Self::NotInteger { low: i64::MIN, high: i64::MAX, .. } => "not_integer",
            Self::NotInteger { high: i64::MAX, .. } => "not_integer_from",
            Self::NotInteger { low: i64::MIN, .. } => "not_integer_to",
            Self::NotInteger { .. } => "not_integer_between",
            Self::LikeAnOption(_) => "like_an_option",
            Self::Unknown { near: None, .. } => "unknown",
            Self::Unknown { near: Some(_), .. } => "unknown_near",
            Self::NotATime { .. } => "not_a_time",
            Self::Ahead(_) => "ahead",
            Self::Said(_) => return None,
        })
    }

    /// What stands for a placeholder in the words of its kind. The pattern is the administrator's and no detail.
    pub fn detail(&self, name: &str) -> Option<String> {
        match (self, name) {
            (Self::TooLong(_, most), "most") => Some(most.to_string()),
            (Self::NotOneOf { words, .. }, "words") => Some(quoted(words)),
            (Self::NotInteger { low, .. }, "low") => Some(low.to_string()),
            (Self::NotInteger { high, .. }, "high") => Some(high.to_string()),
            (Self::Unknown { name, .. }, "param") => Some(harmless(name)),
            (Self::Unknown { near, .. }, "near") => near.clone(),
            (Self::NotATime { text, .. }, "text") => Some(harmless(text)),
            (_, "param") => self.param().map(str::to_owned),
            _ => None,
        }
    }

    fn param(&self) -> Option<&str> {
        match self {
            Self::Missing(param)
            | Self::Repeated(param)
            | Self::NotUtf8(param)
            | Self::TooLong(param, _)
            | Self::Control(param)
            | Self::LikeAnOption(param)
            | Self::Mismatch { param, .. }
            | Self::Unchecked { param, .. }
            | Self::NotOneOf { param, .. }
            | Self::NotInteger { param, .. } => Some(param),
            Self::WordRepeated(word) | Self::WordNotUtf8(word) | Self::Ahead(word) => Some(word),
            Self::Unknown { .. } | Self::NotATime { .. } | Self::Said(_) => None,
        }
    }

    /// The sentence without the pattern, which is the administrator's to read and means nothing to a visitor.
    pub fn for_visitors(&self) -> String {
        match self {
            Self::Mismatch { param, .. } | Self::Unchecked { param, .. } => {
                format!("parameter {param} is not valid here")
            }
            other => other.to_string(),
        }
    }
}

/// Controls, and what turns the direction of reading around, in the form of escapes.
fn harmless(text: &str) -> String {
    text.escape_debug().to_string()
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
}

fn bounds(low: i64, high: i64) -> String {
    match (low, high) {
        (i64::MIN, i64::MAX) => String::new(),
        (low, i64::MAX) => format!(", {low} or more"),
        (i64::MIN, high) => format!(", {high} or less"),
        (low, high) => format!(" from {low} to {high}"),
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(param) => write!(f, "parameter {param} is missing"),
            Self::Repeated(param) => write!(f, "parameter {param} is given more than once"),
            Self::NotUtf8(param) => write!(f, "parameter {param} is not valid UTF-8"),
            Self::TooLong(param, most) => write!(f, "parameter {param} is longer than {most} bytes"),
            Self::Control(param) => write!(f, "parameter {param} contains a control character"),
            Self::Mismatch { param, pattern } => write!(f, "parameter {param} does not match {pattern}"),
            Self::Unchecked { param, problem } => write!(f, "parameter {param} cannot be checked: {problem}"),
            Self::NotOneOf { param, words } => write!(f, "parameter {param} must be one of {}", quoted(words)),
            Self::NotInteger { param, low, high } => {
                write!(f, "parameter {param} must be an integer{}", bounds(*low, *high))
            }
            Self::LikeAnOption(param) => {
                write!(f, "parameter {param} must not begin with \"-\", which would make it an option")
            }
            Self::Unknown { exporter, name, near } => {
                write!(f, "{exporter} has no parameter {name:?}")?;
                near.as_ref().map_or(Ok(()), |near| write!(f, "; did you mean {near:?}?"))
            }
            Self::WordRepeated(word) => write!(f, "{word} is given more than once"),
            Self::WordNotUtf8(word) => write!(f, "{word} is not valid UTF-8"),
            Self::NotATime { sentence, .. } => f.write_str(sentence),
            Self::Ahead(word) => write!(f, "the time given with {word} lies ahead"),
            Self::Said(sentence) => f.write_str(sentence),
        }
    }
}

impl From<Misfit> for String {
    fn from(misfit: Misfit) -> Self {
        misfit.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visitors_read_no_pattern() {
        let (param, pattern) = ("title".to_owned(), "[A-Z a-z]{1,80}".to_owned());
        let mismatch = Misfit::Mismatch { param: param.clone(), pattern: pattern.clone() };
        assert_eq!(mismatch.to_string(), "parameter title does not match [A-Z a-z]{1,80}");
        for secret in [mismatch, Misfit::Unchecked { param: param.clone(), problem: pattern }] {
            assert_eq!(secret.for_visitors(), "parameter title is not valid here");
            assert_eq!(secret.detail("pattern"), None);
        }
        assert_eq!(Misfit::Missing(param).for_visitors(), "parameter title is missing");
    }
}
