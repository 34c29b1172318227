//! Our own addresses, as paths without a host: nothing that a client claims about hosts is believed.

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

use super::{query, request::WebRequest, variables::Variables};

/// What a path may not hold as it is. A backslash would be a slash to a browser.
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

/// The address of a wish, with other words than it came with.
#[derive(Clone, Debug)]
pub(super) struct Address {
    path: String,
    pairs: Vec<(String, String)>,
}

impl Address {
    /// What is asked for and since when it counts, and none of the words that say how to answer.
    pub(super) fn of(variables: &Variables, wish: &WebRequest) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let exporter = wish.exporter_in_query.then(|| ("exporter".to_owned(), text(&wish.exporter)));
        let values = wish.values.iter().map(|(name, value)| (text(name), text(value)));
        let after = wish.after.iter().map(|after| ("after".to_owned(), after.clone()));
        Self { path: path(variables), pairs: exporter.into_iter().chain(values).chain(after).collect() }
    }

    /// The address of the request as it came, whatever it asks for.
    pub(super) fn itself(variables: &Variables) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let pairs = query::decode(variables.query()).into_iter().map(|(name, value)| (text(name), text(value)));
        Self { path: path(variables), pairs: pairs.collect() }
    }

    /// The same with one word set.
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
        let query = query::encode(self.pairs.iter().map(|(name, value)| (&**name, &**value)));
        let mark = if query.is_empty() { "" } else { "?" };
        write!(out, "{}{mark}{query}", self.path)
    }
}

/// Where a visitor whose request is no good can go: to the page of this site that led here, else to the site's first
/// page. Only a path is taken from what the client says, so it leads nowhere else.
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
    // This page itself leads no further.
    (is_here && from != path(variables)).then(|| from + &query)
}

/// As the client wrote it if the server tells, since rewriting shows in the other variables. Two slashes at the
/// beginning would name a host.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::request::Method;

    fn wish(pairs: &[(&str, &str)]) -> WebRequest {
        WebRequest {
            method: Method::Get,
            exporter: b"epub".to_vec(),
            exporter_in_query: false,
            values: pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            form: None,
            after: None,
            wait: None,
            refresh: false,
        }
    }

    fn address(variables: &[(&str, &str)], wish: &WebRequest) -> String {
        Address::of(&Variables::of(variables), wish).to_string()
    }

    #[test]
    fn an_address_leads_back_to_where_the_request_came() {
        let wish = wish(&[("title", "d’Alembert & fils+")]);
        let uri =
            [("REQUEST_URI", "/export/epub?title=x&format=json"), ("SCRIPT_NAME", "/cgi"), ("PATH_INFO", "/epub")];
        assert_eq!(address(&uri, &wish), "/export/epub?title=d%E2%80%99Alembert+%26+fils%2B");
        assert_eq!(address(&uri[1..], &wish), "/cgi/epub?title=d%E2%80%99Alembert+%26+fils%2B");
        let json = Address::of(&Variables::of(&uri), &wish).with("format", "json").with("format", "file");
        assert!(json.to_string().ends_with("fils%2B&format=file"));
    }

    #[test]
    fn no_address_leads_to_another_host_or_out_of_its_line() {
        let plain = wish(&[]);
        assert_eq!(address(&[("REQUEST_URI", "//evil.example/epub")], &plain), "/evil.example/epub");
        assert_eq!(address(&[("REQUEST_URI", "/\\evil.example")], &plain), "/%5Cevil.example");
        assert_eq!(address(&[("REQUEST_URI", "http://evil.example/"), ("SCRIPT_NAME", "/x")], &plain), "/x");
        assert_eq!(address(&[("SCRIPT_NAME", "/x"), ("PATH_INFO", "/a\r\nb%<\"")], &plain), "/x/a%0D%0Ab%25%3C%22");
    }

    #[test]
    fn an_exporter_named_in_the_query_stays_there() {
        let wish = WebRequest { exporter_in_query: true, after: Some("@5".into()), ..wish(&[("t", "1")]) };
        assert_eq!(address(&[("REQUEST_URI", "/x")], &wish), "/x?exporter=epub&t=1&after=%405");
    }
}
