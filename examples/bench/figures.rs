//! Which plots there are.

use anyhow::Result;

use crate::{
    group::Group,
    plot::{Bar, Chart},
    setup::Setup,
};

/// File name, groups of these figures, title.
const CHARTS: [(&str, &[&str], &str); 7] = [
    ("hit", &["hit"], "Request for a fresh file: the whole process (ms)"),
    ("queueing", &["queueing"], "Request that queues a job: the whole process (ms)"),
    ("crowd", &["crowd"], "8 invokers at a time: jobs queued per second"),
    ("latency", &["latency"], "From the request to the exporter's first instruction (ms)"),
    ("thousand", &["thousand"], "Many tiny jobs, four at a time (s)"),
    ("million", &["million"], "With a long queue and a long history, and with next to none (ms)"),
    ("web", &["web-small", "web-stream"], "Over CGI: answers per second"),
];

pub fn draw(setup: &Setup, groups: &[Group]) -> Result<()> {
    for (name, figures, title) in CHARTS {
        let bars: Vec<Bar> = groups.iter().filter(|group| figures.contains(&group.figure)).flat_map(bars).collect();
        if !bars.is_empty() {
            Chart { title, bars: &bars }.draw(&setup.out.join(name).with_extension("svg"))?;
        }
    }
    Ok(())
}

/// Pressroom's own and the others', with the group's name where it says more than the title.
fn bars(group: &Group) -> Vec<Bar> {
    let label = |name: &str| match group.figure {
        "thousand" | "million" | "web-small" | "web-stream" => format!("{}: {name}", group.what),
        _ => name.to_owned(),
    };
    let ours = if group.figure == "million" { "full" } else { "pressroom" };
    let mut bars = vec![Bar { label: label(ours), sample: group.ours.clone(), ours: true }];
    bars.extend(group.lines.iter().filter_map(|line| {
        let (name, sample) = line.other.clone()?;
        Some(Bar { label: label(&name), sample, ours: false })
    }));
    bars
}
