//! What works, but may surprise somebody: the warnings of `pressroom check`.

use std::{iter, time::Duration};

use super::{
    params,
    types::{Config, Exporter, Param, ParamKind},
};
use crate::model::{
    moment,
    template::{Piece, pieces},
};

/// Sockets below `TMPDIR` must fit into 108 bytes; a browser's needs this much of it.
const MAX_WORK_DIR: usize = 62;
/// Letters of an attempt's id, by which its work directory is named.
const ATTEMPT_ID: usize = 26;
/// The longest pause of a waiting page before it looks again.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Values that lead out of a directory, or into another one.
const TRAVERSALS: [&str; 7] = ["..", "../x", "../../x", "/etc", "a/b", "a/..", "a/../../b"];

/// One sentence each.
pub fn warnings(config: &Config) -> Vec<String> {
    let most = config.host.max_running;
    let above = config.queues.iter().filter(|(_, queue)| queue.max_running > most);
    let wide = above.map(|(name, queue)| {
        format!("queue {name}: max_running is {}, but the host never runs more than {most}", queue.max_running)
    });
    let exporters = config.exporters.values().flat_map(|exporter| about(config, exporter));
    long_path(config)
        .into_iter()
        .chain(unknown_zone(config))
        .chain(super::http::warnings(config))
        .chain(wide)
        .chain(exporters)
        .collect()
}

fn about(config: &Config, exporter: &Exporter) -> Vec<String> {
    let place = |warning| format!("exporter {}: {warning}", exporter.name);
    let found = paths(exporter).into_iter().chain(short_ttl(exporter)).chain(few_per_client(config, exporter));
    found.map(place).collect()
}

fn unknown_zone(config: &Config) -> Option<String> {
    let name = config.time_zone.as_ref().filter(|name| moment::zone_named(name).is_none())?;
    Some(format!(
        "time_zone: this machine knows no time zone {name:?}, so times are shown in UTC; correct the name, or install tzdata"
    ))
}

fn long_path(config: &Config) -> Option<String> {
    let length = config.state_dir.as_os_str().len() + "/work/".len() + ATTEMPT_ID;
    let warning = format!(
        "state_dir: the work directories below {} have paths of {length} bytes; above {MAX_WORK_DIR} some programs, \
         browsers among them, cannot create sockets there",
        config.state_dir.display()
    );
    (length > MAX_WORK_DIR).then_some(warning)
}

/// The file may have expired before the page that waits for it looks again.
fn short_ttl(exporter: &Exporter) -> Option<String> {
    let served = exporter.ttl?.saturating_add(exporter.stale);
    let is_short = exporter.web && exporter.file().is_some() && served < LONGEST_PAUSE;
    is_short.then(|| {
        let (ttl, pause) = (humantime::format_duration(served), LONGEST_PAUSE.as_secs());
        format!(
            "its files are served for {ttl}, but a waiting page may pause for {pause}s, so that it may never see its \
             file; raise ttl or set stale"
        )
    })
}

/// The limit of one client counts the job and the sources that are queued with it.
fn few_per_client(config: &Config, exporter: &Exporter) -> Option<String> {
    let together = sources_in(config, exporter, &exporter.queue) + 1;
    let limit = config.queues.get(&exporter.queue)?.max_per_client;
    (limit < together).then(|| {
        format!(
            "max_per_client of queue {} is {limit}, but a file and what it is made from are {together} jobs; raise it",
            exporter.queue
        )
    })
}

/// How many of the exporters that it is made from use this queue by themselves.
pub(super) fn sources_in(config: &Config, exporter: &Exporter, queue: &str) -> u64 {
    let next = |one: &&Exporter| config.exporters.get(one.source.as_deref()?);
    iter::successors(Some(exporter), next).skip(1).filter(|source| source.queue == queue).fold(0, |sum, _| sum + 1)
}

/// Values of visitors that become part of a path.
fn paths(exporter: &Exporter) -> Vec<String> {
    if !exporter.web {
        return Vec::new();
    }
    let arguments = exporter.command.iter().skip(1).filter(|argument| is_path(argument));
    let inside = |argument: &String| {
        let used = |param: &&Param| pieces(argument).any(|(piece, _)| piece == Piece::Name(&param.name));
        exporter.params.iter().filter(used).filter_map(|param| path_warning(argument, param)).collect::<Vec<_>>()
    };
    arguments.flat_map(inside).collect()
}

/// A slash stands in it besides the values of parameters.
fn is_path(argument: &str) -> bool {
    pieces(argument).any(|(piece, _)| match piece {
        Piece::Text(text) => text.contains('/'),
        Piece::Name(name) => name == "output" || name == "source",
        Piece::Stray(_) => false,
    })
}

fn path_warning(argument: &str, param: &Param) -> Option<String> {
    let name = &param.name;
    let fits = |text: &&&str| params::canonical(param, text, params::matches).is_ok();
    let escape = TRAVERSALS.iter().find(fits)?;
    let advice = match &param.kind {
        ParamKind::Pattern(_) => "make its pattern stricter",
        _ => "give it a pattern such as \"[A-Za-z0-9][A-Za-z0-9 _-]*\", or one_of",
    };
    Some(format!("parameter {name} is part of a path in {argument:?} and may be {escape:?}; {advice}"))
}
