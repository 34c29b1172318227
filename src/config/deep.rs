//! What `pressroom check` looks at beyond the text: patterns, programs, and numbers that do not fit each other.

use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::{
    advice::sources_in,
    command::PATH,
    executable, params, sections,
    types::{Config, Exporter},
};
use crate::model::template::names;

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

#[cfg(test)]
#[path = "deep_tests.rs"]
mod tests;
