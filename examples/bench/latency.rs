//! From the request to the exporter's first instruction, while a tick lingers.

use std::cell::RefCell;

use anyhow::Result;

use crate::{
    contender::{Contender, in_turns},
    group::{Goal, Group, Unit},
    peers::{self, Peer},
    process::{bare, time},
    queueing::Counter,
    setup::Setup,
    site::{Site, word},
    stamps::{Stamps, now},
};

struct Race {
    stamps: RefCell<Stamps>,
    stamp: String,
    fifo: String,
    count: Counter,
}

pub fn measure(setup: &Setup) -> Result<Vec<Group>> {
    let room = setup.room("latency")?;
    let stamps = Stamps::new(&room)?;
    let (stamp, fifo) = (setup.floor("stamp"), stamps.path.clone());
    let (stamp, fifo) = (word(&stamp).to_owned(), word(&fifo).to_owned());
    let race = Race { stamps: RefCell::new(stamps), stamp, fifo, count: Counter::default() };
    let site = Site::new(setup, "l", 1, &[&race.stamp, &race.fifo, "{output}"])?;
    let peers = peers::all(&room, setup);
    let _tick = site.linger()?;
    race.pressroom(&site)?; // the tick is there
    let mut contenders = vec![
        Contender::new("pressroom", || race.pressroom(&site)),
        Contender::new("C, nothing between", || race.spawn()),
    ];
    contenders.extend(peers.iter().map(|peer| Contender::new(peer.name(), || race.peer(peer.as_ref()))));
    let samples = in_turns(contenders, setup.pick(40, 10), 5)?;
    let what = "request to the exporter's first instruction";
    Ok(Group::among("latency", what, Unit::Milliseconds, samples, &[("tsp", Goal::AtMost(2.5))]).into_iter().collect())
}

impl Race {
    /// Milliseconds from now to the stamp, once `start` has done what leads to it.
    fn run(&self, start: impl FnOnce() -> Result<f64>) -> Result<f64> {
        let begin = now()?;
        start()?;
        let microseconds = (self.stamps.borrow_mut().next()? - begin) / 1000;
        Ok(f64::from(i32::try_from(microseconds)?) / 1e3)
    }

    fn pressroom(&self, site: &Site) -> Result<f64> {
        let title = self.count.next();
        let took = self.run(|| site.queue(&title))?;
        site.settle()?;
        Ok(took)
    }

    fn spawn(&self) -> Result<f64> {
        self.run(|| time(bare(&self.stamp).arg(&self.fifo), &[0]))
    }

    fn peer(&self, peer: &dyn Peer) -> Result<f64> {
        let took = self.run(|| time(&mut peer.add(&[&self.stamp, &self.fifo]), &[0]))?;
        peer.settle()?;
        Ok(took)
    }
}
