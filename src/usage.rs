//! What clap could not read: help and versions go out as they are, mistakes in the form that was asked for.

use std::ffi::OsString;

use clap::error::ErrorKind;

use crate::{
    exit::{Exit, Failure},
    model::answer::{Answer, State},
};

/// Answers a command line that is not run.
pub fn answer(error: &clap::Error) -> Result<(), Failure> {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let _ = error.print();
        return Ok(());
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if wants_json(&words) {
        crate::request::output::json(&Answer::because(State::Unknown, sentence(error)))?;
    } else {
        let _ = error.print();
    }
    Err(Failure::code(Exit::Usage))
}

/// `--format json` counts although the rest of the line could not be read.
fn wants_json(words: &[OsString]) -> bool {
    let is_request = words.iter().any(|word| word == "request");
    let apart = words.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json");
    is_request && (apart || words.iter().any(|word| word == "--format=json"))
}

/// clap's first paragraph, without its "error: ".
fn sentence(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    first.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ")
}
