//! What the admin asks for on a site with many jobs and a long history: each command's time and peak memory.

use anyhow::{Context, Result};

use crate::{
    contender::{Contender, in_turns},
    fill::{self, Rows},
    group::{Goal, Group, Unit},
    memory,
    process::time,
    setup::Setup,
    site::{Site, word},
    stats::Sample,
};

/// Megabytes that a command may need, however many rows there are.
const BOUNDED: Goal = Goal::Below(16.0);

/// A hundred clients; one attempt in ten has failed.
const OF_JOBS: [(&str, &str); 1] = [("client", "'c' || n % 100")];
const OF_ATTEMPTS: [(&str, &str); 4] = [
    ("client", "'c' || n % 100"),
    ("params", "json_object('title', 'h' || n)"),
    ("result", "CASE n % 10 WHEN 0 THEN 'exit' ELSE 'ok' END"),
    ("duration", "n % 10000"),
];

/// How much a command reads: what takes long is done less often.
#[derive(Clone, Copy)]
enum Reads {
    Little,
    /// Every job, or every page of the database.
    Much,
    /// Every attempt.
    Most,
}

/// A word that begins with `?` is the query of a page.
const COMMANDS: [(&str, Reads); 24] = [
    ("jobs list", Reads::Little),
    ("jobs list --param title=q500", Reads::Little),
    ("jobs list --client c7", Reads::Little),
    ("jobs list --since 10m", Reads::Little),
    ("jobs list --status failed", Reads::Little),
    ("jobs list --sort turn", Reads::Little),
    ("jobs list --limit 0 --format json", Reads::Much),
    ("jobs show book/q500.", Reads::Little),
    ("jobs show book/h500.bin", Reads::Little),
    ("jobs history", Reads::Little),
    ("jobs history --exporter book", Reads::Little),
    ("jobs history --since 1h", Reads::Little),
    ("jobs history --client c7", Reads::Little),
    ("jobs history --param title=h500", Reads::Little),
    ("jobs history --sort -duration", Reads::Little),
    ("jobs history --limit 0 --format json", Reads::Most),
    ("queues list", Reads::Little),
    ("status", Reads::Little),
    ("status --format prometheus", Reads::Little),
    ("check", Reads::Much),
    ("status --cgi", Reads::Little),
    ("status --cgi ?page=jobs&below=500", Reads::Little),
    ("status --cgi ?page=jobs&param=title%3Dq500", Reads::Little),
    ("status --cgi ?page=history&exporter=book", Reads::Little),
];

impl Reads {
    fn rounds(self, setup: &Setup) -> usize {
        match self {
            Self::Little => setup.pick(10, 3),
            Self::Much => setup.pick(3, 1),
            Self::Most => 1,
        }
    }
}

pub fn measure(setup: &Setup) -> Result<Vec<Group>> {
    let exporter = setup.floor("one-byte");
    let site = Site::new(setup, "a", 1, &[word(&exporter), "{output}"])?;
    site.make("Emma")?;
    let (jobs, attempts) = setup.pick((100_000, 1_000_000), (10_000, 100_000));
    fill::fill(&site, &Rows { jobs, attempts, of_jobs: &OF_JOBS, of_attempts: &OF_ATTEMPTS })?;
    let mut groups = Vec::new();
    for (words, reads) in COMMANDS {
        groups.extend(command(setup, &site, words, reads.rounds(setup))?);
    }
    Ok(groups)
}

/// Two lines of the table.
fn command(setup: &Setup, site: &Site, words: &str, rounds: usize) -> Result<[Group; 2]> {
    // 1 and 2 are the warning and the alarm of `status`.
    const CODES: [i32; 3] = [0, 1, 2];
    let (options, queries): (Vec<&str>, Vec<&str>) = words.split(' ').partition(|word| !word.starts_with('?'));
    let query = queries.first().map_or("", |query| &query[1..]);
    let command = || {
        let mut command = site.command(&options);
        command.envs([("REQUEST_METHOD", "GET"), ("REMOTE_USER", "admin"), ("QUERY_STRING", query)]);
        command
    };
    let samples = in_turns(vec![Contender::new(words, || time(&mut command(), &CODES))], rounds, 1)?;
    let (_, took) = samples.into_iter().next().context("nothing measured")?;
    let peak = memory::peak(setup, &command(), &CODES)?;
    Ok([
        Group::alone("", &format!("admin: {words}"), Unit::Milliseconds, took, None),
        Group::alone("", &format!("admin: {words}: peak memory"), Unit::Megabytes, Sample::one(peak), Some(BOUNDED)),
    ])
}
