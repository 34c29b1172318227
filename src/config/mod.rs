//! `pressroom.toml`: from text to a checked `Config`. Everything in it has been looked at once; nothing is looked up
//! again later.
//!
//! `load` is part of every request, so it reads one file and nothing else: no pattern is compiled and no program
//! looked for. That is left to `deep_problems`.

pub mod command;
mod crosscheck;
mod deep;
mod executable;
mod exporter;
mod http;
mod limits;
mod param_rules;
pub mod params;
mod problem;
mod reader;
mod sections;
#[cfg(test)]
mod tests;
pub mod types;
mod values;

#[cfg(test)]
pub use self::deep::LONGEST_PAUSE;
pub use self::{
    deep::{deep_problems, warnings},
    problem::{ConfigError, hint},
    reader::{Identity, read as read_text},
    types::*,
};

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use toml::de::{DeTable, DeValue};

use super::{
    config::{
        exporter::Around,
        reader::{Reader, TableReader},
    },
    model::client::ClientNames,
};

pub const FILE: &str = "/etc/pressroom/pressroom.toml";
const STATE_DIR: &str = "/var/lib/pressroom";
const DATABASE: &str = "queue/pressroom.db";
const CLIENT_NAMES: [(&str, ClientNames); 2] = [("hashed", ClientNames::Hashed), ("plain", ClientNames::Plain)];

/// The configuration file to read: that of `--config`, else `$PRESSROOM_CONFIG`, else the system's.
pub fn locate(flag: Option<&Path>) -> PathBuf {
    choose(flag, std::env::var_os("PRESSROOM_CONFIG"))
}

fn choose(flag: Option<&Path>, variable: Option<OsString>) -> PathBuf {
    let named = variable.filter(|name| !name.is_empty()).map(PathBuf::from);
    let path = flag.map(Path::to_owned).or(named).unwrap_or_else(|| PathBuf::from(FILE));
    std::path::absolute(&path).unwrap_or(path)
}

/// Reads and checks a configuration file.
///
/// # Errors
/// Every problem of the file at once, each with its line and column.
pub fn load(path: &Path) -> Result<Config, ConfigError> {
    let file = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (text, _) = reader::read(&file)?;
    parse(&file, &text)
}

/// Checks the text of the configuration file `file`, which is absolute.
///
/// # Errors
/// Every problem of the text at once, each with its line and column.
pub fn parse(file: &Path, text: &str) -> Result<Config, ConfigError> {
    let (root, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let place = |error: &toml::de::Error| (error.span().map_or(0, |span| span.start), error.message().to_owned());
        return Err(ConfigError::new(file, text, errors.iter().map(place).collect()));
    }
    let reader = Reader::new(root.get_ref());
    let config = read(file, &reader);
    let found = reader.found.into_inner();
    if found.is_empty() { Ok(config) } else { Err(ConfigError::new(file, text, found)) }
}

fn read(file: &Path, reader: &Reader<'_>) -> Config {
    let dir = file.parent().unwrap_or(Path::new("/"));
    let top = reader.top();
    let state_dir = absolute(dir, &top.text("state_dir").unwrap_or_else(|| STATE_DIR.to_owned()));
    let cache = sections::cache(&top);
    let exporters = exporters(&top, dir, &cache, reader);
    let host = sections::host(&top);
    let log = sections::log(&top, |path| absolute(&state_dir, path));
    let config = Config {
        file: file.to_owned(),
        database: database(&top, &state_dir),
        state_dir,
        time_zone: top.text("time_zone"),
        client_names: top.word("client_names", &CLIENT_NAMES, ClientNames::default()),
        queues: queues(&top, &exporters, &host),
        host,
        http: http::read(&top, dir),
        schedules: sections::schedules(&top, &exporters),
        notify: sections::notify(&top, dir),
        status: sections::status(&top),
        history: sections::history(&top),
        log,
        cache,
        exporters,
        broken: OnceLock::new(),
    };
    for exporter in config.exporters.values() {
        crosscheck::exporter(exporter, &config.queues, reader);
    }
    top.done();
    config
}

fn exporters(top: &TableReader<'_>, dir: &Path, cache: &CacheRules, reader: &Reader<'_>) -> BTreeMap<String, Exporter> {
    let around = Around { dir, cache, retry_max_delay: sections::retry_max_delay(top, sections::HOUR) };
    let read = |(name, table): (&str, TableReader<'_>)| (name.to_owned(), exporter::read(name, table, &around));
    let mut exporters = top.named("exporter").into_iter().map(read).collect();
    exporter::settle(&mut exporters, reader);
    exporters
}

/// A task that names no queue has one of its own, in which nothing runs at the same time.
fn queues(
    top: &TableReader<'_>,
    exporters: &BTreeMap<String, Exporter>,
    host: &HostRules,
) -> BTreeMap<String, QueueRules> {
    let mut queues = sections::queues(top, host);
    for task in exporters.values().filter(|one| one.is_task() && one.queue == one.name) {
        queues.entry(task.name.clone()).or_insert(QueueRules { max_running: 1, ..QueueRules::default() });
    }
    queues
}

fn database(top: &TableReader<'_>, state_dir: &Path) -> PathBuf {
    let path = |value: &DeValue<'_>| values::text(value).filter(|text| !text.contains("://")).map(str::to_owned);
    let what = "a path; PostgreSQL is not available yet";
    absolute(state_dir, &top.read("database", what, path).unwrap_or_else(|| DATABASE.to_owned()))
}

/// `path` as seen from `dir`, without `.` and doubled slashes.
fn absolute(dir: &Path, path: &str) -> PathBuf {
    let joined = dir.join(path);
    std::path::absolute(&joined).unwrap_or(joined)
}
