//! The ten sites.

use super::lengths::Lengths::{self, Books, Constant, Even, Tail, Two};

/// A site and its traffic.
pub struct Spec {
    pub name: &'static str,
    pub seed: u64,
    pub host: u32,
    /// The seats of each queue.
    pub queues: Vec<u32>,
    pub exporters: Vec<SimulatedExporter>,
    /// Seconds from one request to the next, on average.
    pub gap: f64,
    /// Seconds between the beginnings of ticks, and how long each stays.
    pub cron: (u64, u64),
    pub jobs: usize,
}

pub struct SimulatedExporter {
    pub queue: usize,
    pub lengths: Lengths,
    /// Its part of the requests, beside those of the others.
    pub weight: f64,
    pub tells_percent: bool,
    /// How many of a hundred runs fail and are tried again after half a minute.
    pub fails: u32,
}

const fn plain(queue: usize, lengths: Lengths, weight: f64) -> SimulatedExporter {
    SimulatedExporter { queue, lengths, weight, tells_percent: false, fails: 0 }
}

const fn telling(queue: usize, lengths: Lengths, weight: f64) -> SimulatedExporter {
    SimulatedExporter { tells_percent: true, ..plain(queue, lengths, weight) }
}

const fn failing(queue: usize, lengths: Lengths, weight: f64, fails: u32) -> SimulatedExporter {
    SimulatedExporter { fails, ..plain(queue, lengths, weight) }
}

const STAYS: (u64, u64) = (60, 60);
const MOSTLY: (u64, u64) = (60, 50);
const PLAIN: (u64, u64) = (60, 0);

pub fn all() -> Vec<Spec> {
    let spec = |name, seed, host, queues, exporters, gap, cron| Spec {
        name,
        seed,
        host,
        queues,
        exporters,
        gap,
        cron,
        jobs: 200,
    };
    vec![
        spec(
            "a library: books of all sizes, two seats",
            1,
            8,
            vec![2],
            vec![plain(0, Books(20.0, 0.5), 1.0)],
            14.0,
            STAYS,
        ),
        spec("reports of one length, a plain crontab", 2, 8, vec![1], vec![plain(0, Constant(12.0), 1.0)], 75.0, PLAIN),
        spec("thumbnails: less than a second", 3, 4, vec![4], vec![plain(0, Books(0.3, 0.4), 1.0)], 2.0, STAYS),
        spec(
            "long books that tell how far they are",
            4,
            2,
            vec![2],
            vec![telling(0, Books(150.0, 0.8), 1.0)],
            120.0,
            STAYS,
        ),
        spec(
            "an EPUB queue and a PDF queue on a small host",
            5,
            2,
            vec![2, 2],
            vec![plain(0, Books(8.0, 0.4), 2.0), telling(1, Books(60.0, 0.6), 1.0)],
            18.0,
            MOSTLY,
        ),
        spec("small and large ones in one queue", 6, 8, vec![1], vec![plain(0, Two(3.0, 90.0, 0.2), 1.0)], 30.0, STAYS),
        spec("a heavy tail, three seats", 7, 8, vec![3], vec![plain(0, Tail(5.0, 1.6), 1.0)], 6.0, STAYS),
        spec(
            "three queues, four seats on the host, a plain crontab",
            8,
            4,
            vec![1, 2, 4],
            vec![plain(0, Constant(40.0), 1.0), plain(1, Books(25.0, 0.5), 1.0), plain(2, Even(2.0, 6.0), 2.0)],
            25.0,
            PLAIN,
        ),
        spec(
            "a converter that fails now and then",
            9,
            8,
            vec![2],
            vec![failing(0, Books(30.0, 0.3), 1.0, 10)],
            20.0,
            MOSTLY,
        ),
        spec(
            "a rush: more comes than can be made for an hour",
            10,
            3,
            vec![3],
            vec![plain(0, Books(10.0, 0.6), 3.0), plain(0, Two(4.0, 30.0, 0.3), 1.0)],
            3.0,
            STAYS,
        ),
    ]
}
