//! What was measured: Pressroom's figure, and what it is compared with.

use crate::stats::{Sample, ratio};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Milliseconds,
    Seconds,
    PerSecond,
    Megabytes,
    Percent,
    Count,
}

impl Unit {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::PerSecond => "/s",
            Self::Megabytes => "MB",
            Self::Percent => "%",
            Self::Count => "",
        }
    }
}

/// What is aimed at.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// So many times what stands beside it.
    AtMost(f64),
    /// So many times what stands beside it.
    AtLeast(f64),
    /// In the unit of the group: a value of Pressroom's alone, which may just be reached.
    Below(f64),
}

/// One comparison.
pub struct Line {
    /// `None`: the figure stands alone.
    pub other: Option<(String, Sample)>,
    pub goal: Option<Goal>,
}

/// One thing that was measured.
pub struct Group {
    /// Groups of the same figure share a plot.
    pub figure: &'static str,
    pub what: String,
    pub unit: Unit,
    pub ours: Sample,
    pub lines: Vec<Line>,
}

impl Line {
    pub fn ratio(&self, ours: &Sample) -> Option<f64> {
        self.other.as_ref().map(|(_, other)| ratio(ours, other))
    }

    /// `None`: there is no goal, or nothing to compare with.
    pub fn reached(&self, ours: &Sample) -> Option<bool> {
        match self.goal? {
            Goal::AtMost(goal) => self.ratio(ours).map(|ratio| ratio <= goal),
            Goal::AtLeast(goal) => self.ratio(ours).map(|ratio| ratio >= goal),
            Goal::Below(goal) => Some(ours.median() <= goal),
        }
    }
}

impl Group {
    /// A figure that stands alone.
    pub fn alone(figure: &'static str, what: &str, unit: Unit, ours: Sample, goal: Option<Goal>) -> Self {
        Self { figure, what: what.to_owned(), unit, ours, lines: vec![Line { other: None, goal }] }
    }

    /// The first sample is Pressroom's. A goal belongs to the name that begins with its word.
    pub fn among(
        figure: &'static str,
        what: &str,
        unit: Unit,
        samples: Vec<(String, Sample)>,
        goals: &[(&str, Goal)],
    ) -> Option<Self> {
        let mut samples = samples.into_iter();
        let (_, ours) = samples.next()?;
        let goal = |name: &str| goals.iter().find(|(word, _)| name.starts_with(word)).map(|(_, goal)| *goal);
        let lines = samples.map(|(name, sample)| Line { goal: goal(&name), other: Some((name, sample)) }).collect();
        Some(Self { figure, what: what.to_owned(), unit, ours, lines })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(other: f64, goal: Goal) -> Line {
        Line { other: Some((String::new(), Sample::one(other))), goal: Some(goal) }
    }

    #[test]
    fn a_goal_is_reached_on_its_own_side_and_exactly() {
        let ours = Sample::one(3.0);
        assert_eq!(line(2.0, Goal::AtMost(1.5)).reached(&ours), Some(true));
        assert_eq!(line(2.0, Goal::AtMost(1.4)).reached(&ours), Some(false));
        assert_eq!(line(2.0, Goal::AtLeast(1.5)).reached(&ours), Some(true));
        assert_eq!(line(2.0, Goal::AtLeast(1.6)).reached(&ours), Some(false));
        assert_eq!(line(2.0, Goal::Below(3.0)).reached(&ours), Some(true));
    }

    #[test]
    fn without_anything_to_compare_with_a_ratio_is_neither_reached_nor_missed() {
        let line = Line { other: None, goal: Some(Goal::AtMost(1.0)) };
        assert_eq!(line.reached(&Sample::one(1.0)), None);
    }

    #[test]
    fn a_goal_finds_its_comparison_by_the_first_word() {
        let samples = [("pressroom", 1.0), ("floor: C", 2.0), ("nq", 3.0)];
        let samples = samples.map(|(name, value)| (name.to_owned(), Sample::one(value))).to_vec();
        let group = Group::among("x", "x", Unit::Count, samples, &[("nq", Goal::AtMost(1.0))]).expect("a group");
        assert!(group.lines[0].goal.is_none());
        assert_eq!(group.lines[1].reached(&group.ours), Some(true));
    }
}
