//! The defaults that the manual page and the guide tell are those of the program.

use super::{BOOK, config};

const PAGE: &str = include_str!("../../../docs/man/pressroom.toml.5");
const GUIDE: &str = include_str!("../../../docs/configuration.md");

/// A section's name and a line of it, such as `cache` and `ttl = "10m"`.
type Line = (String, String);

/// The section as it is called in the file below; `None` for what has no defaults that could be written alone.
fn section(heading: &str) -> Option<&'static str> {
    let name = heading.split(['[', ']']).find(|part| part.starts_with(|c: char| c.is_ascii_lowercase()));
    match name {
        None => Some(""),
        Some(name) => [
            ("cache", "cache"),
            ("host", "host"),
            ("queue.NAME", "queue.default"),
            ("http", "http"),
            ("exporter.NAME", "exporter.epub"),
            ("exporter.NAME.limits", "exporter.epub.limits"),
            ("exporter.NAME.params.PARAM", "exporter.epub.params.title"),
            ("notify", "notify"),
            ("status", "status"),
            ("history", "history"),
            ("log", "log"),
        ]
        .into_iter()
        .find_map(|(heading, section)| (heading == name).then_some(section)),
    }
}

/// Of `.It Ic timeout No = Qo 5m Qc , Ic kill_after No = Qq 5s` both.
fn items(line: &str) -> impl Iterator<Item = String> {
    let items = line.strip_prefix(".It Ic ").unwrap_or_default().split(" , Ic ");
    items.filter(|item| item.contains(" No = ")).map(|item| {
        let (key, value) = item.split_once(" No = ").unwrap();
        let value = value.replace("Qo ", "\"").replace(" Qc", "\"");
        let value = value.strip_prefix("Qq ").map_or(value.clone(), |word| format!("\"{word}\""));
        format!("{key} = {value}")
    })
}

fn of_the_page() -> Vec<Line> {
    let mut lines = Vec::new();
    for part in PAGE.split("\n.Ss ").skip(1) {
        let heading = part.lines().next().unwrap().replace("Top level", "");
        if let Some(name) = section(&heading) {
            lines.extend(part.lines().flat_map(items).map(|line| (name.to_owned(), line)));
        }
    }
    lines
}

/// Of a row of a table: the key of its first cell and the code with which its second one begins.
fn row(line: &str) -> Option<String> {
    let (key, rest) = line.strip_prefix("| `")?.split_once("` | `")?;
    let value = rest.split('`').next()?;
    Some(format!("{key} = {value}"))
}

fn of_the_guide() -> Vec<Line> {
    let mut lines = Vec::new();
    let guide = GUIDE.replace("\n### ", "\n## ").replace("\n## At the top", "\n## ");
    for part in guide.split("\n## ").skip(1) {
        let heading = part.lines().next().unwrap();
        if heading.is_empty() || heading.starts_with('`') {
            lines.extend(
                section(heading)
                    .into_iter()
                    .flat_map(|name| part.lines().filter_map(row).map(move |line| (name.to_owned(), line))),
            );
        }
    }
    lines
}

/// A whole file in which the lines stand, each below its section.
fn file(lines: &[Line]) -> String {
    let book = BOOK.replace("required = true\n", "");
    let rest = "[cache]\n[host]\n[queue.default]\n[http]\n[exporter.epub.limits]\n[notify]\ncommand = [\"bin/notify\"]\n\
                [status]\n[history]\n[log]\n";
    let mut text = format!("[]\n{book}{rest}");
    for (section, line) in lines {
        text = text.replacen(&format!("[{section}]\n"), &format!("[{section}]\n{line}\n"), 1);
    }
    text.replacen("[]\n", "", 1)
}

#[track_caller]
fn are_the_programs(lines: &[Line], least: usize) {
    assert!(lines.len() >= least, "{lines:#?}");
    let bare = format!("{:#?}", config(&file(&[])));
    for line in lines {
        let text = file(std::slice::from_ref(line));
        assert!(text.contains(&line.1), "{line:?}");
        let told = format!("{:#?}", config(&text));
        // Whether an exporter's own time to wait was written counts for schedules.
        let told = if line.1.starts_with("queued_ttl") { bare.clone() } else { told };
        assert_eq!(told, bare, "{line:?} is not the default");
    }
}

#[test]
fn the_manual_page_tells_the_defaults_of_the_program() {
    are_the_programs(&of_the_page(), 55);
}

#[test]
fn the_guide_tells_the_defaults_of_the_program() {
    are_the_programs(&of_the_guide(), 50);
}
