//! The plan that a dry run prints is what the next tick does: on sites that are made at random, round after round.
//!
//! `PRESSROOM_PLANS` is how many sites, `PRESSROOM_SEED` repeats the choices of an earlier time.

mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::Value;

use super::support::{
    dice::{Dice, number},
    site::Site,
    together::TICK,
    untouched::writes_nothing,
};

/// Rounds of one site; not quite a minute passes between two of them.
const ROUNDS: i32 = 3;

/// A job's row: its status, its queue, when it may start.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    filename: String,
    status: i64,
    queue: String,
    source: String,
    run_after: i64,
}

/// What a round changes.
#[derive(Debug)]
struct Seen {
    jobs: BTreeMap<i64, Row>,
    /// Job, file, queue, number and result of each attempt, in the order of their claims.
    attempts: BTreeMap<i64, (i64, String, String, i64, String)>,
    files: BTreeSet<String>,
    schedules: BTreeMap<String, i64>,
}

fn seen(site: &Site) -> Seen {
    let database = site.database();
    let mut jobs = database
        .prepare("SELECT id, filename, status, queue, coalesce(source, ''), run_after FROM job")
        .expect("a statement");
    let jobs = jobs.query_map([], |row| {
        let (filename, status, queue) = (row.get(1)?, row.get(2)?, row.get(3)?);
        Ok((row.get(0)?, Row { filename, status, queue, source: row.get(4)?, run_after: row.get(5)? }))
    });
    let jobs = jobs.expect("jobs").map(Result::unwrap).collect();
    let mut attempts = database
        .prepare("SELECT rowid, job, filename, queue, number, coalesce(result, '') FROM attempt WHERE number > 0")
        .expect("a statement");
    let attempts = attempts
        .query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))));
    let attempts = attempts.expect("attempts").map(Result::unwrap).collect();
    let mut schedules = database.prepare("SELECT name, last FROM schedule").expect("a statement");
    let schedules = schedules.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let schedules = schedules.expect("schedules").map(Result::unwrap).collect();
    let mut files = BTreeSet::new();
    for exporter in site.names("s/cache") {
        files.extend(site.names(&format!("s/cache/{exporter}")).iter().map(|name| format!("{exporter}/{name}")));
    }
    Seen { jobs, attempts, files, schedules }
}

/// The steps of a plan.
struct Plan(Vec<Value>);

impl Plan {
    fn of(site: &Site) -> Self {
        let done = writes_nothing(site, || site.run(&["tick", "--dry-run", "--format", "json"]));
        let text = done.exits(0).stderr("").out();
        Self(text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
    }

    fn steps<'a>(&'a self, step: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |value| value["step"] == step)
    }

    fn jobs(&self, step: &str) -> BTreeSet<i64> {
        self.steps(step).map(id).collect()
    }
}

fn id(step: &Value) -> i64 {
    step["job"].as_i64().expect("a job")
}

fn text(step: &Value, name: &str) -> String {
    step[name].as_str().unwrap_or_else(|| panic!("{name} in {step}")).to_owned()
}

/// What differs between the plan and what came.
fn differences(plan: &Plan, before: &Seen, after: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut same = |what: &str, planned: String, came: String| {
        if planned != came {
            wrong.push(format!("{what}: planned {planned}\n      came {came}"));
        }
    };
    let claims: Vec<_> = plan
        .steps("claim")
        .map(|step| (id(step), text(step, "filename"), text(step, "queue"), step["number"].as_i64().unwrap_or(0)))
        .collect();
    let new = after.attempts.iter().filter(|(row, _)| !before.attempts.contains_key(row));
    let new: Vec<_> =
        new.map(|(_, (job, file, queue, number, _))| (*job, file.clone(), queue.clone(), *number)).collect();
    same("claims", format!("{claims:?}"), format!("{new:?}"));

    let reaped: BTreeMap<_, _> = plan.steps("reap").map(|step| (id(step), text(step, "result"))).collect();
    let ended = before.attempts.iter().filter(|(_, attempt)| attempt.4.is_empty()).filter_map(|(row, (job, ..))| {
        match after.attempts.get(row) {
            Some(attempt) => Some((*job, attempt.4.clone())).filter(|(_, result)| !result.is_empty()),
            // A disk that is low takes the history with it.
            None => Some((*job, reaped.get(job).cloned().unwrap_or_default())),
        }
    });
    let ended: BTreeMap<_, _> = ended.collect();
    same("reaped", format!("{reaped:?}"), format!("{ended:?}"));
    // Those that the same round does something else with.
    let again = plan.steps("schedule").filter(|step| step["outcome"] == "queued").map(id);
    let again: BTreeSet<_> =
        again.chain([plan.jobs("claim"), plan.jobs("queue"), plan.jobs("fail")].into_iter().flatten()).collect();
    for step in plan.steps("reap").filter(|step| !again.contains(&id(step))) {
        let came = after.jobs.get(&id(step)).map_or("gone", |row| match row.status {
            0 => "queued",
            1 => "started",
            _ => "failed",
        });
        same(&format!("job {} after its reaping", id(step)), text(step, "next"), came.to_owned());
        if let Some(at) = step["at"].as_str() {
            let at: jiff::Timestamp = at.parse().expect("a time");
            let off = at.as_millisecond().abs_diff(after.jobs[&id(step)].run_after);
            same(
                "seconds that a retry is off",
                "few".into(),
                if off < 20_000 { "few".into() } else { off.to_string() },
            );
        }
    }

    let ids = |seen: &Seen| seen.jobs.keys().copied().collect::<BTreeSet<_>>();
    let gone: BTreeSet<_> = ids(before).difference(&ids(after)).copied().collect();
    let reaped_away = plan.steps("reap").filter(|step| step["next"] == "gone").map(id);
    let going: BTreeSet<_> = plan.jobs("drop").into_iter().chain(reaped_away).collect();
    same("gone", format!("{going:?}"), format!("{gone:?}"));

    let queued = plan.steps("schedule").filter(|step| step["outcome"] == "queued").chain(plan.steps("queue"));
    let queued: BTreeMap<_, _> = queued.map(|step| (id(step), text(step, "filename"))).collect();
    let queued: BTreeMap<_, _> = queued.into_iter().filter(|(id, _)| !before.jobs.contains_key(id)).collect();
    let new = after.jobs.iter().filter(|(id, _)| !before.jobs.contains_key(id));
    // The source of what a schedule queues is not a step of its own.
    let is_source = |row: &Row| after.jobs.values().any(|other| other.source == row.filename);
    let new = new.filter(|(id, row)| queued.contains_key(id) || !is_source(row));
    let new: BTreeMap<_, _> = new.map(|(id, row)| (*id, row.filename.clone())).collect();
    same("queued", format!("{queued:?}"), format!("{new:?}"));

    let due = plan.steps("schedule").filter(|step| step["outcome"] != "next").map(|step| text(step, "schedule"));
    let due: BTreeSet<_> = due.collect();
    let came = after.schedules.iter().filter(|(name, last)| before.schedules.get(*name) != Some(last));
    let came: BTreeSet<_> = came.map(|(name, _)| name.clone()).collect();
    same("schedules", format!("{due:?}"), format!("{came:?}"));

    let pruned: BTreeSet<_> = plan.steps("prune").map(|step| text(step, "filename")).collect();
    let removed: BTreeSet<_> = before.files.difference(&after.files).cloned().collect();
    same("pruned", format!("{pruned:?}"), format!("{removed:?}"));

    let moved: BTreeMap<_, _> = plan.steps("move").map(|step| (id(step), text(step, "to"))).collect();
    let moved: BTreeMap<_, _> =
        moved.into_iter().filter(|(id, to)| before.jobs.get(id).is_some_and(|row| row.queue != *to)).collect();
    // What had failed is queued anew where it belongs.
    let has_moved = |old: &Row, row: &Row| old.status <= 1 && old.queue != row.queue;
    let came = after.jobs.iter().filter(|(id, row)| before.jobs.get(id).is_some_and(|old| has_moved(old, row)));
    let came: BTreeMap<_, _> = came.map(|(id, row)| (*id, row.queue.clone())).collect();
    same("moved", format!("{moved:?}"), format!("{came:?}"));

    let was_queued = |id: &i64| {
        let reaped = plan.steps("reap").any(|step| self::id(step) == *id && step["next"] == "queued");
        before.jobs.get(id).is_some_and(|old| old.status == 0 || reaped)
    };
    let failed = after.jobs.iter().filter(|(id, row)| row.status >= 2 && was_queued(id));
    // What is made from a failed file fails with it, which is no step of its own.
    let is_told = |id: &i64| plan.jobs("fail").contains(id);
    let with_source = |row: &Row| after.jobs.values().any(|other| other.filename == row.source && other.status >= 2);
    let failed: BTreeSet<_> = failed.filter(|(id, row)| is_told(id) || !with_source(row)).map(|(id, _)| *id).collect();
    same("failed", format!("{:?}", plan.jobs("fail")), format!("{failed:?}"));

    let held = plan.jobs("hold");
    let waiting: BTreeSet<_> = after.jobs.iter().filter(|(_, row)| row.status == 0).map(|(id, _)| *id).collect();
    same("held", format!("{held:?}"), format!("{waiting:?}"));
    let queues = |step: &Value| (id(step), text(step, "queue"));
    let planned: BTreeMap<_, _> = plan.steps("hold").map(queues).collect();
    let came: BTreeMap<_, _> = waiting.iter().map(|id| (*id, after.jobs[id].queue.clone())).collect();
    same("where they are held", format!("{planned:?}"), format!("{came:?}"));
    wrong
}

/// Every reason is one of those that are documented, and what waits for a moment says which.
fn check_reasons(plan: &Plan, site: &Site) {
    for step in plan.steps("hold") {
        let (id, reason) = (id(step), text(step, "reason"));
        let has_time =
            matches!(&*reason, "retry" | "time") || reason == "breaker" && !text(step, "why").contains("one run");
        assert_eq!(step["until"].is_string(), has_time, "{step}");
        let waits = site.count(&format!("SELECT waits FROM job WHERE id = {id}"));
        let fits = match &*reason {
            "held" => true,
            "source" => waits == 2,
            "retry" | "time" => waits == 1,
            "breaker" => waits <= 1,
            "paused" | "draining" | "host_full" | "queue_full" | "memory" | "disk" | "source_later"
            | "queue_unknown" => waits == 0,
            _ => false,
        };
        assert!(fits, "waits {waits}: {step}");
    }
}

fn one(seed: u64, figures: &mut BTreeMap<String, usize>) {
    let site = world::make(&mut Dice(seed));
    for round in 0..ROUNDS {
        site.clock(f64::from(round) * 55.0); // less than a jump
        let (before, plan) = (seen(&site), Plan::of(&site));
        let tick = site.run_at("run-started=kill", &TICK);
        let after = seen(&site);
        let wrong = differences(&plan, &before, &after);
        let steps: Vec<_> = plan.0.iter().map(ToString::to_string).collect();
        assert!(
            wrong.is_empty(),
            "PRESSROOM_PLANS=1 PRESSROOM_SEED={seed}, round {round}:\n{}\n{}\nbefore: {before:#?}\nafter: {after:#?}\n{}",
            wrong.join("\n"),
            steps.join("\n"),
            tick.err()
        );
        check_reasons(&plan, &site);
        for step in &plan.0 {
            let kind = [&step["step"], &step["outcome"], &step["reason"], &step["next"]];
            let kind = kind.iter().filter_map(|word| word.as_str()).collect::<Vec<_>>().join(" ");
            *figures.entry(kind).or_default() += 1;
        }
    }
}

#[test]
fn a_tick_does_what_the_dry_run_before_it_has_said() {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs() * 1000);
    let first = number("PRESSROOM_SEED").unwrap_or_else(now);
    let mut figures = BTreeMap::new();
    for seed in first..first + number("PRESSROOM_PLANS").unwrap_or(8) {
        one(seed, &mut figures);
    }
    eprintln!("{figures:#?}");
}
