//! Line charts as inline SVG: no script, no network, legible on paper, on a phone and without colour.

use maud::{Markup, PreEscaped, html};
use std::fmt::Write;

/// One or several panels that share a legend and a caption.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figure {
    /// Anchor on the page; for the paper's figures their LaTeX label.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What to see.
    pub caption: String,
    /// Charts, left to right.
    pub panels: Vec<Panel>,
}

/// One chart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Panel {
    /// Short heading inside the figure.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Curves; those of one name have one colour in all panels.
    pub series: Vec<Series>,
    /// Horizontal lines to compare with, each with its words.
    pub references: Vec<(f64, String)>,
}

/// How an axis is drawn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Axis {
    /// Words beside the axis.
    pub label: String,
    /// Equal ratios take equal lengths.
    pub log: bool,
    /// Ends; from the data when not given.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis that fits the data.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), log: false, range: None }
    }

    /// A logarithmic axis that fits the data.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), log: true, range: None }
    }

    /// Fixes the ends.
    pub fn from_to(mut self, from: f64, to: f64) -> Self {
        self.range = Some((from, to));
        self
    }
}

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stroke {
    /// Line and markers.
    #[default]
    Solid,
    /// Dashed line and markers.
    Dashed,
    /// Thin dashed line without markers, for theory.
    Theory,
    /// Plain line without markers.
    Plain,
}

/// One curve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Points from left to right.
    pub points: Vec<Point>,
    /// Line style.
    pub stroke: Stroke,
    /// Place in the palette; by the order of names when not given.
    pub tone: Option<usize>,
}

/// One point with its band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Horizontal place.
    pub x: f64,
    /// Vertical place.
    pub y: f64,
    /// Lower and upper end of the confidence band; equal to `y` for none.
    pub band: (f64, f64),
}

impl Point {
    fn is_finite(&self) -> bool {
        [self.x, self.y, self.band.0, self.band.1].iter().all(|v| v.is_finite())
    }
}

impl Series {
    /// A curve without a band; points that are not finite are left out.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| Point { x, y, band: (y, y) }).filter(Point::is_finite).collect();
        Self { name: name.into(), points, ..Self::default() }
    }

    /// A curve with half-widths of a band: (x, y, half).
    pub fn with_band(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y, half)| Point { x, y, band: (y - half, y + half) });
        let points = points.filter(Point::is_finite).collect();
        Self { name: name.into(), points, ..Self::default() }
    }

    /// Sets the line style.
    pub fn stroke(mut self, stroke: Stroke) -> Self {
        self.stroke = stroke;
        self
    }

    /// Sets the place in the palette.
    pub fn tone(mut self, tone: usize) -> Self {
        self.tone = Some(tone);
        self
    }
}

/// Colours that can be told apart by colour-blind readers and in grey print (after Okabe and Ito), strongest first.
const PALETTE: [&str; 8] = ["#0067a5", "#d1495b", "#00876c", "#e08a00", "#7b4fa3", "#4aa8d8", "#8a5a2b", "#5b6470"];

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 285.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;
const FONT: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

impl Figure {
    /// The figure as HTML: panels in a grid that folds on narrow screens, one legend under them.
    pub fn to_html(&self) -> Markup {
        let names = self.names();
        // Panels that show different things get their own legends.
        let shared = self.panels.iter().any(|panel| names.iter().all(|look| panel.shows(look)));
        html! {
            figure id=(self.id) class=(if self.panels.len() == 1 { "single" } else { "many" }) {
                @if !self.title.is_empty() { h3 { (self.title) } }
                div class="panels" {
                    @for panel in &self.panels {
                        div class="panel" {
                            (PreEscaped(panel.svg(&names)))
                            @if !shared { (legend(names.iter().filter(|look| panel.shows(look)))) }
                        }
                    }
                }
                @if shared && names.len() > 1 { (legend(names.iter())) }
                @if !self.caption.is_empty() { figcaption { (self.caption) } }
            }
        }
    }

    /// The name of the figure's file.
    pub fn file_name(&self) -> String {
        format!("{}.svg", self.id.trim_start_matches("fig:").replace(' ', "_")) // a link ends at a space
    }

    /// The figure as one SVG file: panels side by side, legend under them.
    pub fn to_svg(&self) -> String {
        let names = self.names();
        let columns = self.panels.len().clamp(1, 3);
        let rows = self.panels.len().div_ceil(columns);
        let width = columns as f64 * WIDTH;
        let legend_columns = (width / 210.0).floor().max(1.0) as usize;
        let legend = if names.len() > 1 { names.len().div_ceil(legend_columns) as f64 * 20.0 + 10.0 } else { 0.0 };
        let height = rows as f64 * HEIGHT + legend;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"{FONT}\" \
             role=\"img\"><title>{}</title><rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>",
            escape(&self.title)
        );
        for (at, panel) in self.panels.iter().enumerate() {
            let (x, y) = ((at % columns) as f64 * WIDTH, (at / columns) as f64 * HEIGHT);
            let _ = write!(out, "<g transform=\"translate({x} {y})\">{}</g>", panel.body(&names));
        }
        for (at, entry) in names.iter().enumerate().filter(|_| legend > 0.0) {
            let x = 20.0 + (at % legend_columns) as f64 * 210.0;
            let y = rows as f64 * HEIGHT + 2.0 + (at / legend_columns) as f64 * 20.0;
            let _ = write!(
                out,
                "<g transform=\"translate({x} {y})\">{}<text x=\"40\" y=\"10\" font-size=\"12\" fill=\"#1c2430\">{}\
                 </text></g>",
                entry.swatch(),
                escape(&entry.name)
            );
        }
        out + "</svg>\n"
    }

    /// Each name once, in the order of appearance, with its look.
    fn names(&self) -> Vec<Look> {
        let mut names: Vec<Look> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if !names.iter().any(|look| look.name == series.name) {
                let tone = series.tone.unwrap_or(names.len());
                names.push(Look { name: series.name.clone(), tone, stroke: series.stroke });
            }
        }
        names
    }
}

fn legend<'a>(names: impl Iterator<Item = &'a Look>) -> Markup {
    html! {
        ul class="legend" {
            @for look in names {
                li {
                    svg viewBox="0 0 34 12" width="34" height="12" aria-hidden="true" { (PreEscaped(look.swatch())) }
                    span { (look.name) }
                }
            }
        }
    }
}

/// Colour, marker and line of one name.
struct Look {
    name: String,
    tone: usize,
    stroke: Stroke,
}

impl Look {
    fn colour(&self) -> &'static str {
        PALETTE[self.tone % PALETTE.len()]
    }

    fn line_attributes(&self) -> String {
        let (width, dash) = match self.stroke {
            Stroke::Solid | Stroke::Plain => (2.0, ""),
            Stroke::Dashed => (1.7, " stroke-dasharray=\"6 3.5\""),
            Stroke::Theory => (1.5, " stroke-dasharray=\"2 3\""),
        };
        format!("stroke=\"{}\" stroke-width=\"{width}\"{dash} fill=\"none\"", self.colour())
    }

    fn has_markers(&self) -> bool {
        matches!(self.stroke, Stroke::Solid | Stroke::Dashed)
    }

    /// A marker that identifies the curve without its colour.
    fn marker(&self, x: f64, y: f64) -> String {
        let shape = match self.tone % 6 {
            0 => return self.shape(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"")),
            1 => format!("M{:.1} {:.1}h5.4v5.4h-5.4z", x - 2.7, y - 2.7),
            2 => format!("M{x:.1} {:.1}l3.5 6h-7z", y - 3.8),
            3 => format!("M{x:.1} {:.1}l3.7 3.7l-3.7 3.7l-3.7-3.7z", y - 3.7),
            4 => format!("M{x:.1} {:.1}l3.5-6h-7z", y + 3.8),
            _ => format!("M{:.1} {:.1}h6.4v2.2h-6.4z", x - 3.2, y - 1.1),
        };
        self.shape(&format!("<path d=\"{shape}\""))
    }

    fn shape(&self, opening: &str) -> String {
        let fill = if self.stroke == Stroke::Dashed { "#fff" } else { self.colour() };
        format!("{opening} fill=\"{fill}\" stroke=\"{}\" stroke-width=\"1.3\"", self.colour())
    }

    fn swatch(&self) -> String {
        let mut out = format!("<path d=\"M1 6H33\" {}/>", self.line_attributes());
        if self.has_markers() {
            let _ = write!(out, "{}/>", self.marker(17.0, 6.0));
        }
        out
    }
}

impl Panel {
    fn svg(&self, names: &[Look]) -> String {
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">{}</svg>",
            escape(&self.alt()),
            self.body(names)
        )
    }

    fn shows(&self, look: &Look) -> bool {
        self.series.iter().any(|series| series.name == look.name)
    }

    /// The chart in words, for those who do not see it.
    fn alt(&self) -> String {
        let mut out = format!("{}: {} against {}.", self.title, self.y.label, self.x.label);
        for series in &self.series {
            if let (Some(first), Some(last)) = (series.points.first(), series.points.last()) {
                let [a, b, c, d] = [first.y, first.x, last.y, last.x].map(number);
                let _ = write!(out, " {}: {a} at {b}, {c} at {d}.", series.name);
            }
        }
        out
    }

    fn body(&self, names: &[Look]) -> String {
        let points = || self.series.iter().flat_map(|s| &s.points);
        let x = Scale::fit(&self.x, points().map(|p| p.x), LEFT, WIDTH - RIGHT);
        let heights = points().flat_map(|p| [p.y, p.band.0, p.band.1]).chain(self.references.iter().map(|r| r.0));
        let y = Scale::fit(&self.y, heights, HEIGHT - BOTTOM, TOP);
        let mut out = String::new();
        self.draw_axes(&x, &y, &mut out);
        for (value, words) in &self.references {
            let at = y.place(*value);
            let _ = write!(
                out,
                "<path d=\"M{LEFT} {at:.1}H{:.1}\" stroke=\"#5b6470\" stroke-dasharray=\"1 3\" stroke-width=\"1.3\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10.5\" fill=\"#4a5361\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                WIDTH - RIGHT - 2.0,
                at - 4.0,
                escape(words)
            );
        }
        // A nested svg clips what a fixed range leaves outside, with room for the markers.
        let (pad, w, h) = (5.0, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
        let _ = write!(
            out,
            "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" viewBox=\"{} {} {} {}\">",
            LEFT - pad,
            TOP - pad,
            w + 2.0 * pad,
            h + 2.0 * pad,
            LEFT - pad,
            TOP - pad,
            w + 2.0 * pad,
            h + 2.0 * pad
        );
        let looks: Vec<(&Series, &Look)> =
            self.series.iter().filter_map(|s| Some((s, names.iter().find(|l| l.name == s.name)?))).collect();
        looks.iter().for_each(|(series, look)| draw_band(series, look, &x, &y, &mut out));
        looks.iter().rev().for_each(|(series, look)| draw_line(series, look, &x, &y, &mut out));
        out + "</svg>"
    }

    fn draw_axes(&self, x: &Scale, y: &Scale, out: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let _ = write!(
            out,
            "<text x=\"{LEFT}\" y=\"18\" font-size=\"13.5\" font-weight=\"600\" fill=\"#1c2430\">{}</text>\
             <g font-size=\"11.5\" fill=\"#4a5361\">",
            escape(&self.title)
        );
        for (value, words) in y.ticks() {
            let at = y.place(value);
            let _ = write!(
                out,
                "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#e6e9ee\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{words}</text>",
                LEFT - 7.0,
                at + 4.0
            );
        }
        for (value, words) in x.ticks() {
            let at = x.place(value);
            let _ = write!(
                out,
                "<path d=\"M{at:.1} {bottom}v4\" stroke=\"#8b95a3\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{words}</text>",
                bottom + 17.0
            );
        }
        let middle = (TOP + bottom) / 2.0;
        let _ = write!(
            out,
            "<path d=\"M{LEFT} {bottom}H{right}\" stroke=\"#8b95a3\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(13 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text></g>",
            (LEFT + right) / 2.0,
            HEIGHT - 10.0,
            escape(&self.x.label),
            escape(&self.y.label)
        );
    }
}

fn draw_band(series: &Series, look: &Look, x: &Scale, y: &Scale, out: &mut String) {
    if series.points.iter().all(|p| p.band.0 == p.band.1) {
        return;
    }
    let place = |px: f64, py: f64| format!("{:.1} {:.1}", x.place(px), y.place(py));
    let upper = series.points.iter().map(|p| place(p.x, p.band.1));
    let lower = series.points.iter().rev().map(|p| place(p.x, p.band.0));
    let ring: Vec<String> = upper.chain(lower).collect();
    let _ = write!(out, "<path d=\"M{}z\" fill=\"{}\" fill-opacity=\".16\"/>", ring.join("L"), look.colour());
}

fn draw_line(series: &Series, look: &Look, x: &Scale, y: &Scale, out: &mut String) {
    let places: Vec<String> =
        series.points.iter().map(|p| format!("{:.1} {:.1}", x.place(p.x), y.place(p.y))).collect();
    if places.is_empty() {
        return;
    }
    let _ = write!(out, "<path d=\"M{}\" {} stroke-linejoin=\"round\"/>", places.join("L"), look.line_attributes());
    // Markers on a dense curve would hide it.
    if look.has_markers() && series.points.len() <= 24 {
        for p in &series.points {
            let mut words = format!("{}: {} at {}", series.name, number(p.y), number(p.x));
            if p.band.0 != p.band.1 {
                let _ = write!(words, " ({} to {})", number(p.band.0), number(p.band.1));
            }
            let marker = look.marker(x.place(p.x), y.place(p.y));
            let _ = write!(out, "{marker}><title>{}</title></{}>", escape(&words), tag_of(&marker));
        }
    }
}

fn tag_of(marker: &str) -> &'static str {
    if marker.starts_with("<circle") { "circle" } else { "path" }
}

/// From values to places on the page.
struct Scale {
    log: bool,
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

impl Scale {
    fn fit(axis: &Axis, values: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let (mut from, mut to) = axis.range.unwrap_or_else(|| {
            let usable = values.filter(|v| v.is_finite() && (!axis.log || *v > 0.0));
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
        });
        if from > to {
            (from, to) = (1.0, 10.0); // nothing to show
        }
        if axis.range.is_none() {
            if axis.log {
                let room = (to / from).max(1.05).powf(0.03);
                (from, to) = (from / room, to * room);
            } else {
                let room = (to - from).max(1e-9 * to.abs().max(1e-9)) * 0.04;
                // Shares and sizes start at zero when they come near it.
                from = if from >= 0.0 && from <= 0.4 * to { 0.0 } else { from - room };
                to += room;
            }
        }
        Self { log: axis.log, from, to, start, end }
    }

    fn place(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(f64::MIN_POSITIVE) / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        // A point far outside would only bloat the numbers.
        self.start + share.clamp(-4.0, 5.0) * (self.end - self.start)
    }

    /// Round values inside the axis with their words.
    fn ticks(&self) -> Vec<(f64, String)> {
        let inside = |v: &f64| *v >= self.from * (1.0 - 1e-9) - 1e-300 && *v <= self.to * (1.0 + 1e-9);
        if !self.log {
            let raw = (self.to - self.from) / 5.0;
            let power = 10f64.powf(raw.log10().floor());
            let step = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|m| m * power).find(|s| *s >= raw).unwrap_or(power);
            let (first, last) = ((self.from / step).ceil() as i64, (self.to / step + 1e-9).floor() as i64);
            return (first..=last).map(|i| (i as f64 * step, number(i as f64 * step))).collect();
        }
        let (low, high) = (self.from.log10().floor() as i32, self.to.log10().ceil() as i32);
        let decades = (self.to / self.from).log10();
        let multiples: &[f64] = match decades {
            d if d <= 1.0 => &[1.0, 2.0, 3.0, 5.0, 7.0],
            d if d <= 3.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let every = ((decades / 7.0).ceil() as i32).max(1); // at most seven decades get a name
        (low..=high)
            .filter(|power| decades <= 3.0 || power.rem_euclid(every) == 0)
            .flat_map(|power| multiples.iter().map(move |m| m * 10f64.powi(power)))
            .filter(inside)
            .map(|v| (v, number(v)))
            .collect()
    }
}

/// A number as a reader writes it: three digits, powers of ten outside the usual range.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { value.to_string() };
    }
    let power = (value.abs() * (1.0 + 1e-9)).log10().floor() as i32;
    if (-3..5).contains(&power) {
        let decimals = (2 - power).clamp(0, 5) as usize;
        let text = format!("{value:.decimals$}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        return text.replace('-', "\u{2212}");
    }
    let leading = value / 10f64.powi(power);
    let superscript: String = power
        .to_string()
        .chars()
        .map(|c| match c {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            digit => char::from_u32(0x2070 + digit as u32 - '0' as u32).unwrap_or(digit),
        })
        .collect();
    if (leading - 1.0).abs() < 1e-6 { format!("10{superscript}") } else { format!("{leading:.1}·10{superscript}") }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (value, words) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (1.0, "1"),
            (20.0, "20"),
            (0.3333, "0.333"),
            (60_000.0, "60000"),
            (1e6, "10⁶"),
            (1e-6, "10⁻⁶"),
            (2.5e-7, "2.5·10⁻⁷"),
            (-3.0, "\u{2212}3"),
            (0.001, "0.001"),
            (99.96, "100"),
        ] {
            assert_eq!(number(value), words, "{value}");
        }
    }

    #[test]
    fn ticks_stay_inside_and_are_few() {
        for (axis, data) in [
            (Axis::linear(""), [0.0, 0.83]),
            (Axis::linear(""), [0.91, 0.98]),
            (Axis::log(""), [0.1, 20.0]),
            (Axis::log(""), [1e-9, 1e7]),
            (Axis::log(""), [3.0, 5.0]),
            (Axis::linear(""), [5.0, 5.0]),
            (Axis::linear("").from_to(-1.0, 1.0), [0.0, 0.0]),
        ] {
            let scale = Scale::fit(&axis, data.into_iter(), 0.0, 100.0);
            let ticks = scale.ticks();
            assert!((2..=11).contains(&ticks.len()), "{data:?}: {ticks:?}");
            assert!(ticks.iter().all(|(v, _)| (-0.01..=100.01).contains(&scale.place(*v))), "{data:?}: {ticks:?}");
        }
    }

    #[test]
    fn a_figure_is_whole_and_escaped() {
        let series = Series::with_band("a<b", [(0.1, 0.2, 0.05), (1.0, 0.4, 0.0), (10.0, f64::NAN, 0.0)]);
        let panel = Panel { title: "k & p".into(), x: Axis::log("epsilon"), series: vec![series], ..Panel::default() };
        let figure = Figure { id: "fig:x".into(), panels: vec![panel.clone(), panel], ..Figure::default() };
        let (page, file) = (figure.to_html().into_string(), figure.to_svg());
        for text in [&page, &file] {
            assert!(text.contains("k &amp; p") && !text.contains("a<b"));
            assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
            assert!(!text.contains("NaN"));
        }
        assert!(page.contains("aria-label=\"k &amp; p: "));
    }
}
