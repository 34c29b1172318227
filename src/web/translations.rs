//! The files that pages are made of, the site's own in `http.templates` or else ours, and the texts of a page in one
//! language. A text that a language file leaves out is in English.

use std::{borrow::Cow, io::ErrorKind, path::Path};

use toml::{Table, Value};

use super::negotiation::{self, FALLBACK};
use crate::{logging, model::misfit::Misfit};

#[derive(Clone, Debug)]
pub(super) struct Words {
    /// `de`, `pt-br`.
    pub(super) language: String,
    table: Table,
}

impl Words {
    /// In the first of the reader's languages that is available.
    pub(super) fn choose(templates: Templates, accept_language: &str) -> Self {
        let language = negotiation::choose(accept_language, |tag| templates.file(&format!("{tag}.toml")).is_some());
        let mut table = english();
        if let Some(own) = templates.file(&format!("{language}.toml")) {
            overlay(&mut table, read(&own, &language));
        }
        Self { language, table }
    }

    pub(super) const fn table(&self) -> &Table {
        &self.table
    }

    /// One text; empty if it is missing.
    pub(super) fn text(&self, group: &str, name: &str) -> &str {
        self.table.get(group).and_then(|group| group.get(name)).and_then(Value::as_str).unwrap_or_default()
    }

    /// A sentence of the program or of an exporter in this language; unchanged if there is no translation.
    pub(super) fn sentence<'a>(&'a self, sentence: &'a str) -> &'a str {
        let known = self.table.get("sentences").and_then(|known| known.get(sentence)).and_then(Value::as_str);
        known.unwrap_or(sentence)
    }

    /// Why a request is not valid, in this language. In right-to-left languages quoted text keeps its own direction.
    pub(super) fn misfit(&self, misfit: &Misfit) -> String {
        let Some(kind) = misfit.kind() else { return self.sentence(&misfit.to_string()).to_owned() };
        let is_rtl = self.table.get("direction").and_then(Value::as_str) == Some("rtl");
        let put = |name: &str| {
            let detail = misfit.detail(name).unwrap_or_default();
            if is_rtl { format!("\u{2068}{detail}\u{2069}") } else { detail }
        };
        filled(self.text("unfit", kind), put)
    }

    /// A duration as one says it: `4 min`.
    pub(super) fn duration(&self, seconds: u64) -> String {
        let (unit, length) = match seconds {
            0..90 => ("seconds", 1),
            90..5400 => ("minutes", 60),
            _ => ("hours", 3600),
        };
        self.number(unit, ((seconds + length / 2) / length).max(1))
    }

    pub(super) fn number(&self, phrase: &str, number: u64) -> String {
        self.text("phrases", phrase).replace("{n}", &number.to_string())
    }
}

/// Replaces each `{name}` once, so that the values may contain braces.
fn filled(text: &str, put: impl Fn(&str) -> String) -> String {
    let mut parts = text.split('{');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        whole.push_str(&put(name));
        whole.push_str(rest);
    }
    whole
}

fn english() -> Table {
    read(built_in("en.toml").unwrap_or_default(), FALLBACK)
}

fn read(text: &str, language: &str) -> Table {
    text.parse().unwrap_or_else(|error| {
        logging::diagnostic_line(format_args!("cannot use {language}.toml of http.templates: {error}"));
        Table::new()
    })
}

fn overlay(below: &mut Table, above: Table) {
    for (name, value) in above {
        match (below.get_mut(&name), value) {
            (Some(Value::Table(below)), Value::Table(above)) => overlay(below, above),
            (_, value) => drop(below.insert(name, value)),
        }
    }
}

/// A file of the pages that is built in.
macro_rules! built_in {
    ($name:literal) => {
        ($name, include_str!(concat!("pages/", $name)))
    };
}

const BUILT_IN: [(&str, &str); 7] = [
    built_in!("page.html"),
    built_in!("style.css"),
    built_in!("script.js"),
    built_in!("en.toml"),
    built_in!("de.toml"),
    built_in!("fr.toml"),
    built_in!("ar.toml"),
];

#[derive(Clone, Copy, Debug)]
pub(super) struct Templates<'a> {
    own: Option<&'a Path>,
}

impl<'a> Templates<'a> {
    pub(super) const fn new(own: Option<&'a Path>) -> Self {
        Self { own }
    }

    /// Whether the site has templates of its own, which may use pictures and styles of the site.
    pub(super) const fn are_own(self) -> bool {
        self.own.is_some()
    }

    /// The site's file of this name, else ours.
    pub(super) fn file(self, name: &str) -> Option<Cow<'static, str>> {
        self.own_file(name).map(Cow::Owned).or_else(|| built_in(name).map(Cow::Borrowed))
    }

    /// If a file cannot be read, the built-in one is used: visitors still get their files.
    fn own_file(self, name: &str) -> Option<String> {
        let path = self.own?.join(name);
        match std::fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                logging::diagnostic_line(format_args!("cannot read {}: {error}", path.display()));
                None
            }
        }
    }
}

/// Our own file of this name.
pub(super) fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::answer::Delay;

    fn keys(table: &Table, before: &str) -> Vec<String> {
        let below = |(name, value): (&String, &Value)| match value {
            Value::Table(table) => keys(table, &format!("{before}{name}.")),
            _ => vec![format!("{before}{name}")],
        };
        table.iter().flat_map(below).collect()
    }

    /// What a language leaves out is said in English.
    #[test]
    fn every_language_has_every_text_and_the_same_placeholders() {
        let of = |language: &str| read(built_in(&format!("{language}.toml")).unwrap(), language);
        let names = |text: &str| {
            let names = text.split('{').skip(1).filter_map(|part| part.split('}').next().map(str::to_owned));
            names.collect::<std::collections::BTreeSet<_>>()
        };
        let english = english();
        for language in ["de", "fr", "ar"] {
            let other = of(language);
            for (group, texts) in english.iter().filter_map(|(group, texts)| Some((group, texts.as_table()?))) {
                for (name, text) in texts {
                    let own = other.get(group).and_then(|group| group.get(name)).and_then(Value::as_str);
                    let own = own.unwrap_or_else(|| panic!("{language} lacks {group}.{name}"));
                    assert_eq!(names(own), names(text.as_str().unwrap()), "{language}: {group}.{name}");
                }
            }
        }
    }

    #[test]
    fn every_language_says_the_same_things() {
        for language in ["de", "fr", "ar"] {
            let own = read(built_in(&format!("{language}.toml")).unwrap(), language);
            assert_eq!(keys(&own, ""), keys(&english(), ""), "{language}");
        }
    }

    #[test]
    fn every_delay_is_told_in_every_language() {
        for language in ["en", "de", "fr", "ar"] {
            let words = Words::choose(Templates::new(None), language);
            for delay in Delay::EACH {
                assert_ne!(words.text("delays", delay.code()), "", "{language}: {delay:?}");
            }
        }
    }

    #[test]
    fn durations_are_said_in_round_numbers() {
        let words = Words::choose(Templates::new(None), "de");
        assert_eq!(words.language, "de");
        assert_eq!([0, 89, 90, 150, 7200].map(|s| words.duration(s)), ["1 s", "89 s", "2 min", "3 min", "2 h"]);
    }

    #[test]
    fn a_language_of_the_site_is_filled_up_with_english() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("it.toml"), "[queued]\ntitle = \"In coda\"").unwrap();
        let words = Words::choose(Templates::new(Some(dir.path())), "it");
        assert_eq!((words.text("queued", "title"), words.text("labels", "progress")), ("In coda", "Progress"));
    }

    #[test]
    fn a_broken_language_file_is_english() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("it.toml"), "[queued").unwrap();
        let words = Words::choose(Templates::new(Some(dir.path())), "it");
        assert_eq!(words.text("labels", "progress"), "Progress");
    }
}

#[cfg(test)]
mod templates_tests {
    use super::*;

    #[test]
    fn the_site_replaces_some_files_and_has_ours_for_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("style.css"), "b {}").unwrap();
        std::fs::write(dir.path().join("it.toml"), "").unwrap();
        let templates = Templates::new(Some(dir.path()));
        assert_eq!(templates.file("style.css").unwrap(), "b {}");
        assert_eq!(templates.file("it.toml").unwrap(), "");
        assert_eq!(templates.file("page.html").as_deref(), built_in("page.html"));
        assert_eq!(templates.file("xx.toml"), None);
        assert_eq!(Templates::new(None).file("it.toml"), None);
    }
}
