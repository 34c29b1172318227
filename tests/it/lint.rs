//! An HTTP linter over every kind of answer, as the web front writes them.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use crate::support::{
    site::{Done, Site},
    web::{RULES, cgi, program},
};

type Headers<'a> = &'a [(&'a str, &'a str)];

fn linter() -> Option<String> {
    let installed = format!("{}/target/needs/venv/bin/httplint", env!("CARGO_MANIFEST_DIR"));
    [installed, "/usr/local/bin/httplint".to_owned()].into_iter().find(|path| std::path::Path::new(path).exists())
}

/// The answer as a server hands it on: with a status line and a date.
fn over_http(done: &Done) -> Vec<u8> {
    let output = done.out();
    let (status, rest) = output.strip_prefix("Status: ").unwrap().split_once("\r\n").unwrap();
    let now = httpdate::fmt_http_date(std::time::SystemTime::now());
    format!("HTTP/1.1 {status}\r\nDate: {now}\r\n{rest}").into_bytes()
}

#[track_caller]
fn assert_clean(linter: &str, what: &str, message: &[u8]) {
    let mut command = Command::new(linter);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(message).unwrap();
    let notes = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(notes.contains("[GOOD]"), "{what}: {notes}");
    assert!(!notes.contains("[BAD]"), "{what}: {notes}\n{}", String::from_utf8_lossy(message));
}

#[test]
fn a_linter_finds_no_error_in_any_answer() {
    let Some(linter) = linter() else {
        crate::support::outside::skipped("an HTTP linter", "httplint is not installed");
        return;
    };
    let script = r#"[ "$2" = Bad ] && exit 65; printf "%s\n" "$2" >"$1""#;
    let site = Site::new().exporter_with(script, RULES).more("[http]\nrefresh = \"0s\"\n").create();
    for title in ["Emma", "Bad", "d’Ägypte"] {
        site.ask(title).exits(75);
    }
    site.tick().exits(0);
    let answers: [(&str, &str, Headers); 11] = [
        ("GET", "title=Emma", &[]),
        ("GET", "title=d%E2%80%99%C3%84gypte", &[]),
        ("GET", "title=Emma", &[("HTTP_RANGE", "bytes=1-2")]),
        ("GET", "title=Emma", &[("HTTP_RANGE", "bytes=9-")]),
        ("GET", "title=Emma", &[("HTTP_IF_NONE_MATCH", "*")]),
        ("GET", "title=Emma&format=json", &[]),
        ("GET", "title=Emma&refresh=1", &[]),
        ("GET", "title=Nana", &[]),
        ("GET", "title=Nana&format=json", &[]),
        ("GET", "title=Bad", &[]),
        ("DELETE", "title=Emma", &[]),
    ];
    for (method, query, headers) in answers {
        let done = Done::of(cgi(&site, method, "/epub", query).envs(headers.iter().copied()));
        assert_clean(&linter, &format!("{method} {query} {headers:?}"), &over_http(&done));
    }
}

#[test]
fn a_linter_finds_no_error_in_the_status_page() {
    let Some(linter) = linter() else {
        crate::support::outside::skipped("an HTTP linter for the status page", "httplint is not installed");
        return;
    };
    let site = Site::new().create();
    let answers: [(&str, &str, Headers); 7] = [
        ("GET", "", &[("REMOTE_USER", "anna")]),
        ("GET", "page=jobs", &[("REMOTE_USER", "anna")]),
        ("GET", "format=json", &[("REMOTE_USER", "anna")]),
        ("GET", "page=nonsense", &[("REMOTE_USER", "anna")]),
        ("GET", "page=act", &[("REMOTE_USER", "anna")]),
        ("POST", "page=act", &[("REMOTE_USER", "anna")]),
        ("GET", "", &[]),
    ];
    for (method, query, headers) in answers {
        let done = Done::of(program(&site, "status", method, query).envs(headers.iter().copied()));
        assert_clean(&linter, &format!("status {method} {query} {headers:?}"), &over_http(&done));
    }
}
