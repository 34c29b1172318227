//! Columns for people. Rows are laid out some at a time, so that a long list needs no memory.

use crate::{model::safe, output::Output};

/// So many rows are looked at before a column gets its width.
const PAGE: usize = 200;

/// A table of `N` columns being written. The last column is not padded.
pub struct TextTable<const N: usize> {
    rows: Vec<[String; N]>,
    widths: [usize; N],
}

impl<const N: usize> TextTable<N> {
    pub fn new(heads: [&str; N]) -> Self {
        let mut table = Self { rows: Vec::new(), widths: [0; N] };
        table.rows.push(heads.map(str::to_owned));
        table
    }

    /// One more row; texts that came from outside need not be safe yet.
    pub fn row(&mut self, paper: &mut Output, cells: [String; N]) {
        self.rows.push(cells.map(|cell| safe::line(&cell)));
        if self.rows.len() >= PAGE {
            self.print(paper);
        }
    }

    /// Writes what is left.
    pub fn finish(mut self, paper: &mut Output) {
        self.print(paper);
    }

    fn print(&mut self, paper: &mut Output) {
        for row in &self.rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in self.rows.drain(..) {
            let cells: Vec<_> = row.iter().zip(self.widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            paper.line(cells.join("  ").trim_end());
        }
    }
}
