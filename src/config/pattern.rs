//! The regular expressions of parameters. One function compiles them, so that `check` and a request never differ.

use regex::Regex;

use super::{
    types::{Param, ParamKind},
    values,
};

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
    let problem = values::canonical(param, default, values::matches).err()?;
    Some(format!("the default {default:?} does not obey its own rules: {problem}"))
}

#[cfg(test)]
mod tests {
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
