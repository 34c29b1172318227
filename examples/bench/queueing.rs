//! A request that queues a job: the whole process, until the job is on the disk.

use std::cell::Cell;

use anyhow::Result;

use crate::{
    contender::{Contender, in_turns},
    group::{Goal, Group, Unit},
    memory,
    peers::{self, Peer},
    process::{bare, time},
    setup::Setup,
    site::{Site, word},
    stats::Sample,
};

pub fn measure(setup: &Setup) -> Result<Vec<Group>> {
    let room = setup.room("queueing")?;
    let site = Site::new(setup, "q", 1, &[word(&setup.floor("one-byte")), "{output}"])?;
    let peers = peers::all(&room, setup);
    let (count, floor) = (Counter::default(), room.join("floor.db"));
    let mut contenders = vec![
        Contender::new("pressroom", || site.queue(&count.next())),
        Contender::new("rusqlite, one durable row", || time(bare(&setup.insert).arg(&floor).arg(count.next()), &[0])),
        Contender::new("C, 4 KiB and fdatasync", || time(bare(setup.floor("fdatasync")).arg(room.join("page")), &[0])),
    ];
    contenders.extend(peers.iter().map(|peer| Contender::new(peer.name(), || time(&mut peer.add(&["true"]), &[0]))));
    each(&peers, |peer| peer.hold());
    let samples = in_turns(contenders, setup.pick(40, 8), 10);
    each(&peers, |peer| peer.release());
    let goals = [("rusqlite", Goal::AtMost(1.3)), ("nq", Goal::AtMost(1.0))];
    let time = Group::among("queueing", "request, queued durably", Unit::Milliseconds, samples?, &goals);
    let peak = Sample::one(memory::peak(setup, &site.request("peak"), &[75])?);
    let memory = Group::alone("", "request, queued: peak memory", Unit::Megabytes, peak, Some(Goal::Below(10.0)));
    Ok(time.into_iter().chain([memory]).collect())
}

/// A peer that cannot hold its jobs is told about, and measured as it is.
pub fn each(peers: &[Box<dyn Peer>], what: impl Fn(&dyn Peer) -> Result<()>) {
    for peer in peers {
        if let Err(error) = what(peer.as_ref()) {
            eprintln!("bench: {}: {error:#}", peer.name());
        }
    }
}

/// Titles that have not been asked for before.
#[derive(Default)]
pub struct Counter(Cell<usize>);

impl Counter {
    pub fn next(&self) -> String {
        self.0.set(self.0.get() + 1);
        format!("t{}", self.0.get())
    }
}
