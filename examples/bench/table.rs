//! The table, for the terminal and as Markdown.

use std::fmt::Write as _;

use crate::{
    group::{Goal, Group, Line, Unit},
    stats::Sample,
};

const HEAD: [&str; 7] = ["what", "Pressroom", "compared with", "its figure", "ratio", "goal", "reached"];

/// With its columns under each other.
pub fn terminal(groups: &[Group]) -> String {
    aligned(&rows(groups))
}

/// What `results.md` holds.
pub fn markdown(groups: &[Group], about: &str) -> String {
    let mut rows: Vec<String> = rows(groups).iter().map(|row| format!("| {} |\n", row.join(" | "))).collect();
    rows.insert(1, format!("|{}\n", "---|".repeat(HEAD.len())));
    format!("# Benchmark results\n\n{about}\n[What each line means](../benchmarks.md).\n\n{}", rows.concat())
}

/// One for each comparison. A spread is the first and the third quartile.
fn rows(groups: &[Group]) -> Vec<[String; 7]> {
    let mut rows = vec![HEAD.map(str::to_owned)];
    for group in groups {
        for (number, line) in group.lines.iter().enumerate() {
            let mut row = row(group, line);
            if number > 0 {
                row[0].clear();
                row[1].clear();
            }
            rows.push(row);
        }
    }
    rows
}

fn row(group: &Group, line: &Line) -> [String; 7] {
    let (name, figure) =
        line.other.clone().map_or((String::new(), String::new()), |(name, sample)| (name, figure(&sample, group.unit)));
    [
        group.what.clone(),
        self::figure(&group.ours, group.unit),
        name,
        figure,
        line.ratio(&group.ours).filter(|ratio| ratio.is_finite()).map_or(String::new(), |ratio| format!("{ratio:.2}")),
        line.goal.map_or(String::new(), |goal| goal_text(goal, group.unit)),
        line.reached(&group.ours).map_or("", |reached| if reached { "yes" } else { "NO" }).to_owned(),
    ]
}

/// `0.81 ms (0.79 to 0.84)`.
pub fn figure(sample: &Sample, unit: Unit) -> String {
    let median = format!("{} {}", number(sample.median()), unit.name());
    if sample.len() == 1 {
        return median.trim_end().to_owned();
    }
    let (first, third) = sample.quartiles();
    format!("{median} ({} to {})", number(first), number(third))
}

pub fn goal_text(goal: Goal, unit: Unit) -> String {
    match goal {
        Goal::AtMost(times) => format!("≤ {times} ×"),
        Goal::AtLeast(times) => format!("≥ {times} ×"),
        Goal::Below(value) => format!("≤ {value} {}", unit.name()).trim_end().to_owned(),
    }
}

/// Three digits that count, as far as they tell anything.
fn number(value: f64) -> String {
    match value {
        _ if value.fract().abs() < f64::EPSILON => format!("{value}"),
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn aligned(rows: &[[String; 7]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
