//! `Accept`: whether a client wants the JSON, the page, or nothing but the file (RFC 9110, section 12.5.1).

use super::quality;

/// What a client can use while there is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    /// JSON is named, and nothing is wanted more.
    Json,
    /// HTML is named: a browser.
    Page,
    /// Neither is named: curl, wget or a reader app, which would save a page in place of the file.
    Line,
}

/// What this header asks for by name. Wildcards name nothing, so `*/*` and a missing header are [`Wants::Line`].
pub(super) fn wants(accept: &str) -> Wants {
    let ranges: Vec<_> = quality::list(accept).collect();
    let of = |kind: &str| ranges.iter().find(|(name, _)| name.eq_ignore_ascii_case(kind)).map_or(0, |(_, q)| *q);
    let json = of("application/json");
    match of("text/html").max(of("application/xhtml+xml")) {
        html if json > html => Wants::Json,
        0 => Wants::Line,
        _ => Wants::Page,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_counts_and_wildcards_name_nothing() {
        let cases: [(Wants, &[&str]); 3] = [
            (
                Wants::Json,
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
                Wants::Page,
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
                Wants::Line,
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
                assert_eq!(wants(header), wanted, "{header}");
            }
        }
    }
}
