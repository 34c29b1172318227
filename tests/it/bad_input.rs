//! What a request may get wrong, each with its message and exit code. Nothing of it is queued.

use std::{ffi::OsString, os::unix::ffi::OsStringExt};

use serde_json::json;

use crate::support::site::Site;

const RULES: &str = r#"
[exporter.epub.params.lang]
pattern = "[a-z]{2}"
required = false
[exporter.epub.params.font]
one_of = ["", "serif"]
required = false
[exporter.epub.params.pages]
integer = "1..100"
required = false
[exporter.free]
command = ["/bin/echo", "{text}"]
filename = "{text}.txt"
[exporter.free.params.text]
max_bytes = 10
"#;

fn site() -> Site {
    Site::new().more(RULES).create()
}

#[track_caller]
fn invalid(site: &Site, values: &[&str], reason: &str) {
    let words: Vec<_> = ["request", "epub"].iter().chain(values).copied().collect();
    site.run(&words).exits(65).stdout(&format!("invalid {reason}\n")).stderr("");
    let json: Vec<_> = words.iter().copied().chain(["--format", "json"]).collect();
    assert_eq!(site.run(&json).exits(65).json(), json!({ "state": "invalid", "reason": reason }));
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}

#[test]
fn an_unknown_exporter() {
    let site = site();
    site.run(&["request", "epup", "title=x"]).exits(64).stdout("invalid there is no exporter \"epup\"\n").stderr("");
    let answer = site.run(&["request", "e\npub", "--format", "json"]).exits(64).json();
    assert_eq!(answer, json!({ "state": "invalid", "reason": "there is no exporter \"e\\npub\"" }));
}

#[test]
fn parameters_unknown_repeated_and_missing() {
    let site = site();
    invalid(&site, &["title=x", "titel=y"], "epub has no parameter \"titel\"; did you mean \"title\"?");
    invalid(&site, &["title=x", "title=x"], "parameter title is given more than once");
    invalid(&site, &[], "parameter title is missing");
}

#[test]
fn values_that_break_their_rules() {
    let site = site();
    for (value, name) in [("lang=FR", "lang"), ("font=comic", "font"), ("pages=0", "pages"), ("pages=1e2", "pages")] {
        let done = site.run(&["request", "epub", "title=x", value]);
        done.exits(65).says("invalid parameter ").says(name).stderr("");
    }
    site.run(&["request", "free", "text=elevenbytes"]).exits(65).says("invalid parameter text").says("10");
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}

#[test]
fn control_characters_and_invalid_utf8() {
    let site = site();
    for bad in ["title=a\nb", "title=a\tb", "title=\u{1b}[31m", "title=a\u{7f}", "title=a\u{85}b"] {
        site.run(&["request", "epub", bad]).exits(65).says("invalid parameter title").says("control").stderr("");
    }
    let word = OsString::from_vec(b"title=\xff\xfe".to_vec());
    let done = site.run(&[OsString::from("request"), "epub".into(), word]);
    done.exits(65).stdout("invalid parameter title is not valid UTF-8\n");
    let word = OsString::from_vec(b"\xff=x".to_vec());
    site.run(&[OsString::from("request"), "epub".into(), word]).exits(65).says("has no parameter");
    let exporter = OsString::from_vec(b"\xff".to_vec());
    site.run(&[OsString::from("request"), exporter]).exits(64).says("there is no exporter");
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}

/// A value must not become an option of the exporter's command.
#[test]
fn a_value_that_would_be_an_option() {
    let site = site();
    site.run(&["request", "free", "text=-rf"]).exits(65).says("invalid ").says("text").stderr("");
    site.run(&["request", "free", "text=r-f"]).exits(75);
    site.run(&["request", "epub", "title=-x"]).exits(65);
}

#[test]
fn wrong_usage() {
    let site = site();
    for words in [
        &["request"] as &[&str],
        &["request", "epub", "title"],
        &["request", "epub", "title=x", "--priority", "11"],
        &["request", "epub", "title=x", "--priority", "high"],
        &["request", "epub", "title=x", "--wait", "soon"],
        &["request", "epub", "title=x", "--after", "25:00"],
        &["request", "epub", "title=x", "--not-before", "2026-03-32"],
        &["request", "epub", "title=x", "--format", "xml"],
        &["request", "epub", "title=x", "--colour"],
        &["print"],
        &["tick", "now"],
    ] {
        let done = site.run(words);
        done.exits(64).stdout("");
        assert!(!done.err().is_empty(), "{words:?}");
        let text = done.err();
        assert!(!text.contains("panicked"), "{text}");
    }
    let answer = site.run(&["request", "epub", "title=x", "--after", "noon", "--format", "json"]).exits(64).json();
    assert_eq!(answer["state"], "invalid");
    let answer = site.run(&["request", "epub", "--wait=soon", "--format=json"]).exits(64).json();
    assert_eq!(answer["state"], "invalid");
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}

#[test]
fn help_and_version_are_no_mistake() {
    let site = site();
    site.run(&["--version"]).exits(0).says("pressroom ");
    site.run(&["request", "--help"]).exits(0).says("--after");
    let bare = site.run::<&str>(&[]);
    bare.exits(64).warns("Usage");
}

/// What was queued is checked again at the claim: the configuration may have changed.
#[test]
fn a_row_that_no_longer_fits_is_not_started() {
    let site = site();
    site.run(&["request", "epub", "title=x", "lang=fr"]).exits(75);
    site.run(&["request", "free", "text=x"]).exits(75);
    let plain = "[exporter.plain]\ncommand = [\"/bin/cp\", \"/etc/passwd\", \"{output}\"]\nfilename = \"plain.txt\"\n";
    let site = site.more(&format!("{RULES}{plain}"));
    site.run(&["request", "plain"]).exits(75);
    let site = site.more(&format!("[exporter.epub.params.lang]\nrequired = false\none_of = [\"de\", \"\"]\n{plain}"));
    site.tick().exits(0).stdout("").warns("failed: spawn, parameter lang must be one of");
    let site = site.more(&format!("{RULES}{plain}"));
    site.run(&["request", "epub", "title=x", "lang=fr"]).exits(70);
    site.run(&["request", "free", "text=x"]).exits(75);
    site.run(&["request", "plain"]).exits(0);
    site.tick().exits(0);
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE exporter = 'free'"), 1, "it was held until now");
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE exporter = 'epub'"), 0);
}
