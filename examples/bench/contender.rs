//! Several ways to do the same thing, measured in turns: what disturbs the machine disturbs all of them alike.

use anyhow::Result;

use crate::stats::Sample;

/// One way. `once` does it and returns what it measured.
pub struct Contender<'a> {
    name: String,
    once: Box<dyn FnMut() -> Result<f64> + 'a>,
    values: Vec<f64>,
    failed: bool,
}

impl<'a> Contender<'a> {
    pub fn new(name: &str, once: impl FnMut() -> Result<f64> + 'a) -> Self {
        Self { name: name.to_owned(), once: Box::new(once), values: Vec::new(), failed: false }
    }

    /// One that fails is told and left out from then on: half a comparison would be none.
    fn run(&mut self, times: usize) {
        for _ in 0..times {
            if self.failed {
                return;
            }
            match (self.once)() {
                Ok(value) => self.values.push(value),
                Err(error) => {
                    eprintln!("bench: {} is left out: {error:#}", self.name);
                    self.failed = true;
                }
            }
        }
    }

    fn finish(self) -> Option<(String, Sample)> {
        (!self.failed).then_some(())?;
        Some((self.name, Sample::new(self.values)?))
    }
}

/// `rounds` rounds in which each does its thing `batch` times. The first must not fail; others may be missing.
pub fn in_turns(mut all: Vec<Contender<'_>>, rounds: usize, batch: usize) -> Result<Vec<(String, Sample)>> {
    for round in 0..rounds {
        for contender in &mut all {
            contender.run(batch);
        }
        anyhow::ensure!(!all[0].failed, "{} failed in round {round}", all[0].name);
    }
    Ok(all.into_iter().filter_map(Contender::finish).collect())
}
