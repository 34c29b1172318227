//! Lengths of runs as exporters have them, by a generator with a seed.

pub struct Random(pub u64);

impl Random {
    /// From 0 to 1, neither of them.
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    pub fn part(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// By Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let (a, b) = (self.part(), self.part());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// The time until the next of events that come so far apart on average.
    pub fn gap(&mut self, mean: f64) -> f64 {
        -mean * self.part().ln()
    }
}

/// Seconds.
#[derive(Clone, Copy, Debug)]
pub enum Lengths {
    /// The same work each time, and a little noise.
    Constant(f64),
    /// Books of all sizes: the middle one, and the spread of the logarithms.
    Books(f64, f64),
    /// Small ones and, in this share of the cases, large ones.
    Two(f64, f64, f64),
    /// The shortest, and the exponent of Pareto's law.
    Tail(f64, f64),
    /// Anything between.
    Even(f64, f64),
}

impl Lengths {
    /// Milliseconds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some seconds")]
    pub fn draw(self, random: &mut Random) -> u64 {
        let noise = 1.0 + 0.05 * random.normal();
        let seconds = match self {
            Self::Constant(seconds) => seconds * noise,
            Self::Books(middle, spread) => middle * (spread * random.normal()).exp(),
            Self::Two(small, large, share) => {
                if random.part() < share {
                    large * noise
                } else {
                    small * noise
                }
            }
            Self::Tail(least, exponent) => (least * random.part().powf(-1.0 / exponent)).min(least * 100.0),
            Self::Even(from, to) => from + (to - from) * random.part(),
        };
        (seconds.max(0.02) * 1000.0) as u64
    }
}
