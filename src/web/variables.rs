//! The variables that RFC 3875 hands to a CGI program, as bytes, and no others: what a client can set begins with
//! `HTTP_` and is read only by the names written here, so that a `Proxy:` header reaches nothing.

use std::{collections::HashMap, ffi::OsString, os::unix::ffi::OsStringExt};

/// The environment of one request.
#[derive(Debug, Default)]
pub(super) struct Variables(HashMap<String, Vec<u8>>);

impl Variables {
    pub(super) fn of_process() -> Self {
        Self(std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, bytes(value)))).collect())
    }

    /// The bytes of a variable; an empty one counts as absent.
    pub(super) fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice).filter(|value| !value.is_empty())
    }

    /// A variable that makes sense as text only; anything else counts as absent.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.bytes(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    pub(super) fn query(&self) -> &[u8] {
        self.bytes("QUERY_STRING").unwrap_or_default()
    }

    pub(super) fn is_head(&self) -> bool {
        self.text("REQUEST_METHOD") == Some("HEAD")
    }

    #[cfg(test)]
    pub(super) fn of(pairs: &[(&str, &str)]) -> Self {
        Self(pairs.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect())
    }
}

fn bytes(value: OsString) -> Vec<u8> {
    value.into_vec()
}
