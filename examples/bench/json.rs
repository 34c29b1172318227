//! The results for programs: `results.json`.

use serde_json::{Value, json};

use crate::{
    group::{Group, Unit},
    machine::{self, Machine},
    setup::Setup,
    stats::Sample,
    table::goal_text,
};

/// One object; each measurement with what it was compared with.
pub fn text(setup: &Setup, machine: &Machine, groups: &[Group]) -> String {
    let all = json!({
        "measured": machine::today(),
        "length": setup.pick("full", "quick"),
        "machine": machine.json(),
        "load_after": machine::load(),
        "results": groups.iter().map(group).collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}

fn group(group: &Group) -> Value {
    let compared = group.lines.iter().map(|line| {
        json!({
            "with": line.other.as_ref().map(|(name, _)| name),
            "figure": line.other.as_ref().map(|(_, figure)| sample(figure)),
            "ratio": line.ratio(&group.ours).filter(|ratio| ratio.is_finite()).map(round),
            "goal": line.goal.map(|goal| goal_text(goal, group.unit)),
            "reached": line.reached(&group.ours),
        })
    });
    json!({
        "what": group.what,
        "unit": unit(group.unit),
        "pressroom": sample(&group.ours),
        "compared": compared.collect::<Vec<_>>(),
    })
}

fn unit(unit: Unit) -> &'static str {
    if unit == Unit::Count { "count" } else { unit.name() }
}

fn sample(sample: &Sample) -> Value {
    let (first, third) = sample.quartiles();
    json!({
        "measurements": sample.len(),
        "median": round(sample.median()),
        "quartiles": [round(first), round(third)],
        "p99": round(sample.quantile(0.99)),
        "max": round(sample.max()),
    })
}

/// More digits would say nothing, and make each run differ in every line.
fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
