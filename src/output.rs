//! The answers of the admin commands on stdout: safe on a terminal, and no fault when the reader has gone.

use std::{
    fmt::Display,
    io::{self, BufWriter, ErrorKind, Stdout, Write},
};

use serde_json::Value;

use crate::{
    exit::{Exit, Failure},
    model::safe,
};

/// Where answers are written. The first error is kept and told at the end: what a command does besides goes on.
pub struct Output {
    out: BufWriter<Stdout>,
    broken: Option<io::Error>,
}

impl Output {
    pub fn new() -> Self {
        Self { out: BufWriter::new(io::stdout()), broken: None }
    }

    /// One line; controls in it are shown as escapes.
    pub fn line(&mut self, text: impl Display) {
        self.put(&format!("{}\n", safe::line(&text.to_string())));
    }

    /// Text of several lines; controls in it are shown as escapes.
    pub fn text(&mut self, text: &str) {
        self.put(&safe::text(text));
    }

    /// One object on a line of its own.
    pub fn json(&mut self, value: &Value) {
        self.put(&format!("{}\n", safe::json(&value.to_string())));
    }

    /// Shows what was written so far.
    pub fn flush(&mut self) {
        if self.broken.is_none() {
            self.broken = self.out.flush().err();
        }
    }

    /// Nobody reads any more.
    pub const fn is_closed(&self) -> bool {
        self.broken.is_some()
    }

    /// Whether everything has been written. A reader that has gone, as `head` does, wanted no more.
    pub fn close(mut self) -> Result<(), Failure> {
        self.flush();
        match self.broken {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::because(Exit::Io, format!("cannot write the answer: {error}")))
            }
            _ => Ok(()),
        }
    }

    fn put(&mut self, text: &str) {
        if self.broken.is_none() {
            self.broken = self.out.write_all(text.as_bytes()).err();
        }
    }
}
