//! Entry point: parse, run one command, turn its failure into an exit code.

mod admin;
mod cache;
mod cli;
mod config;
mod context;
mod exit;
mod logging;
mod model;
mod output;
#[cfg(test)]
#[path = "../tests/outside/mod.rs"]
mod outside;
mod request;
mod run;
mod site;
mod store;
mod supervise;
mod tick;
mod usage;
mod web;

use std::{ffi::OsString, process::ExitCode};

use clap::Parser;

use crate::{
    cli::{Cli, Command, Global},
    context::{By, explained},
    exit::{Exit, Failure},
    web::Endpoint,
};

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| match info.payload_as_str() {
        // A full disk or a closed pipe behind stdout is nobody's fault here.
        Some(text) if text.starts_with("failed printing to stdout") => {
            logging::diagnostic_line(format!("cannot write the answer: {text}"));
        }
        _ => logging::diagnostic_line(format!("this is a fault in pressroom: {info}")),
    }));
    let _ = supervise::survive_file_limit();
    let Ok(result) = std::panic::catch_unwind(start) else {
        return Exit::Io.into();
    };
    let Err(Failure { exit, error }) = result else {
        return ExitCode::SUCCESS;
    };
    if let Some(error) = error {
        logging::diagnostic(format!("{error:#}"));
    }
    exit.into()
}

fn start() -> Result<(), Failure> {
    let words: Vec<OsString> = std::env::args_os().collect();
    match web::words_before(&words) {
        Some((front, before)) => serve(front, before),
        None => quick(words.get(1..).unwrap_or_default()).unwrap_or_else(run),
    }
}

/// What is started most often.
fn quick(words: &[OsString]) -> Option<Result<(), Failure>> {
    if let Some((global, args)) = cli::fast_path::request(words) {
        logging::start(&global);
        return Some(request::run(&global, &args));
    }
    let (global, args) = cli::fast_path::run(words)?;
    logging::start(&global);
    Some(run::run(&global, &args))
}

/// The options before `request --cgi` or `status --cgi` count; whatever a web server put behind it does not.
fn serve(front: Endpoint, before: &[OsString]) -> Result<(), Failure> {
    if let [] | [_] = before {
        return answer(front, &Global::default());
    }
    let words = before.iter().cloned().chain([OsString::from("status")]);
    match Cli::try_parse_from(words) {
        Ok(cli) => answer(front, &cli.global),
        Err(error) => usage::answer(&error),
    }
}

fn answer(front: Endpoint, global: &Global) -> Result<(), Failure> {
    logging::start(global);
    web::serve(front, global)
}

fn run() -> Result<(), Failure> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage::answer(&error),
    };
    logging::start(&cli.global);
    command(&cli).map_err(|failure| match by(&cli.command) {
        Some(by) => explained(failure, &cli.global, by),
        None => failure,
    })
}

fn command(cli: &Cli) -> Result<(), Failure> {
    let global = &cli.global;
    match &cli.command {
        Command::Request(args) => request::run(global, args),
        Command::Tick(args) => tick::run(global, args),
        Command::Run(args) => run::run(global, args),
        Command::Try(args) => admin::trial::run(global, args),
        Command::Check(args) => admin::check::run(global, args),
        Command::Jobs(args) => admin::jobs::run(global, args),
        Command::Queues(args) => admin::queues::run(global, args),
        Command::Backup(args) => admin::backup::run(global, args),
        Command::Restore(args) => admin::restore::run(global, args),
        Command::Status(args) => admin::status::run(global, args),
    }
}

/// Who is meant to give the command. `None`: it explains refusals itself, in JSON as well.
const fn by(command: &Command) -> Option<By> {
    match command {
        Command::Request(_) | Command::Status(_) | Command::Run(_) => None,
        Command::Tick(args) if args.dry_run => Some(By::Admin),
        Command::Jobs(_) | Command::Queues(_) | Command::Check(_) => Some(By::Admin),
        Command::Tick(_) | Command::Try(_) | Command::Backup(_) | Command::Restore(_) => Some(By::Owner),
    }
}
