//! One run per claimed job: ourselves again, the attempt's locked file as its stdin, its log as stdout and stderr.
//!
//! Running ourselves again beats a bare fork: no database handle, lock or buffer is carried over by accident.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    process::{Child, Command},
    time::Duration,
};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use super::{Round, claim::Seat};
use crate::{
    commands::{ending::Ended, world::World},
    model::{
        attempt::{AttemptId, Claim, Record},
        clock::Stamp,
        status::Outcome,
    },
};

/// The variable that tells a run its claim.
pub const CLAIM: &str = "PRESSROOM_CLAIM";
/// Bytes. The kernel takes 128 KiB of one variable.
const LONGEST: usize = 100_000;

/// Launches the run; our own copy of the lock is closed as it is handed over.
pub fn run(round: &mut Round, seat: Seat) {
    let claim = seat.claim;
    match spawn(round.world, &claim, seat.lock) {
        Ok(child) => {
            let (job, attempt, filename) = (claim.job, claim.attempt.as_str(), &claim.filename);
            tracing::info!(job, attempt, filename, "launched");
            round.children.push(child);
        }
        Err(error) => {
            let detail = Some(format!("cannot start its run: {error}"));
            let record = Record { detail, ..Record::bare(Outcome::Spawn, Stamp::now(), Duration::ZERO) };
            let config = &round.world.config;
            let closed = round.store.immediate(|tx| Ended::new(&claim, &record).close(tx, config));
            if let Err(error) = closed {
                round.problem(format!("cannot record that job {} could not be started: {error:#}", claim.job));
            }
        }
    }
}

/// The claim goes along in the environment, which nobody else can read: the exporter is started before the database is
/// opened once more. One that is too long for that is read from there.
fn spawn(world: &World, claim: &Claim, lock: File) -> io::Result<Child> {
    let log = log(world, &claim.attempt)?;
    let told = serde_json::to_string(claim).ok().filter(|text| text.len() < LONGEST);
    Command::new("/proc/self/exe")
        .envs(told.map(|text| (CLAIM, text)))
        .arg("--config")
        .arg(&world.config.file)
        .args(["run", claim.attempt.as_str()])
        .env_remove("PRESSROOM_LOG") // its stderr is the log of the exporter
        .env_remove("PRESSROOM_ATTEMPT") // a run with another attempt's cookie would be swept with that
        .current_dir(world.site.state_dir())
        .stdin(lock)
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}

fn log(world: &World, attempt: &AttemptId) -> io::Result<File> {
    let mut how = OpenOptions::new();
    how.append(true).create(true).mode(0o600).custom_flags(O_NOFOLLOW | O_NONBLOCK);
    let log = how.open(world.site.log_of(attempt));
    // A log that cannot be written does not stop an export.
    log.or_else(|_| OpenOptions::new().write(true).open("/dev/null"))
}

/// Until all of them have ended.
pub fn wait_for(children: Vec<Child>) {
    for mut child in children {
        let _ = child.wait();
    }
}
