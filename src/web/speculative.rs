//! Requests that nobody has made: a browser fetches or renders a page ahead of a click that may never come.

use super::variables::Variables;

/// The header that browsers send today, and those that older ones sent.
const HEADERS: [&str; 4] = ["HTTP_SEC_PURPOSE", "HTTP_PURPOSE", "HTTP_X_PURPOSE", "HTTP_X_MOZ"];
const PURPOSES: [&str; 3] = ["prefetch", "prerender", "preview"];

/// Whether the browser says that it asks ahead of its user. Parameters, as in `prefetch;prerender`, do not matter.
pub(super) fn is_speculative(variables: &Variables) -> bool {
    let values = HEADERS.iter().filter_map(|name| variables.text(name));
    let mut words = values.flat_map(|value| value.split([',', ';'])).map(str::trim);
    words.any(|word| PURPOSES.iter().any(|purpose| word.eq_ignore_ascii_case(purpose)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_prefetch_is_known() {
        for (name, value) in [
            ("HTTP_SEC_PURPOSE", "prefetch"),
            ("HTTP_SEC_PURPOSE", "prerender"),
            ("HTTP_SEC_PURPOSE", "prefetch;prerender"),
            ("HTTP_SEC_PURPOSE", "prefetch; anonymous-client-ip"),
            ("HTTP_PURPOSE", "Prefetch"),
            ("HTTP_X_MOZ", "prefetch"),
            ("HTTP_X_PURPOSE", "preview"),
        ] {
            assert!(is_speculative(&Variables::of(&[(name, value)])), "{name}: {value}");
        }
        for (name, value) in [
            ("HTTP_SEC_PURPOSE", "navigate"),
            ("HTTP_SEC_PURPOSE", ""),
            ("HTTP_X_MOZ", "livebookmarks"),
            ("HTTP_ACCEPT", "prefetch"),
        ] {
            assert!(!is_speculative(&Variables::of(&[(name, value)])), "{name}: {value}");
        }
    }
}
