use std::{path::Path, time::Duration};

use proptest::prelude::*;

use super::{BOOK, config};
use crate::{
    config::{
        choose, parse,
        types::{Condition, Exporter, OutputKind},
    },
    model::{limits::Limits, status::Outcome},
};

/// The documented example with every default written out.
const EVERYTHING: &str = include_str!("everything.toml");

#[test]
fn every_documented_default_is_the_default() {
    let (full, bare) = (config(EVERYTHING), config(&format!("{BOOK}[notify]\ncommand = [\"bin/notify\"]\n")));
    assert_eq!(full.state_dir, bare.state_dir);
    assert_eq!(full.database, bare.database);
    assert_eq!((&full.cache, &full.host, &full.http), (&bare.cache, &bare.host, &bare.http));
    assert_eq!(full.queues["default"], bare.queues["default"]);
    assert_eq!((&full.status, &full.history, &full.notify), (&bare.status, &bare.history, &bare.notify));
    assert_eq!(without_own_values(&full.exporters["epub"]), without_own_values(&bare.exporters["epub"]));
}

/// All of an exporter that has a default, as text.
fn without_own_values(exporter: &Exporter) -> String {
    let mut rest = exporter.clone();
    (rest.command, rest.wrapper, rest.params, rest.lanes) = Default::default();
    (rest.env, rest.filename, rest.web) = Default::default();
    rest.scheduled_ttl = None; // which is the default only where nothing is written
    if let OutputKind::File(file) = &mut rest.output {
        (file.magic, file.ends_with) = Default::default();
    }
    format!("{rest:?}")
}

#[test]
fn an_exporter_keeps_what_the_file_says() {
    let config = config(EVERYTHING);
    let epub = &config.exporters["epub"];
    assert_eq!(epub.command[0], "/etc/pressroom/bin/export-book");
    assert_eq!(epub.params.iter().map(|param| &*param.name).collect::<Vec<_>>(), ["title", "lang", "font", "pages"]);
    assert_eq!(epub.file().unwrap().magic, b"PK\x03\x04");
    assert_eq!(epub.lanes[0].when, [("pages".to_owned(), Condition::Range(None, Some(20)))]);
    assert_eq!(epub.env["OMP_NUM_THREADS"], "1");
    assert!(epub.web && !config.exporters["pdf"].web);
}

#[test]
fn limits_may_grow_to_four_times_their_size() {
    let config = config(&format!("{BOOK}[exporter.epub.limits]\nmemory = \"3GB\"\ncpu = \"none\"\n"));
    let most = &config.exporters["epub"].limits_max;
    let Limits { timeout, memory, cpu, open_files, .. } = *most;
    assert_eq!(timeout, Duration::from_mins(20));
    assert_eq!((memory, cpu, open_files), (Some(12_000_000_000), None, Some(1024)));
}

#[test]
fn a_task_has_a_queue_of_its_own_and_retries_little() {
    let config = config(EVERYTHING);
    let task = &config.exporters["reindex"];
    assert!(task.is_task() && task.retry_temporary && task.retry_on.is_empty());
    assert_eq!((&*task.queue, config.queues["reindex"].max_running), ("reindex", 1));
}

#[test]
fn a_derived_format_without_parameters_has_those_of_its_source() {
    let config = config(EVERYTHING);
    assert_eq!(config.exporters["pdf"].params, config.exporters["epub"].params);
    assert_eq!(config.exporters["pdf"].file().unwrap().content_type, "application/pdf");
}

#[test]
fn the_content_type_follows_the_extension() {
    let of = |name: &str| {
        let text = BOOK.replace("{title}.epub", name);
        config(&text).exporters["epub"].file().unwrap().content_type.clone()
    };
    assert_eq!(of("{title}.epub"), "application/epub+zip");
    assert_eq!(of("{title}.tar.gz"), "application/gzip");
    assert_eq!(of("{title}.wonder"), "application/octet-stream");
}

#[test]
fn relative_paths_start_beside_the_file() {
    let config = config("state_dir = 'state'\ndatabase = 'db/x.db'\n[http]\ntemplates = './pages'\n");
    assert_eq!(config.state_dir, Path::new("/etc/pressroom/state"));
    assert_eq!(config.database, Path::new("/etc/pressroom/state/db/x.db"));
    assert_eq!(config.http.templates.as_deref(), Some(Path::new("/etc/pressroom/pages")));
}

#[test]
fn an_exporter_takes_its_times_from_the_cache() {
    let top = "retry_max_delay = '9m'\n[cache]\nttl = 'none'\nstale = '1d'\n";
    let config = config(&format!("{top}{BOOK}"));
    let epub = &config.exporters["epub"];
    assert_eq!((epub.ttl, epub.stale), (None, Duration::from_hours(24)));
    assert_eq!(epub.retry_max_delay, Duration::from_mins(9));
}

#[test]
fn retry_on_takes_outcomes_and_temporary() {
    let config = config(&BOOK.replace("filename", "retry_on = ['exit', 'no_output']\nfilename"));
    let epub = &config.exporters["epub"];
    assert_eq!((&epub.retry_on[..], epub.retry_temporary), (&[Outcome::Exit, Outcome::NoOutput][..], false));
}

const DOCUMENT: &str = include_str!("../../../docs/configuration.md");

#[test]
fn every_example_of_the_documentation_is_valid() {
    let examples: Vec<_> = DOCUMENT.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() >= 3);
    for example in examples {
        config(example);
    }
}

#[test]
fn every_key_is_documented() {
    let is_key = |key: &&str| !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let keys = EVERYTHING.lines().filter_map(|line| line.split_once('=')).map(|(key, _)| key.trim()).filter(is_key);
    for key in keys {
        assert!(DOCUMENT.contains(&format!("`{key}`")), "{key} is not explained");
    }
}

#[test]
fn the_flag_wins_over_the_variable_and_the_variable_over_the_system() {
    let variable = || Some("/v.toml".into());
    assert_eq!(choose(Some(Path::new("/f.toml")), variable()), Path::new("/f.toml"));
    assert_eq!(choose(None, variable()), Path::new("/v.toml"));
    assert_eq!(choose(None, Some("".into())), Path::new("/etc/pressroom/pressroom.toml"));
    assert_eq!(choose(Some(Path::new("f.toml")), None), std::env::current_dir().unwrap().join("f.toml"));
}

#[test]
fn queues_that_say_nothing_fit_the_host() {
    let config = config("[host]\nmax_running = 2\n[queue.a]\n[queue.b]\nmax_running = 3\n");
    let most: Vec<_> = config.queues.iter().map(|(name, queue)| (&**name, queue.max_running)).collect();
    assert_eq!(most, [("a", 2), ("b", 3), ("default", 2)]);
}

#[test]
fn files_from_other_editors_are_read() {
    let text = format!("\u{feff}{}", BOOK.replace('\n', "\r\n"));
    assert!(config(&text).exporters.contains_key("epub"));
}

proptest! {
    /// A line is lost or damaged in the editor: there is an answer, whatever it is.
    #[test]
    fn no_damage_makes_it_fall_over(line in 0usize..97, at in 0usize..80, damage in "(|.|[\\]\\[{}=\"'.é-]{1,3}|\\.\\.)") {
        let mut lines: Vec<_> = EVERYTHING.lines().map(str::to_owned).collect();
        let length = lines[line].len();
        lines[line].replace_range(at.min(length)..(at + 1).min(length), &damage);
        if let Err(error) = parse(Path::new("/p.toml"), &lines.join("\n")) {
            prop_assert!(error.problems.iter().all(|problem| problem.line > 0 && problem.column > 0));
        }
    }
}
