//! One bar for each contender, drawn as SVG: the median, with a line over the middle half.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use crate::stats::Sample;

const WIDTH: i32 = 880;
const LABELS: i32 = 380;
const BAR: i32 = 26;
const TOP: i32 = 44;
/// Room for the number behind the longest bar.
const NUMBERS: i32 = 90;

const OURS: RGBColor = RGBColor(0x1f, 0x6f, 0xb4);
const OTHERS: RGBColor = RGBColor(0xb0, 0xb7, 0xbd);
const INK: RGBColor = RGBColor(0x33, 0x33, 0x33);

pub struct Bar {
    pub label: String,
    pub sample: Sample,
    pub ours: bool,
}

pub struct Chart<'a> {
    pub title: &'a str,
    pub bars: &'a [Bar],
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

impl Chart<'_> {
    pub fn draw(&self, path: &Path) -> Result<()> {
        let height = TOP + BAR * i32::try_from(self.bars.len())? + 12;
        let area = SVGBackend::new(path, (WIDTH.unsigned_abs(), height.unsigned_abs())).into_drawing_area();
        self.fill(&area).map_err(|error| anyhow!("cannot draw {}: {error}", path.display()))
    }

    fn fill(&self, area: &Area<'_>) -> Result<(), Box<dyn std::error::Error>> {
        area.fill(&WHITE)?; // readable on a dark page, too
        area.draw(&Text::new(self.title, (12, 14), text(17)))?;
        for (number, bar) in (0..).zip(self.bars) {
            self.bar(area, bar, TOP + BAR * number)?;
        }
        area.present()?;
        Ok(())
    }

    fn bar(&self, area: &Area<'_>, bar: &Bar, top: i32) -> Result<(), Box<dyn std::error::Error>> {
        let (middle, end) = (top + BAR / 2, self.place(bar.sample.median()));
        let (first, third) = bar.sample.quartiles();
        let style = if bar.ours { OURS } else { OTHERS }.filled();
        let right = Pos::new(HPos::Right, VPos::Center);
        area.draw(&Text::new(bar.label.clone(), (LABELS - 10, middle), text(14).pos(right)))?;
        area.draw(&Rectangle::new([(LABELS, top + 4), (end, top + BAR - 4)], style))?;
        let spread = [(self.place(first), middle), (self.place(third), middle)];
        area.draw(&PathElement::new(spread, INK.stroke_width(2)))?;
        let behind = self.place(third).max(end) + 8;
        let left = Pos::new(HPos::Left, VPos::Center);
        area.draw(&Text::new(number(bar.sample.median()), (behind, middle), text(14).pos(left)))?;
        Ok(())
    }

    /// Where a value ends, from the left. The axis begins at zero, so that lengths may be compared.
    #[expect(clippy::cast_possible_truncation, reason = "it lies within the picture")]
    fn place(&self, value: f64) -> i32 {
        let longest = self.bars.iter().map(|bar| bar.sample.quartiles().1).fold(f64::MIN_POSITIVE, f64::max);
        LABELS + (value / longest * f64::from(WIDTH - LABELS - NUMBERS)).round() as i32
    }
}

fn text(size: i32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

fn number(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") }
}
