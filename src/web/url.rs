//! Our own addresses, as paths without a host: nothing that a client claims about hosts is believed. And query strings and
//! form bodies, `application/x-www-form-urlencoded` in both directions.
//!
//! Values stay bytes until the rules of the exporter check them, so that a value that is not valid UTF-8 is refused by its
//! name and not silently replaced.

use std::borrow::{Borrow, Cow};

use form_urlencoded::Serializer;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode, percent_encode};

use super::variables::Variables;

/// What must be escaped in a path. Browsers read a backslash as a slash.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');
const ESCAPED_OF_PATH_INFO: &AsciiSet = &ESCAPED.add(b'%');

/// The address of a request, whose parameters can be changed.
#[derive(Clone, Debug)]
pub(super) struct Address {
    path: String,
    pairs: Vec<(String, String)>,
}

impl Address {
    /// The path of this request with these pairs as its query.
    pub(super) fn of(variables: &Variables, pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { path: path(variables), pairs: pairs.into_iter().collect() }
    }

    /// The address of the request as it came.
    pub(super) fn itself(variables: &Variables) -> Self {
        Self::of(variables, decode(variables.query()).iter().map(lossy))
    }

    /// The same with one parameter set.
    #[must_use]
    pub(super) fn with(&self, word: &str, value: &str) -> Self {
        let others = self.pairs.iter().filter(|(name, _)| name != word).cloned();
        let pairs = others.chain([(word.to_owned(), value.to_owned())]).collect();
        Self { path: self.path.clone(), pairs }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let query = encode(&self.pairs);
        let mark = if query.is_empty() { "" } else { "?" };
        write!(out, "{}{mark}{query}", self.path)
    }
}

/// Where a visitor with an invalid request can go: to the page of this site that led here, else to the home page of the
/// site. Only a path is taken from the header, so it cannot lead to another host.
pub(super) fn back(variables: &Variables) -> String {
    referring_path(variables).unwrap_or_else(|| "/".to_owned())
}

fn referring_path(variables: &Variables) -> Option<String> {
    let referer = variables.text("HTTP_REFERER")?;
    let rest = referer.strip_prefix("https://").or_else(|| referer.strip_prefix("http://"))?;
    let (host, rest) = rest.split_once('/')?;
    let is_here = variables.text("HTTP_HOST").is_some_and(|here| here.eq_ignore_ascii_case(host));
    let (rest, _) = rest.split_once('#').unwrap_or((rest, ""));
    let (from, query) = rest.split_once('?').map_or((rest, None), |(from, query)| (from, Some(query)));
    let from = format!("/{}", escaped(from.trim_start_matches(['/', '\\']).as_bytes(), ESCAPED));
    let query = query.map(|query| format!("?{}", escaped(query.as_bytes(), ESCAPED))).unwrap_or_default();
    // A link of a page to itself would be of no use.
    (is_here && from != path(variables)).then(|| from + &query)
}

/// The path as the client sent it, if the server hands it on, since the other variables show the rewritten one. Two
/// slashes at the beginning would name a host.
fn path(variables: &Variables) -> String {
    let written = variables.bytes("REQUEST_URI").filter(|uri| uri.starts_with(b"/"));
    let path = if let Some(uri) = written {
        escaped(uri.split(|byte| matches!(byte, b'?' | b'#')).next().unwrap_or_default(), ESCAPED)
    } else {
        let part = |name| variables.bytes(name).unwrap_or_default();
        escaped(&[part("SCRIPT_NAME"), part("PATH_INFO")].concat(), ESCAPED_OF_PATH_INFO)
    };
    format!("/{}", path.trim_start_matches('/'))
}

fn escaped(path: &[u8], set: &'static AsciiSet) -> String {
    percent_encode(path, set).to_string()
}

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

/// The pair as text; what is not UTF-8 is replaced.
pub(super) fn lossy((name, value): &Pair) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(name), text(value))
}

/// The query string of these pairs.
pub(super) fn encode<K, V, P>(pairs: impl IntoIterator<Item = P>) -> String
where
    K: AsRef<str>,
    V: AsRef<str>,
    P: Borrow<(K, V)>,
{
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(variables: &[(&str, &str)], pairs: &[(&str, &str)]) -> String {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Address::of(&Variables::of(variables), pairs).to_string()
    }

    #[test]
    fn an_address_leads_back_to_where_the_request_came() {
        let pairs = [("title", "d’Alembert & fils+")];
        let uri =
            [("REQUEST_URI", "/export/epub?title=x&format=json"), ("SCRIPT_NAME", "/cgi"), ("PATH_INFO", "/epub")];
        assert_eq!(address(&uri, &pairs), "/export/epub?title=d%E2%80%99Alembert+%26+fils%2B");
        assert_eq!(address(&uri[1..], &pairs), "/cgi/epub?title=d%E2%80%99Alembert+%26+fils%2B");
        let json = Address::of(&Variables::of(&uri), [("t".into(), "1".into())]);
        assert_eq!(json.with("format", "json").with("format", "file").to_string(), "/export/epub?t=1&format=file");
    }

    #[test]
    fn no_address_leads_to_another_host_or_out_of_its_line() {
        for (variables, path) in [
            (&[("REQUEST_URI", "//evil.example/epub")][..], "/evil.example/epub"),
            (&[("REQUEST_URI", "/\\evil.example")], "/%5Cevil.example"),
            (&[("REQUEST_URI", "http://evil.example/"), ("SCRIPT_NAME", "/x")], "/x"),
            (&[("SCRIPT_NAME", "/x"), ("PATH_INFO", "/a\r\nb%<\"")], "/x/a%0D%0Ab%25%3C%22"),
        ] {
            assert_eq!(address(variables, &[]), path);
        }
    }
}

#[cfg(test)]
mod query_tests {
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
            let query = encode(&pairs);
            prop_assert!(query.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(texts(&query), pairs);
        }
    }
}
