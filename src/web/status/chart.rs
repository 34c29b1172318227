//! One plot as SVG, drawn by `plotters`: with presentation attributes only, which no `Content-Security-Policy` forbids, and
//! in colours that the style of the page replaces by those of the reader's colour scheme.

use std::{fmt::Display, time::Duration};

use anyhow::{Result, anyhow};
use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use crate::model::{
    clock::{Stamp, millis},
    moment,
};

/// As wide as a phone, so that it is not scaled down there.
const WIDTH: i32 = 340;
const HEIGHT: i32 = 170;
const LEFT: i32 = 52;
const RIGHT: i32 = WIDTH - 22;
const TOP: i32 = 12;
const BOTTOM: i32 = HEIGHT - 24;

/// The style replaces these colours. Both have a contrast of at least 3 to 1 on white and on black.
pub(super) const FIRST: RGBColor = RGBColor(0x2f, 0x7d, 0xc4);
pub(super) const SECOND: RGBColor = RGBColor(0xb8, 0x62, 0x10);
const INK: RGBColor = RGBColor(0x77, 0x77, 0x78);

/// How far a plot reaches back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlotSpan {
    Hour,
    Day,
}

impl PlotSpan {
    pub(super) const ALL: [Self; 2] = [Self::Hour, Self::Day];

    /// The last hour, unless the day is named.
    pub(super) fn named(name: Option<&str>) -> Self {
        Self::ALL.into_iter().find(|span| Some(span.name()) == name).unwrap_or(Self::Hour)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Hour => "The last hour",
            Self::Day => "The last day",
        }
    }

    pub(super) const fn length(self) -> Duration {
        match self {
            Self::Hour => Duration::from_hours(1),
            Self::Day => Duration::from_hours(24),
        }
    }

    /// Attempts that ended within this time make one point.
    pub(super) const fn bucket(self) -> Duration {
        match self {
            Self::Hour => Duration::from_mins(2),
            Self::Day => Duration::from_mins(30),
        }
    }

    /// Between two labels of the time axis.
    pub(super) const fn label_interval(self) -> Duration {
        match self {
            Self::Hour => Duration::from_mins(15),
            Self::Day => Duration::from_hours(6),
        }
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeriesKind {
    Lines,
    Bars,
}

/// One line, or the tops of bars.
pub(super) struct Series {
    pub(super) colour: RGBColor,
    pub(super) points: Vec<(Stamp, f64)>,
}

pub(super) struct Chart<'a> {
    span: PlotSpan,
    now: Stamp,
    kind: SeriesKind,
    lines: Vec<Series>,
    /// The end of the value axis.
    most: f64,
    label: &'a dyn Fn(f64) -> String,
}

impl<'a> Chart<'a> {
    /// `label` is the text for a value of the axis; empty for a value without one.
    pub(super) fn new(
        span: PlotSpan,
        now: Stamp,
        kind: SeriesKind,
        lines: Vec<Series>,
        label: &'a dyn Fn(f64) -> String,
    ) -> Self {
        let most = lines.iter().flat_map(|line| &line.points).map(|(_, value)| *value).fold(0.0, f64::max);
        Self { span, now, kind, lines, most: round(most), label }
    }

    /// The picture as an `<svg>` element.
    pub(super) fn draw(&self) -> Result<String> {
        let mut text = String::new();
        let area =
            SVGBackend::with_string(&mut text, (WIDTH.unsigned_abs(), HEIGHT.unsigned_abs())).into_drawing_area();
        self.fill(&area).map_err(|error| anyhow!("cannot draw a plot: {error}"))?;
        drop(area);
        Ok(text)
    }

    fn fill(&self, area: &Area<'_>) -> Drawn {
        self.values(area)?;
        self.times(area)?;
        for (number, line) in self.lines.iter().enumerate() {
            match self.kind {
                // The first line is thicker, for readers who cannot distinguish the colours.
                SeriesKind::Lines => self.line(area, line, if number == 0 { 4 } else { 2 })?,
                SeriesKind::Bars => self.bars(area, line)?,
            }
        }
        area.present()?;
        Ok(())
    }

    /// The value axis: 0, half, and the end.
    fn values(&self, area: &Area<'_>) -> Drawn {
        for value in [0.0, self.most / 2.0, self.most] {
            let height = self.height(value);
            area.draw(&PathElement::new([(LEFT, height), (RIGHT, height)], INK.mix(0.5).stroke_width(1)))?;
            let place = Pos::new(HPos::Right, VPos::Center);
            write(area, (self.label)(value), (LEFT - 6, height), place)?;
        }
        Ok(())
    }

    /// The time axis, with labels in the configured time zone.
    fn times(&self, area: &Area<'_>) -> Drawn {
        let mark = millis(self.span.label_interval());
        let first = self.start().0.div_euclid(mark) + 1;
        for at in (first..=self.now.0.div_euclid(mark)).map(|number| Stamp(number * mark)) {
            let place = self.place(at);
            area.draw(&PathElement::new([(place, BOTTOM), (place, BOTTOM + 4)], INK.stroke_width(1)))?;
            write(area, clock(at), (place, BOTTOM + 7), Pos::new(HPos::Center, VPos::Top))?;
        }
        Ok(())
    }

    fn line(&self, area: &Area<'_>, line: &Series, width: u32) -> Drawn {
        let points: Vec<_> = line.points.iter().map(|(at, value)| (self.place(*at), self.height(*value))).collect();
        if let [(x, y)] = points[..] {
            area.draw(&Circle::new((x, y), width, line.colour.filled()))?;
        }
        area.draw(&PathElement::new(points, line.colour.stroke_width(width)))?;
        Ok(())
    }

    fn bars(&self, area: &Area<'_>, line: &Series) -> Drawn {
        let half = self.span.bucket() / 2;
        for (at, value) in line.points.iter().filter(|(_, value)| *value > 0.0) {
            let (left, right) = (self.place(at.minus(half)), self.place(at.plus(half)));
            let corners = [(left, self.height(*value)), ((right - 1).max(left + 1), BOTTOM)];
            area.draw(&Rectangle::new(corners, line.colour.filled()))?;
        }
        Ok(())
    }

    fn start(&self) -> Stamp {
        self.now.minus(self.span.length())
    }

    /// Pixels from the left.
    fn place(&self, at: Stamp) -> i32 {
        let part = share(at.since(self.start()), self.span.length());
        LEFT + pixels(part * f64::from(RIGHT - LEFT))
    }

    /// Pixels from the top. The axis begins at 0, so that heights can be compared.
    fn height(&self, value: f64) -> i32 {
        BOTTOM - pixels(value / self.most * f64::from(BOTTOM - TOP))
    }
}

/// The next of 2, 4, 6, 10, 20, 40 …: half of each is a round number, too.
fn round(most: f64) -> f64 {
    let mut scale = 1.0;
    while scale * 10.0 < most && scale < 1e15 {
        scale *= 10.0;
    }
    [2.0, 4.0, 6.0, 10.0].map(|end| end * scale).into_iter().find(|end| *end >= most).unwrap_or(most)
}

fn share(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64()
}

#[expect(clippy::cast_possible_truncation, reason = "it lies within the picture")]
fn pixels(length: f64) -> i32 {
    length.round() as i32
}

fn write(area: &Area<'_>, text: impl Display, place: (i32, i32), anchor: Pos) -> Drawn {
    let style = ("sans-serif", 15).into_font().color(&INK).pos(anchor);
    area.draw(&Text::new(text.to_string(), place, style))?;
    Ok(())
}

/// `14:30`.
fn clock(at: Stamp) -> String {
    moment::clock(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(Stamp, f64)>, kind: SeriesKind) -> String {
        let lines = vec![Series { colour: FIRST, points }];
        Chart::new(PlotSpan::Hour, NOW, kind, lines, &|value| value.to_string()).draw().unwrap()
    }

    /// Noon.
    const NOW: Stamp = Stamp(1_772_366_400_000);

    #[test]
    fn a_line_ends_where_its_last_value_is() {
        let svg = chart(vec![(NOW.plus_ms(-3_600_000), 0.0), (NOW, 20.0)], SeriesKind::Lines);
        assert!(svg.contains(&format!("points=\"{LEFT},{BOTTOM} {RIGHT},{TOP} ")), "{svg}");
        for text in [">\n20\n<", ">\n10\n<", ">\n11:15\n<", ">\n12:00\n<"] {
            assert!(svg.contains(text), "{text:?} in {svg}");
        }
    }

    #[test]
    fn a_picture_has_no_style_that_a_policy_could_forbid() {
        let svg = chart(vec![(NOW.plus_ms(-60_000), 3.0)], SeriesKind::Bars);
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert!(svg.contains("fill=\"#2F7DC4\"") && !svg.contains("style") && !svg.contains("href"), "{svg}");
    }

    #[test]
    fn the_axis_ends_at_a_round_number() {
        let ends = ["2", "2", "4", "6", "20", "60", "100", "200"];
        assert_eq!([0.0, 1.0, 3.0, 4.5, 11.0, 41.0, 100.0, 101.0].map(|most| round(most).to_string()), ends);
    }
}
