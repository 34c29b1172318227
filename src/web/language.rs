//! `Accept-Language`: the first language of the reader's that we have (RFC 4647, lookup).

use std::cmp::Reverse;

use super::quality;

/// What is spoken when nothing else fits.
pub(super) const FALLBACK: &str = "en";
/// More than any browser sends: nobody makes us look up a million languages.
const MOST: usize = 20;

/// The best language for which `has` answers yes, as a lower-case tag such as `de` or `pt-br`.
pub(super) fn choose(accept_language: &str, has: impl Fn(&str) -> bool) -> String {
    let mut wanted: Vec<_> = quality::list(accept_language).take(MOST).filter(|(_, weight)| *weight > 0).collect();
    wanted.sort_by_key(|(_, weight)| Reverse(*weight)); // stable: equals stay in the reader's order
    let found = wanted.iter().filter(|(tag, _)| is_tag(tag)).find_map(|(tag, _)| lookup(tag, &has));
    found.unwrap_or_else(|| FALLBACK.to_owned())
}

/// `zh-Hant-TW`, then `zh-Hant`, then `zh`.
fn lookup(tag: &str, has: impl Fn(&str) -> bool) -> Option<String> {
    let tag = tag.to_ascii_lowercase();
    let ends = std::iter::once(tag.len()).chain(tag.rmatch_indices('-').map(|(at, _)| at));
    ends.map(|end| &tag[..end]).find(|tag| has(tag)).map(str::to_owned)
}

/// Letters, digits and hyphens only: a tag becomes part of a file's name.
fn is_tag(tag: &str) -> bool {
    (2..=35).contains(&tag.len()) && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str) -> String {
        choose(text, |tag| ["en", "de", "fr", "ar", "pt-br"].contains(&tag))
    }

    #[test]
    fn the_first_language_that_we_have_is_spoken() {
        assert_eq!(chosen("de-CH,de;q=0.9,en;q=0.8"), "de");
        assert_eq!(chosen("it, fr;q=0.3, ar;q=0.7"), "ar");
        assert_eq!(chosen("PT-BR"), "pt-br");
        assert_eq!(chosen("pt"), "en");
        assert_eq!(chosen("de;q=0, *"), "en");
        assert_eq!(chosen(""), "en");
        assert_eq!(chosen("../../etc/passwd, fr"), "fr");
    }
}
