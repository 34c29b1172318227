//! `Content-Disposition` (RFC 6266): a file to be saved, under a name in ASCII for old programs and the real one.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but the `attr-char` of RFC 8187.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// The header's value for a file of this name.
pub(super) fn attachment(name: &str) -> String {
    format!("attachment; filename=\"{}\"; filename*=UTF-8''{}", plain(name), utf8_percent_encode(name, ESCAPED))
}

/// Programs disagree about `"`, `\` and `%` within the quotes (RFC 6266, appendix D), so none is there.
fn plain(name: &str) -> String {
    let is_safe = |c: char| (c.is_ascii_graphic() || c == ' ') && !matches!(c, '"' | '\\' | '%');
    name.chars().map(|c| if is_safe(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_names_are_given() {
        assert_eq!(
            attachment("Candide-fr.epub"),
            "attachment; filename=\"Candide-fr.epub\"; filename*=UTF-8''Candide-fr.epub"
        );
        assert_eq!(
            attachment("d’Ägypte; \"50%\"\\.epub"),
            "attachment; filename=\"d__gypte; _50___.epub\"; \
             filename*=UTF-8''d%E2%80%99%C3%84gypte%3B%20%2250%25%22%5C.epub"
        );
    }

    proptest! {
        #[test]
        fn no_name_leaves_its_quotes_or_its_line(name in ".{0,40}") {
            let header = attachment(&name);
            prop_assert!(header.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()));
            prop_assert_eq!(header.matches('"').count(), 2);
            let (_, escaped) = header.rsplit_once("''").unwrap();
            let decoded = percent_encoding::percent_decode_str(escaped).decode_utf8().unwrap();
            prop_assert_eq!(decoded, name);
        }
    }
}
