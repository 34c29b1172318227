//! What a configuration file means, and what is said about a wrong one.

mod accepted;
mod defaults;
mod refused;
mod refused_exporters;

use super::*;

/// The smallest exporter that makes a file, for tests that are about something else.
pub(super) const BOOK: &str = r#"
[exporter.epub]
command = ["bin/export-book", "--title", "{title}", "{output}"]
filename = "{title}.epub"
[exporter.epub.params.title]
required = true
"#;

pub(super) fn config(text: &str) -> Config {
    parse(Path::new("/etc/pressroom/pressroom.toml"), text).unwrap_or_else(|error| panic!("{error}"))
}

/// The problems as `line:column: message`.
pub(super) fn problems(text: &str) -> Vec<String> {
    let error = parse(Path::new("/etc/p.toml"), text).expect_err("the file is wrong");
    error.to_string().lines().map(|line| line.strip_prefix("/etc/p.toml:").unwrap().to_owned()).collect()
}

#[track_caller]
pub(super) fn has_problem(text: &str, wanted: &str) {
    let found = problems(text);
    assert_eq!(found, [wanted], "in {text}");
}
