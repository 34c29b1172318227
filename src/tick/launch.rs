//! One run per claimed job: ourselves again, the attempt's locked file as its stdin, its log as stdout and stderr. Running
//! ourselves again beats a bare fork: no database handle, lock or buffer is carried over by accident.
//!
//! Where the machine or the configuration lets nothing be started, the jobs are queued again and the admin learns why: by
//! the launch itself, or by what a run has noted in its lock.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io,
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    process::{Child, Command, ExitStatus},
};

use anyhow::Context as _;

use super::round::{Round, RoundKind, Trouble};
use crate::{
    context::Context,
    exit::{Exit, Failure},
    model::{
        clock::Stamp,
        failpoint, format,
        job::{AttemptId, Claim},
        passing,
    },
    run::{CLAIM, CONFIG},
    site::{ActivityEvent, LockMetadata, Probe, dir::open_regular},
};

/// Characters of the filename that `ps` shows of a run. The colon behind it keeps its end from being taken for the name of
/// a CGI script.
const NAME: usize = 100;
/// Bytes. The kernel takes 128 KiB of one variable.
const LONGEST: usize = 100_000;

/// A claimed job and the lock that its run will hold.
pub struct Seat {
    pub claim: Claim,
    pub lock: File,
}

/// Launches a run for each of them. Where the machine refuses one, it would refuse the others: they are queued again.
pub fn all(round: &mut Round, seats: Vec<Seat>) {
    let mut started = Vec::new();
    let mut seats = seats.into_iter();
    while let Some(seat) = seats.next() {
        if let Err(error) = run(round, &seat) {
            give_back(round, std::iter::once(seat).chain(seats).collect(), &error);
            break;
        }
        let Seat { claim, lock } = seat;
        drop(lock); // our own copy
        started.push(claim);
        failpoint::at("tick-launched-one");
    }
    // Only now: the exporters wait for nothing that is written for people.
    let events: Vec<_> = started.iter().flat_map(events).collect();
    round.context.tell(&events);
}

/// A request cannot write the activity log, so a job is told as queued when it is first started.
fn events(claim: &Claim) -> impl Iterator<Item = ActivityEvent> {
    let event = |what| ActivityEvent::new(what, claim.started).claim(claim);
    let queued =
        || event("queued").with("submitted", claim.submitted.rfc3339()).with("client", claim.client.as_deref());
    (claim.number == 1).then(queued).into_iter().chain([event("started")])
}

fn run(round: &mut Round, seat: &Seat) -> io::Result<()> {
    let claim = &seat.claim;
    let child = spawn(round.context, claim, &seat.lock)?;
    let (job, attempt, filename) = (claim.job, claim.attempt.as_str(), &claim.filename);
    tracing::info!(job, attempt, filename, "launched");
    round.children.push(child);
    round.trouble = round.trouble.min(Trouble::Told);
    Ok(())
}

/// That our own program cannot be started is no job's fault. Where the database cannot be written either, the next tick
/// learns that nothing was started from the locks.
fn give_back(round: &mut Round, seats: Vec<Seat>, error: &io::Error) {
    let advice = passing::advice(error).map_or_else(String::new, |advice| format!("; {advice}"));
    let jobs = format::count(seats.len() as u64, "claimed job");
    let are = if seats.len() == 1 { "is" } else { "are" };
    let told = format!("cannot start a run: {error}{advice}; {jobs} {are} queued again");
    round.nothing_starts(&error.to_string(), &told);
    let given = round.store.give_back(seats.iter().map(|seat| &seat.claim), Stamp::now());
    for Seat { claim, lock } in seats {
        if given.is_err() {
            let _ = LockMetadata { refused: Some(String::new()), ..LockMetadata::default() }.write(&lock);
        } else if round.context.site.remove_log(&claim.attempt).is_ok() {
            let _ = round.context.site.remove_lock(&claim.attempt); // else the sweep does it
        }
    }
    if let Err(error) = given {
        round.problem(format!("cannot queue claimed jobs again: {error:#}"));
    }
}

/// The claim goes along in the environment, which nobody else can read: the exporter is started before the database is
/// opened once more. One that is too long for that is read from there.
fn spawn(context: &Context, claim: &Claim, lock: &File) -> io::Result<Child> {
    let log = log(context, &claim.attempt)?;
    let told = serde_json::to_string(claim).ok().filter(|text| text.len() < LONGEST);
    let config = Some(&context.text).filter(|text| context.is_outdated && text.len() < LONGEST);
    Command::new("/proc/self/exe")
        .env_remove(CONFIG)
        .envs(config.map(|text| (CONFIG, text)))
        .arg0(format!("pressroom run {}:", claim.filename.chars().take(NAME).collect::<String>()))
        .envs(told.map(|text| (CLAIM, text)))
        .arg("--config")
        .arg(&context.config.file)
        .args(["run", claim.attempt.as_str()])
        .env_remove("PRESSROOM_LOG") // its stderr is the log of the exporter
        .env_remove("PRESSROOM_ATTEMPT") // a run with another attempt's cookie would be swept with that
        .current_dir(context.site.state_dir())
        .stdin(lock.try_clone()?)
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}

fn log(context: &Context, attempt: &AttemptId) -> io::Result<File> {
    let mut how = OpenOptions::new();
    let log = open_regular(&context.site.log_of(attempt), how.append(true).create(true).mode(0o600));
    // A log that cannot be written does not stop an export.
    log.or_else(|_| OpenOptions::new().write(true).open("/dev/null"))
}

/// Whether the run has started nothing, since the machine or the configuration did not let it.
pub fn started_nothing(status: ExitStatus) -> bool {
    status.code() == Some(i32::from(Exit::TryLater as u8))
}

/// Until all of them have ended. Whether one of them has started nothing.
pub fn wait_for(children: Vec<Child>) -> bool {
    let ends: Vec<_> = children.into_iter().filter_map(|mut child| child.wait().ok()).collect();
    ends.into_iter().any(started_nothing)
}

/// After the round that launched them. A tick that is at work now tells it in its own round.
pub fn tell_returned(context: &Context) -> Result<(), Failure> {
    let Some(lock) = context.site.take_tick()? else { return Ok(()) };
    let mut store = context.open_store_for_tick()?;
    let mut round = Round::new(context, &mut store, Some(&lock), RoundKind::Full);
    round.step("returned", take_back);
    round.tell();
    if round.trouble == Trouble::NothingStarts { Err(Failure::code(Exit::Io)) } else { Ok(()) }
}

/// Gives back what the runs could not give back themselves, and tells each reason once.
pub fn take_back(round: &mut Round) -> anyhow::Result<()> {
    let work = || format!("cannot read {}", round.context.site.work().display());
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for attempt in round.context.site.attempts_on_disk().with_context(work)? {
        match take_back_one(round, &attempt) {
            Ok(Some(why)) => *reasons.entry(why).or_default() += 1,
            Ok(None) => {}
            Err(error) => round.problem(format!("cannot queue the job of attempt {attempt} again: {error:#}")),
        }
    }
    reasons.remove("");
    for (why, runs) in reasons {
        let jobs = if runs == 1 { "its job is".to_owned() } else { format!("the jobs of {runs} runs are") };
        round.nothing_starts(&why, &format!("a run could not start its exporter: {why}; {jobs} queued again"));
    }
    Ok(())
}

/// Why the run of this attempt has started nothing; told once.
fn take_back_one(round: &mut Round, attempt: &AttemptId) -> anyhow::Result<Option<String>> {
    let site = &round.context.site;
    if site.lock_metadata(attempt).map_or(true, |metadata| metadata.refused.is_none()) {
        return Ok(None);
    }
    // One that still ends is the next round's.
    let Probe::Free(lock) = site.try_take(attempt) else { return Ok(None) };
    let metadata = LockMetadata::read(&lock)?;
    if let Some(claim) = round.store.view().claim_of(attempt)? {
        round.store.give_back([&claim], Stamp::now())?;
    }
    LockMetadata { refused: None, ..metadata.clone() }.write(&lock)?;
    Ok(metadata.refused)
}
