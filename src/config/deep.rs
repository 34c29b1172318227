//! What `pressroom check` looks at beyond the text: patterns, programs, and numbers that do not fit each other.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use nix::unistd::{AccessFlags, access};

use super::{
    command::PATH,
    params, schedule,
    types::{Config, Exporter, Kind, Param},
    values,
};
use crate::model::template::names;

/// Sockets below `TMPDIR` must fit into 108 bytes; a browser's needs this much of it.
const MAX_WORK_DIR: usize = 62;
/// Letters of an attempt's id, by which its work directory is named.
const ATTEMPT_ID: usize = 26;
const MISSING: &str = "install it, or correct the command";
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ksh", "zsh", "busybox"];

/// Everything that a valid file can still have wrong, one sentence each. Programs are looked for as the user who asks.
pub fn deep_problems(config: &Config) -> Vec<String> {
    let mut problems = Vec::new();
    for exporter in config.exporters.values() {
        let place = |problem| format!("exporter {}: {problem}", exporter.name);
        problems.extend(exporter_problems(exporter).into_iter().map(place));
    }
    problems.extend(schedule_problems(config));
    problems.extend(place_problems(config));
    problems
}

/// What works, but may surprise somebody, one sentence each.
pub fn warnings(config: &Config) -> Vec<String> {
    let most = config.host.max_running;
    let above = config.queues.iter().filter(|(_, queue)| queue.max_running > most);
    let wide = above.map(|(name, queue)| {
        format!("queue {name}: max_running is {}, but the host never runs more than {most}", queue.max_running)
    });
    long_path(config).into_iter().chain(wide).collect()
}

fn long_path(config: &Config) -> Option<String> {
    let length = config.state_dir.as_os_str().len() + "/work/".len() + ATTEMPT_ID;
    let warning = format!(
        "state_dir: the work directories below {} have paths of {length} bytes; above {MAX_WORK_DIR} some programs, \
         browsers among them, cannot make their sockets there",
        config.state_dir.display()
    );
    (length > MAX_WORK_DIR).then_some(warning)
}

fn exporter_problems(exporter: &Exporter) -> Vec<String> {
    let path = exporter.env.get("PATH").map_or(PATH, |path| path);
    let programs = [&exporter.wrapper, &exporter.command].into_iter().filter_map(|command| command.first());
    let mut problems: Vec<_> = programs.filter_map(|program| program_problem(program, path)).collect();
    problems.extend(exporter.params.iter().filter_map(pattern_problem));
    problems.extend(shell_problem(exporter));
    problems
}

fn pattern_problem(param: &Param) -> Option<String> {
    let Kind::Pattern(pattern) = &param.kind else { return None };
    let name = &param.name;
    if let Err(error) = regex::Regex::new(pattern) {
        let last = error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        return Some(format!("the pattern {pattern:?} of parameter {name} is not a regular expression: {last}"));
    }
    let default = param.default.as_deref()?;
    let problem = values::canonical(param, default, values::matches).err()?;
    Some(format!("the default {default:?} does not obey its own rules: {problem}"))
}

/// A value that is pasted into a shell's script is program text to that shell.
fn shell_problem(exporter: &Exporter) -> Option<String> {
    let [program, arguments @ ..] = &exporter.command[..] else { return None };
    let shell = Path::new(program).file_name()?.to_str()?;
    let at = arguments.iter().position(|argument| argument.starts_with('-') && argument.ends_with('c'))?;
    let is_param = |name: &&str| exporter.params.iter().any(|param| param.name == *name);
    let name = SHELLS.contains(&shell).then(|| names(arguments.get(at + 1)?).find(is_param))??;
    Some(format!(
        "a script of {shell} holds {{{name}}}, which the shell would run; pass it as an argument behind the script and use \"$1\""
    ))
}

fn schedule_problems(config: &Config) -> Vec<String> {
    let problem = |one: &super::types::Schedule| {
        let exporter = config.exporters.get(&one.exporter)?;
        let problem = params::check(exporter, &schedule::as_given(one)).err()?;
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
    let mut start = Vec::new();
    File::open(file).ok()?.take(256).read_to_end(&mut start).ok()?; // unreadable but executable is fine
    let Some(rest) = start.strip_prefix(b"#!") else {
        return (!start.starts_with(b"\x7fELF"))
            .then(|| format!("the program {name} begins neither with #! nor as a binary, so it cannot be executed"));
    };
    let line = String::from_utf8_lossy(rest.split(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned();
    let interpreter = line.split_whitespace().next().unwrap_or_default();
    (!Path::new(interpreter).is_file())
        .then(|| format!("the program {name} needs {interpreter:?}, which does not exist; {MISSING}"))
}

#[cfg(test)]
#[path = "deep_tests.rs"]
mod tests;
