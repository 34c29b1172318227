//! Writes the completions for bash, zsh and fish into a directory: `cargo run --example completions -- DIRECTORY`.
//! An example, so that the program itself does not carry them.

#[path = "../src/cli/mod.rs"]
#[allow(dead_code, unused_imports, reason = "only the words are wanted here, not what they mean")]
mod cli;
#[path = "../src/model/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the command line takes some of its words from here")]
mod model;

use std::{env, fs, io, path::PathBuf, process::exit};

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate_to};

fn main() -> io::Result<()> {
    let Some(directory) = env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("completions: name the directory to write to");
        exit(64);
    };
    fs::create_dir_all(&directory)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut visible(), "pressroom", &directory)?;
    }
    Ok(())
}

/// The command line without what nobody types.
fn visible() -> Command {
    let whole = cli::Cli::command();
    let shown: Vec<_> = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    Command::new("pressroom").args(whole.get_arguments().cloned()).subcommands(shown)
}
