//! A request for a fresh file: the whole process.

use anyhow::Result;

use crate::{
    contender::{Contender, in_turns},
    group::{Goal, Group, Unit},
    memory,
    process::{bare, time},
    setup::Setup,
    site::{Site, word},
    stats::Sample,
};

pub fn measure(setup: &Setup) -> Result<Vec<Group>> {
    let exporter = setup.floor("one-byte");
    let site = Site::new(setup, "hit", 1, &[word(&exporter), "{output}"])?;
    let file = site.make("Emma")?;
    let contenders = vec![
        Contender::new("pressroom", || time(&mut site.request("Emma"), &[0])),
        Contender::new("static C program, one stat", || time(bare(setup.floor("stat")).arg(&file), &[0])),
        Contender::new("php, nothing", || time(bare("php").args(["-n", "-r", ""]), &[0])),
    ];
    let samples = in_turns(contenders, setup.pick(60, 15), setup.pick(25, 10))?;
    let goals = [("static C", Goal::AtMost(1.5))];
    let time = Group::among("hit", "request, fresh file", Unit::Milliseconds, samples, &goals);
    let peak = Sample::one(memory::peak(setup, &site.request("Emma"), &[0])?);
    let memory = Group::alone("", "request, fresh file: peak memory", Unit::Megabytes, peak, Some(Goal::Below(10.0)));
    Ok(time.into_iter().chain([memory]).collect())
}
