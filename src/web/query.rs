//! Query strings and form bodies: `application/x-www-form-urlencoded` in both directions.
//!
//! Values stay bytes until the rules of the exporter look at them, so that a value that is not valid UTF-8 is refused
//! by its name and not quietly replaced.

use std::borrow::Cow;

use form_urlencoded::Serializer;
use percent_encoding::percent_decode;

/// One name and its value, decoded.
pub(super) type Pair = (Vec<u8>, Vec<u8>);

/// The pairs of a query or a form, in their order.
pub(super) fn decode(text: &[u8]) -> Vec<Pair> {
    let parts = text.split(|byte| *byte == b'&').filter(|part| !part.is_empty());
    parts.map(pair).collect()
}

fn pair(part: &[u8]) -> Pair {
    let end = part.iter().position(|byte| *byte == b'=').unwrap_or(part.len());
    (unescape(&part[..end]), unescape(part.get(end + 1..).unwrap_or_default()))
}

fn unescape(text: &[u8]) -> Vec<u8> {
    let spaced: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Cow::from(percent_decode(&spaced)).into_owned()
}

/// The query string of these pairs.
pub(super) fn encode<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(query: &str) -> Vec<(String, String)> {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        decode(query.as_bytes()).into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    #[test]
    fn a_plus_is_a_space_and_an_escaped_plus_is_a_plus() {
        assert_eq!(
            decode(b"a=1+2%2B3&b&&=x&a="),
            [
                (b"a".to_vec(), b"1 2+3".to_vec()),
                (b"b".to_vec(), b"".to_vec()),
                (b"".to_vec(), b"x".to_vec()),
                (b"a".to_vec(), b"".to_vec())
            ]
        );
    }

    #[test]
    fn what_is_not_text_stays_bytes() {
        assert_eq!(decode(b"t=%FF%00&u=%zz%4"), [(b"t".to_vec(), vec![0xff, 0]), (b"u".to_vec(), b"%zz%4".to_vec())]);
    }

    proptest! {
        #[test]
        fn it_reads_text_as_the_url_standard_does(query in "[a-c=&+%0-9é]{0,40}") {
            let standard: Vec<_> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
            prop_assume!(percent_decode(query.as_bytes()).decode_utf8().is_ok());
            prop_assert_eq!(texts(&query), standard);
        }

        #[test]
        fn what_is_written_is_read_again(pairs in prop::collection::vec((".{1,9}", ".{0,9}"), 0..5)) {
            let query = encode(pairs.iter().map(|(name, value)| (&**name, &**value)));
            prop_assert!(query.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(texts(&query), pairs);
        }
    }
}
