//! `tick --dry-run`: what a real round would do, in its order. It takes no lock that matters and writes nothing at all.

use std::{thread::sleep, time::Duration};

use super::{Round, claim, expire, prune, reap, rehome, schedule, seats::Seats};
use crate::{
    commands::{request::missing_source, world::World},
    config::{
        command::{self, Places},
        params::Values,
    },
    exit::Failure,
    model::job::Job,
    site::Sight,
    store::{Store, StoreError},
};

/// Prints the plan of a round.
pub fn run(world: &World) -> Result<(), Failure> {
    let mut store = open(world)?;
    let mut round = Round::new(world, &mut store, None);
    round.calm = super::clock::jumped(&round)?;
    let dead = reaped(&round)?;
    let dropped = pruned(&round)?;
    rehomed(&round)?;
    scheduled(&round)?;
    claimed(&round, &dead, dropped)?;
    Ok(())
}

/// A log that a killed process has left half written is put right by whoever writes next, which this does not.
fn open(world: &World) -> anyhow::Result<Store> {
    for _ in 0..50 {
        match Store::open_readonly(world.database()) {
            Err(StoreError::Unrecovered) => sleep(Duration::from_millis(20)),
            opened => return opened.map_err(|error| error.at(&world.config.database)),
        }
    }
    Err(StoreError::Unrecovered.into())
}

/// The jobs whose seats a real round would free.
fn reaped(round: &Round) -> anyhow::Result<Vec<Job>> {
    let mut dead = Vec::new();
    for job in round.store.view().started()? {
        match reap::sight(round, &job) {
            Sight::Alive => println!("running {}", name(&job)),
            Sight::Unverified => println!("unverified {}: its lock cannot be opened", name(&job)),
            Sight::Free | Sight::Missing => {
                let outcome = reap::foreseen(round, &job)?.name();
                println!("reap {}: its run has died, its result is {outcome}", name(&job));
                dead.push(job);
            }
        }
    }
    Ok(dead)
}

/// The ids of the jobs that would be dropped, which cannot be claimed after that.
fn pruned(round: &Round) -> anyhow::Result<Vec<i64>> {
    if round.calm {
        println!("hold prune: the clock was set, or nobody has ticked for ten minutes");
        return Ok(Vec::new());
    }
    files(round);
    let dropped = expire::expired(round)?;
    for (job, why) in &dropped {
        println!("drop {}: {why}", name(job));
    }
    Ok(dropped.into_iter().map(|(job, _)| job.id).collect())
}

fn files(round: &Round) {
    let mut problems = Vec::new();
    let entries = round.world.cache.scan(&mut problems);
    let chosen = prune::chosen(round.world, &round.store.view(), &entries, round.now);
    for entry in chosen.gone {
        println!("prune cache/{}: made at {}", entry.filename, entry.made.rfc3339());
    }
    for (entry, _) in chosen.expired {
        println!("expire cache/{}: the cache is larger than max_size", entry.filename);
    }
    for problem in problems {
        println!("problem {problem}");
    }
}

fn scheduled(round: &Round) -> anyhow::Result<()> {
    for schedule in round.world.config.sound_schedules() {
        let next = schedule::next(&round.store.view(), schedule, round.now)?;
        let when = if next <= round.now { "due now".to_owned() } else { format!("next at {}", next.rfc3339()) };
        println!("schedule {} ({}): {when}", schedule.name, schedule.exporter);
    }
    Ok(())
}

fn rehomed(round: &Round) -> anyhow::Result<()> {
    for queue in rehome::homeless(&round.store.view(), round.world)? {
        println!("move the jobs of queue {queue}: it is no longer configured");
    }
    Ok(())
}

fn claimed(round: &Round, dead: &[Job], mut skip: Vec<i64>) -> anyhow::Result<()> {
    let mut seats = Seats::count_without(round, dead)?;
    while let Some(job) = round.store.view().next_due(round.now, &seats.queues(), &seats.held_back, &skip)? {
        if let Some(source) = first(round, &job)? {
            println!("wait {}: {source} is made first", name(&job));
            skip.push(job.id);
            continue;
        }
        let again = if job.attempts > 0 { format!("retry {}", job.attempts + 1) } else { "claim".to_owned() };
        println!("{again} {}: {}", name(&job), command_line(round, &job));
        seats.take(&job);
        skip.push(job.id);
    }
    for reason in &seats.reasons {
        println!("hold {reason}");
    }
    without_a_seat(round, &seats, &skip)
}

/// The source that a round would have made first.
fn first(round: &Round, job: &Job) -> anyhow::Result<Option<String>> {
    let Ok(ask) = claim::fit(round.world, job) else { return Ok(None) };
    missing_source(round.world, &round.store.view(), &ask, job, round.now)
}

/// Queues whose last seat was taken just now, while others wait in them.
fn without_a_seat(round: &Round, seats: &Seats, skip: &[i64]) -> anyhow::Result<()> {
    for queue in round.world.config.queues.keys().filter(|queue| seats.is_full(queue)) {
        let told = seats.reasons.iter().any(|reason| reason.starts_with(&format!("queue {queue}:")));
        if !told && round.store.view().next_in_queue(round.now, queue, &seats.held_back, skip)?.is_some() {
            println!("hold queue {queue}: no seat is free");
        }
    }
    Ok(())
}

fn name(job: &Job) -> String {
    format!("job {} ({})", job.id, job.filename)
}

/// The arguments, each quoted so that it can be read, `{output}` and its like by their names.
fn command_line(round: &Round, job: &Job) -> String {
    let Some(exporter) = round.world.config.exporters.get(&job.exporter) else {
        return "there is no such exporter any more".to_owned();
    };
    let places = Places { output: "OUTPUT", source: exporter.source.as_ref().map(|_| "SOURCE"), work: "WORK" };
    let argv = Values::from_json(exporter, &job.params).and_then(|values| command::argv(exporter, &values, &places));
    match argv {
        Ok(argv) => argv.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" "),
        Err(sentence) => sentence,
    }
}
