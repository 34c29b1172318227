//! The manual pages name every command, option and key that there is.

use std::{collections::BTreeSet, fs, path::PathBuf, process::Command};

use crate::support::{outside::has, site::Site};

/// Commands with others below them.
const FAMILIES: [(&str, &[&str]); 2] = [
    ("jobs", &["list", "show", "log", "history", "retry", "cancel", "dismiss", "invalidate"]),
    ("queues", &["list", "pause", "resume", "drain"]),
];
const SINGLES: [&str; 7] = ["request", "tick", "status", "check", "try", "backup", "restore"];
/// Options that `pressroom(1)` explains for all of them.
const SHARED: [&str; 5] = ["--config", "--verbose", "--log-format", "--help", "--version"];

fn page(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/man").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn help(site: &Site, words: &[&str]) -> String {
    site.run(&[words, &["--help"]].concat()).exits(0).out()
}

/// The first words of the list below `Commands:`.
fn commands(help: &str) -> BTreeSet<String> {
    let list = help.split("Commands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap_or_default();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("    "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The long options at the beginnings of lines.
fn options(help: &str) -> BTreeSet<String> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let long = lines.filter_map(|line| line.split([' ', ',']).find(|word| word.starts_with("--")));
    long.map(|word| word.trim_end_matches('.').to_owned()).filter(|word| word.len() > 2).collect()
}

fn set<'a>(words: impl IntoIterator<Item = &'a &'a str>) -> BTreeSet<String> {
    words.into_iter().map(|word| (*word).to_owned()).collect()
}

#[track_caller]
fn names_all(page_name: &str, options: &BTreeSet<String>) {
    let page = page(page_name);
    for option in options {
        let written = format!("Fl -{}", option.trim_start_matches("--"));
        let ends = |at: usize| !page[at + written.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-');
        assert!(page.match_indices(&written).any(|(at, _)| ends(at)), "{page_name} does not name {option}");
    }
}

#[test]
fn every_command_has_a_page_that_names_each_of_its_options() {
    let site = Site::new();
    let top = help(&site, &[]);
    let families = FAMILIES.map(|(name, _)| name);
    assert_eq!(commands(&top), set(SINGLES.iter().chain(&families)));
    assert_eq!(options(&top), set(&SHARED));
    names_all("pressroom.1", &options(&top));
    for name in SINGLES {
        names_all(&format!("pressroom-{name}.1"), &(&options(&help(&site, &[name])) - &set(&SHARED)));
    }
    for (family, members) in FAMILIES {
        assert_eq!(commands(&help(&site, &[family])), set(members));
        let text = page(&format!("pressroom-{family}.1"));
        for member in members {
            assert!(text.contains(member), "pressroom-{family}.1 does not name {member}");
            let own = &options(&help(&site, &[family, member])) - &set(&SHARED);
            names_all(&format!("pressroom-{family}.1"), &own);
        }
    }
}

#[test]
fn every_page_tells_exit_statuses_files_and_examples() {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/man");
    let names: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.len() >= 9);
    for name in names {
        let text = page(name.to_str().unwrap());
        for section in ["EXIT STATUS", "FILES", "EXAMPLES", "SEE ALSO"] {
            assert!(text.contains(&format!(".Sh {section}\n")), "{name:?} has no section {section}");
        }
    }
}

/// The numbers that the help explains below `Exit status:`, beside 64, which is left out where it goes without saying.
fn exit_statuses(help: &str) -> BTreeSet<String> {
    let told = help.split("Exit status: ").nth(1).unwrap_or_default().split("\n\n").next().unwrap_or_default();
    let words = told.split_whitespace().map(|word| word.trim_end_matches([',', ';', '.']));
    words.filter(|word| word.parse::<u8>().is_ok_and(|number| number != 64)).map(str::to_owned).collect()
}

#[test]
fn help_and_pages_explain_the_same_exit_statuses() {
    let site = Site::new();
    for name in SINGLES {
        let text = page(&format!("pressroom-{name}.1"));
        let list = text.split(".Sh EXIT STATUS\n").nth(1).unwrap().split(".Sh ").next().unwrap();
        let listed = list.lines().filter_map(|line| line.strip_prefix(".It ")).filter(|number| *number != "64");
        assert_eq!(exit_statuses(&help(&site, &[name])), listed.map(str::to_owned).collect(), "{name}");
    }
}

/// The test data of the configuration hold every key; an array's brackets and a table's dots are not part of a key.
#[test]
fn every_key_of_the_configuration_is_explained() {
    let everything = include_str!("../../src/config/tests/everything.toml");
    let (page, guide) = (page("pressroom.toml.5"), include_str!("../../docs/configuration.md"));
    for line in everything.lines().filter(|line| !line.starts_with('[')) {
        let key = line.split(" =").next().unwrap().trim();
        assert!(page.contains(&format!("Ic {key}")), "pressroom.toml.5 does not explain {key}");
        assert!(guide.contains(&format!("`{key}`")), "configuration.md does not explain {key}");
    }
}

/// Both systems that show manual pages take a page for one of their own unless it names another.
#[test]
fn rendered_pages_are_pressrooms_and_no_other_systems() {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/man");
    let pages: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    for (program, words) in [("mandoc", &["-T", "utf8"][..]), ("groff", &["-mandoc", "-Tutf8"])] {
        if !has("rendered_pages_are_pressrooms_and_no_other_systems", program) {
            continue;
        }
        for page in &pages {
            let done = Command::new(program).args(words).arg(page).output().unwrap();
            let text = String::from_utf8(done.stdout).unwrap();
            assert!(text.lines().rfind(|line| !line.is_empty()).unwrap().contains("Pressroom"), "{text}");
            assert!(!text.contains("BSD") && !text.contains("Debian"), "{program} {}", page.display());
        }
    }
}

/// A value that a macro puts into quotes must not take the rest of its line with it.
#[test]
fn no_quoted_value_of_a_page_holds_the_next_key() {
    for line in page("pressroom.toml.5").lines().filter(|line| line.starts_with(".It Ic ")) {
        let quoted = line.split(" Qq ").nth(1).unwrap_or_default();
        assert!(!quoted.contains(" , "), "{line}");
    }
}

#[test]
fn the_page_names_every_reserved_parameter() {
    let rules = include_str!("../../src/config/param_rules.rs");
    let list = rules.split("RESERVED: [&str;").nth(1).unwrap().split(';').next().unwrap();
    let names: Vec<_> = list.split('"').skip(1).step_by(2).collect();
    assert!(names.len() >= 7);
    let page = page("pressroom.toml.5");
    let told = page.split("These names are taken:").nth(1).unwrap().split(".Bl").next().unwrap();
    for name in names {
        assert!(told.split_whitespace().any(|word| word == name), "{name} is missing");
    }
}
