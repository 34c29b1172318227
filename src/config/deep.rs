//! What `pressroom check` looks at beyond the text: patterns, programs and numbers that do not fit each other, which are
//! problems, and what works but may surprise somebody, which is warned of.

use std::{
    iter,
    path::{Path, PathBuf},
    time::Duration,
};

use nix::unistd::{AccessFlags, access};

use super::{
    command::PATH,
    executable, params, sections,
    types::{Config, Exporter, Param, ParamKind},
};
use crate::model::{
    moment,
    template::{Piece, names, pieces},
};

const MISSING: &str = "install it, or correct the command";
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ksh", "zsh", "busybox"];

/// Everything that a valid file can still have wrong, one sentence each. Programs are looked for as the user who asks.
pub fn deep_problems(config: &Config) -> Vec<String> {
    let mut problems = Vec::new();
    for exporter in config.exporters.values() {
        let place = |problem| format!("exporter {}: {problem}", exporter.name);
        problems.extend(exporter_problems(exporter).into_iter().map(place));
        problems.extend(queue_too_short(config, exporter).map(place));
    }
    problems.extend(schedule_problems(config));
    problems.extend(place_problems(config));
    problems
}

fn exporter_problems(exporter: &Exporter) -> Vec<String> {
    let path = exporter.env.get("PATH").map_or(PATH, |path| path);
    let programs = [&exporter.wrapper, &exporter.command].into_iter().filter_map(|command| command.first());
    let mut problems: Vec<_> = programs.filter_map(|program| program_problem(program, path)).collect();
    problems.extend(exporter.params.iter().filter_map(params::problem));
    problems.extend(shell_problem(exporter));
    problems
}

/// A job and the sources that are queued with it would never find room at once.
fn queue_too_short(config: &Config, exporter: &Exporter) -> Option<String> {
    let together = sources_in(config, exporter, &exporter.queue) + 1;
    let limit = config.queues.get(&exporter.queue)?.max_queued;
    (limit < together).then(|| {
        let queue = &exporter.queue;
        format!(
            "max_queued of queue {queue} is {limit}, but a file and what it is made from are {together} jobs; raise it"
        )
    })
}

/// A value that is pasted into a shell's script is program text to that shell.
fn shell_problem(exporter: &Exporter) -> Option<String> {
    let [program, arguments @ ..] = &exporter.command[..] else { return None };
    let shell = Path::new(program).file_name()?.to_str()?;
    let at = arguments.iter().position(|argument| argument.starts_with('-') && argument.ends_with('c'))?;
    let is_param = |name: &&str| exporter.params.iter().any(|param| param.name == *name);
    let name = SHELLS.contains(&shell).then(|| names(arguments.get(at + 1)?).find(is_param))??;
    Some(format!(
        "the {shell} script contains {{{name}}}, so that the shell would run the value; pass it as an argument after the script and use \"$1\""
    ))
}

fn schedule_problems(config: &Config) -> Vec<String> {
    let problem = |one: &super::types::Schedule| {
        let exporter = config.exporters.get(&one.exporter)?;
        let problem = params::check(exporter, &sections::as_given(one)).err()?;
        Some(format!("schedule {}: {problem}", one.name))
    };
    config.schedules.values().filter_map(problem).collect()
}

fn place_problems(config: &Config) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(notify) = &config.notify {
        let problem = notify.command.first().and_then(|program| program_problem(program, PATH));
        problems.extend(problem.map(|problem| format!("notify: {problem}")));
    }
    if let Some(dir) = config.http.templates.as_ref().filter(|dir| !dir.is_dir()) {
        problems.push(format!("http: the templates directory {} does not exist", dir.display()));
    }
    problems
}

fn program_problem(program: &str, path: &str) -> Option<String> {
    if program.contains('/') {
        let file = Path::new(program);
        return if file.is_file() {
            file_problem(file)
        } else {
            Some(format!("the program {program} does not exist; {MISSING}"))
        };
    }
    let found = std::env::split_paths(path).map(|dir| dir.join(program)).filter(|file| file.is_file());
    let found: Vec<PathBuf> = found.collect();
    match found.iter().find(|file| access(*file, AccessFlags::X_OK).is_ok()).or(found.first()) {
        Some(file) => file_problem(file),
        None => Some(format!("the program {program} is not in {path}; {MISSING}")),
    }
}

fn file_problem(file: &Path) -> Option<String> {
    let name = file.display();
    if access(file, AccessFlags::X_OK).is_err() {
        return Some(format!(
            "the program {name} is not executable for this user; look at its mode and its directories'"
        ));
    }
    executable::problem(file)
}

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
fn sources_in(config: &Config, exporter: &Exporter, queue: &str) -> u64 {
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

#[cfg(test)]
#[path = "deep_tests.rs"]
mod tests;
