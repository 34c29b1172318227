//! `Accept`: whether a program wants the JSON or a browser the page (RFC 9110, section 12.5.1).

use super::quality;

/// Whether JSON is asked for by its name and nothing is wanted more. `*/*` alone is a browser, curl or wget.
pub(super) fn wants_json(accept: &str) -> bool {
    let ranges: Vec<_> = quality::list(accept).collect();
    let of = |kind: &str| ranges.iter().filter(|(name, _)| name.eq_ignore_ascii_case(kind)).map(|(_, q)| *q).next();
    let Some(json) = of("application/json").filter(|quality| *quality > 0) else { return false };
    // HTML that only a wildcard mentions loses against JSON that is named.
    of("text/html").or_else(|| of("application/xhtml+xml")).is_none_or(|html| json > html)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_name_json_and_browsers_do_not() {
        for program in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/json, text/plain, */*",
            "application/json, text/javascript, */*; q=0.01",
            "text/html;q=0.5, application/json;q=0.6",
        ] {
            assert!(wants_json(program), "{program}");
        }
        for browser in [
            "",
            "*/*",
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
            "text/html, application/json",
            "application/json;q=0, text/html",
            "application/json;q=0",
            "application/json;q=0.2, text/html;q=0.9",
            "application/jsonp",
            ",;q=,/",
        ] {
            assert!(!wants_json(browser), "{browser}");
        }
    }
}
