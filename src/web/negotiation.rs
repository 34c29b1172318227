//! Content negotiation (RFC 9110, section 12): `Accept` decides between JSON, a page and a line of text, `Accept-Language`
//! selects the first of the reader's languages that we have (RFC 4647, lookup). Both are lists whose members carry a
//! weight: `de;q=0.8, en`.

use std::cmp::Reverse;

/// The form of an answer while there is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Representation {
    /// JSON is named, and HTML is not preferred to it.
    Json,
    /// HTML is named: a browser.
    Page,
    /// One line of text, since neither is named: curl, wget or a reader app would save a page in place of the file.
    Line,
}

/// What this header names. Wildcards name nothing, so `*/*` and a missing header are [`Representation::Line`].
pub(super) fn representation(accept: &str) -> Representation {
    let ranges: Vec<_> = list(accept).collect();
    let of = |kind: &str| ranges.iter().find(|(name, _)| name.eq_ignore_ascii_case(kind)).map_or(0, |(_, q)| *q);
    let json = of("application/json");
    match of("text/html").max(of("application/xhtml+xml")) {
        html if json > html => Representation::Json,
        0 => Representation::Line,
        _ => Representation::Page,
    }
}

/// The language when none of the reader's is available.
pub(super) const FALLBACK: &str = "en";
/// More than any browser sends, so that no client makes us look up a million languages.
const MAX_LANGUAGES: usize = 20;

/// The best language for which `has` answers yes, as a lower-case tag such as `de` or `pt-br`.
pub(super) fn choose(accept_language: &str, has: impl Fn(&str) -> bool) -> String {
    let mut wanted: Vec<_> = list(accept_language).take(MAX_LANGUAGES).filter(|(_, weight)| *weight > 0).collect();
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

/// The members and their weights in thousandths, in the order of the list. An invalid weight counts as 0.
pub(super) fn list(text: &str) -> impl Iterator<Item = (&str, u16)> {
    let members = text.split(',').map(|member| {
        let mut parts = member.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        (name, weight.map_or(1000, thousandths))
    });
    members.filter(|(name, _)| !name.is_empty())
}

/// `0`, `0.8`, `1.000`: one digit and at most three more.
fn thousandths(weight: &str) -> u16 {
    let (whole, fraction) = weight.split_once('.').unwrap_or((weight, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() != 1 || fraction.len() > 3 || !digits(whole) || !digits(fraction) {
        return 0;
    }
    format!("{whole}{fraction:0<3}").parse().ok().filter(|weight| *weight <= 1000).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_counts_and_wildcards_name_nothing() {
        let cases: [(Representation, &[&str]); 3] = [
            (
                Representation::Json,
                &[
                    "application/json",
                    "Application/JSON; charset=utf-8",
                    "application/json, text/plain, */*",
                    "application/json, text/javascript, */*; q=0.01",
                    "text/html;q=0.5, application/json;q=0.6",
                    "text/html;q=0, application/json",
                ],
            ),
            (
                Representation::Page,
                &[
                    "text/html",
                    "TEXT/HTML;level=1",
                    "application/xhtml+xml",
                    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
                    "text/html, application/json",
                    "application/json;q=0, text/html",
                    "application/json;q=0.2, text/html;q=0.9",
                ],
            ),
            (
                Representation::Line,
                &[
                    "",
                    "*/*",
                    "text/*",
                    "application/*",
                    "image/*",
                    "image/avif,image/webp,*/*;q=0.8",
                    "application/epub+zip",
                    "application/epub+zip, */*;q=0.1",
                    "application/json;q=0",
                    "text/html;q=0, */*",
                    "application/jsonp",
                    ",;q=,/",
                ],
            ),
        ];
        for (wanted, headers) in cases {
            for header in headers {
                assert_eq!(representation(header), wanted, "{header}");
            }
        }
    }
}

#[cfg(test)]
mod language_tests {
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

#[cfg(test)]
mod quality_tests {
    use super::*;

    #[test]
    fn a_member_without_a_weight_has_the_highest() {
        let read: Vec<_> = list("de;q=0.8, en , ;q=1, fr ;Q=0, x;q=nan, y;level=1;q=0.123, z;q=1.001").collect();
        assert_eq!(read, [("de", 800), ("en", 1000), ("fr", 0), ("x", 0), ("y", 123), ("z", 0)]);
    }
}
