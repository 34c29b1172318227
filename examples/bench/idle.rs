//! What lies about while nothing happens: memory, wake-ups, processor time.

use std::{thread::sleep, time::Duration};

use anyhow::{Context, Result, ensure};

use crate::{
    group::{Goal, Group, Line, Unit},
    memory,
    peers::Tsp,
    process::{Beside, time, wait_until},
    setup::Setup,
    site::{Site, word},
    stats::Sample,
};

pub fn measure(setup: &Setup) -> Result<Vec<Group>> {
    let room = setup.room("idle")?;
    let rest = setup.floor("rest");
    let site = Site::new(setup, "i", 1, &[word(&rest), "9"])?;
    let tsp = Tsp::new(&room, 1).ok();
    let tick = site.linger()?;
    let mut groups = idle_tick(setup, &tick, tsp.is_some().then_some(&room))?;
    site.queue("rest")?;
    groups.extend(one_run(setup, &site)?);
    time(&mut site.command(&["jobs", "cancel", "book/rest.bin"]), &[0])?;
    site.settle()?;
    Ok(groups)
}

fn idle_tick(setup: &Setup, tick: &Beside, tsp: Option<&std::path::PathBuf>) -> Result<Vec<Group>> {
    sleep(Duration::from_secs(1)); // the first round is over
    let mut memory = alone("idle: lingering tick, memory (PSS)", Unit::Megabytes, memory::pss(tick.pid())?, Some(4.0));
    if let Some(server) = tsp.and_then(|room| memory::find_by_environment(word(room))) {
        memory.lines.push(Line { other: Some(("tsp's server".into(), Sample::one(memory::pss(server)?))), goal: None });
    }
    let seconds = setup.pick(10, 3);
    let before = memory::sleeps(tick.pid())?;
    sleep(Duration::from_secs(seconds));
    let wakes = memory::sleeps(tick.pid())? - before;
    let what = format!("idle: lingering tick, wake-ups in {seconds} s");
    Ok(vec![memory, alone(&what, Unit::Count, wakes, Some(0.0))])
}

fn one_run(setup: &Setup, site: &Site) -> Result<Vec<Group>> {
    let pid = run_pid(site)?;
    sleep(Duration::from_secs(1)); // its first looks are over
    let seconds = setup.pick(10, 3);
    let (slept, used) = (memory::sleeps(pid)?, memory::cpu(pid)?);
    sleep(Duration::from_secs(seconds));
    let share = (memory::cpu(pid)? - used) * 100.0 / f64::from(u32::try_from(seconds)?);
    let wakes = memory::sleeps(pid)? - slept;
    let what = format!("one run, tree of 10: wake-ups in {seconds} s");
    Ok(vec![
        alone("one run: memory of its own (PSS)", Unit::Megabytes, memory::pss(pid)?, Some(2.0)),
        alone(&what, Unit::Count, wakes, None),
        alone("one run, tree of 10: share of one processor", Unit::Percent, share, None),
    ])
}

fn alone(what: &str, unit: Unit, value: f64, goal: Option<f64>) -> Group {
    Group::alone("", what, unit, Sample::one(value), goal.map(Goal::Below))
}

/// The run notes itself in the lock file of its attempt.
fn run_pid(site: &Site) -> Result<i32> {
    let mut pid = None;
    wait_until("a run has begun", || {
        pid = lock_note(site).ok().flatten();
        pid.is_some()
    })?;
    let pid = pid.context("no run")?;
    ensure!(memory::pss(pid)? > 0.0, "the run has ended");
    Ok(pid)
}

fn lock_note(site: &Site) -> Result<Option<i32>> {
    for entry in std::fs::read_dir(site.state().join("work"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "lock") {
            let note = std::fs::read_to_string(path)?;
            let leader = note.lines().any(|line| line.starts_with("leader "));
            let run = note.lines().find_map(|line| line.strip_prefix("run "));
            return Ok(run.filter(|_| leader).and_then(|run| run.split_whitespace().next()?.parse().ok()));
        }
    }
    Ok(None)
}
