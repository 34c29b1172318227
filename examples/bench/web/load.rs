//! Requests by ab, which is Apache's.

use std::{collections::HashMap, process::Stdio};

use anyhow::{Context, Result, ensure};

use crate::process::bare;

/// Requests per second over so many seconds, two at a time; each answer is a success and has `size` bytes.
pub fn load(url: &str, size: &str, seconds: u32) -> Result<f64> {
    let mut ab = bare("ab");
    ab.args(["-q", "-c", "2", "-t", &seconds.to_string(), url]).stdout(Stdio::piped());
    let output = ab.output().context("cannot start ab")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said: HashMap<&str, &str> = text.lines().filter_map(|line| line.split_once(':')).collect();
    // Bytes, requests, and requests per second: the first word of each line.
    let word = |name: &str| said.get(name).and_then(|words| words.split_whitespace().next());
    ensure!(word("Document Length") == Some(size), "{url} answers with {:?} bytes", word("Document Length"));
    ensure!(word("Failed requests") == Some("0"), "{url}: {:?} requests failed", word("Failed requests"));
    ensure!(word("Non-2xx responses").is_none(), "{url} does not answer with success");
    word("Requests per second").context("ab says nothing")?.parse().context("ab says no number")
}
