//! The report as a picture: for each way, bars of what a use of the memory costs, with the pure touch at their left end.
//!
//! SVG and PNG are drawn by the same code. The font is built in, as a machine without a desktop has none.

use crate::report::{Costs, Report, UseCosts, Uses, WayCosts};
use crate::units::milliseconds;
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, RGBColor, TextStyle, register_font};
use std::io;
use std::path::Path;

/// Kinds of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartFormat {
    /// Scalable Vector Graphics.
    Svg,
    /// Portable Network Graphics.
    Png,
}

impl ChartFormat {
    /// The kind that a file's name asks for; `None` if its extension is neither `svg` nor `png`.
    pub fn of(path: &Path) -> Option<ChartFormat> {
        match path.extension()?.to_ascii_lowercase().to_str()? {
            "svg" => Some(ChartFormat::Svg),
            "png" => Some(ChartFormat::Png),
            _ => None,
        }
    }
}

/// Draws the report; returns the file's content.
pub fn chart(report: &Report, format: ChartFormat) -> io::Result<Vec<u8>> {
    // Registered once more is no harm; the font is known to be good.
    let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    let layout = Layout::of(report);
    match format {
        ChartFormat::Svg => {
            let mut text = String::new();
            let area = SVGBackend::with_string(&mut text, (layout.width(), layout.height())).into_drawing_area();
            layout.draw(&Canvas { area: &area, scale: 1.0 }, report).map_err(io::Error::other)?;
            drop(area);
            Ok(text.into_bytes())
        }
        ChartFormat::Png => {
            // Two pixels for each unit, for screens of high resolution.
            let (width, height) = (2 * layout.width(), 2 * layout.height());
            let mut pixels = vec![0; 3 * (width * height) as usize];
            let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
            layout.draw(&Canvas { area: &area, scale: 2.0 }, report).map_err(io::Error::other)?;
            drop(area);
            encode(&pixels, width, height).map_err(io::Error::other)
        }
    }
}

fn encode(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(pixels)?;
    Ok(file)
}

const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(30, 34, 40);
const FAINT_INK: RGBColor = RGBColor(105, 112, 122);
const GRID: RGBColor = RGBColor(228, 231, 235);
const TOUCH: RGBColor = RGBColor(184, 190, 198);
const FIRST: RGBColor = RGBColor(150, 195, 233);
const AGAIN: RGBColor = RGBColor(27, 98, 168);
const SEVERAL: RGBColor = RGBColor(232, 140, 48);

const MARGIN: f64 = 24.0;
const NAMES: f64 = 206.0;
const PANEL: f64 = 410.0;
/// Between panels, and for the figures behind the longest bar.
const GAP: f64 = 62.0;
const TOP: f64 = 128.0;
const BAR: f64 = 9.0;
const ROW_GAP: f64 = 11.0;
const BARS: f64 = 3.0;
const ROW: f64 = BARS * BAR + ROW_GAP;
const BOTTOM: f64 = 38.0;

/// Draws in units that do not depend on the resolution.
struct Canvas<'a, B: DrawingBackend> {
    area: &'a DrawingArea<B, Shift>,
    scale: f64,
}

type Drawn<B> = Result<(), plotters::drawing::DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

impl<B: DrawingBackend> Canvas<'_, B> {
    fn point(&self, x: f64, y: f64) -> (i32, i32) {
        ((x * self.scale).round() as i32, (y * self.scale).round() as i32)
    }

    fn rectangle(&self, x: f64, y: f64, width: f64, height: f64, color: RGBColor) -> Drawn<B> {
        let corners = [self.point(x, y), self.point(x + width, y + height)];
        if corners[0].0 == corners[1].0 {
            return Ok(());
        }
        // The far edges belong to a rectangle.
        let far = (corners[1].0 - 1, corners[1].1 - 1);
        self.area.draw(&Rectangle::new([corners[0], far], color.filled()))
    }

    fn vertical(&self, x: f64, from: f64, to: f64, color: RGBColor) -> Drawn<B> {
        self.area.draw(&PathElement::new([self.point(x, from), self.point(x, to)], color))
    }

    /// Text whose middle is at height `y`.
    fn text(&self, text: &str, x: f64, y: f64, side: HPos, size: f64, color: RGBColor) -> Drawn<B> {
        let style = TextStyle::from((FONT, size * self.scale).into_font()).color(&color);
        let style = style.pos(Pos::new(side, VPos::Center));
        self.area.draw(&Text::new(text.to_owned(), self.point(x, y), style))
    }
}

/// One of the two parts: every byte, or the first of each 64 KiB.
struct Panel {
    title: String,
    left: f64,
    pure_touch: f64,
    pure_touch_several: f64,
    axis: Axis,
    uses: fn(&Costs) -> &Uses,
}

struct Layout {
    rows: usize,
    panels: [Panel; 2],
}

impl Layout {
    fn of(report: &Report) -> Layout {
        let panel = |index: usize, title: &str, uses: fn(&Costs) -> &Uses, pure: [f64; 2]| {
            let costs = report.ways.iter().flat_map(|way| [Some(&way.one_thread), way.several_threads.as_ref()]);
            let used = costs.flatten().flat_map(|costs| [&uses(costs).first, &uses(costs).again]);
            let highest = used.map(|one| one.cpu_ns.median / 1e6).fold(0.0, f64::max);
            Panel {
                title: title.to_owned(),
                left: MARGIN + NAMES + index as f64 * (PANEL + GAP),
                pure_touch: pure[0] / 1e6,
                pure_touch_several: pure[1] / 1e6,
                axis: Axis::up_to(highest),
                uses,
            }
        };
        let touch = &report.touch;
        Layout {
            rows: report.ways.len(),
            panels: [
                panel(
                    0,
                    "Every byte is written, ms",
                    |costs| &costs.whole,
                    [touch.whole.median, touch.whole_several.median],
                ),
                panel(
                    1,
                    "The first byte of each 64 KiB is written, ms",
                    |costs| &costs.sparse,
                    [touch.sparse.median, touch.sparse_several.median],
                ),
            ],
        }
    }

    fn width(&self) -> u32 {
        (MARGIN + NAMES + 2.0 * (PANEL + GAP)) as u32
    }

    fn bottom(&self) -> f64 {
        TOP + self.rows as f64 * ROW
    }

    fn height(&self) -> u32 {
        (self.bottom() + BOTTOM) as u32
    }

    fn draw<B: DrawingBackend>(&self, canvas: &Canvas<B>, report: &Report) -> Drawn<B> {
        canvas.area.fill(&RGBColor(255, 255, 255))?;
        self.head(canvas, report)?;
        for (row, way) in report.ways.iter().enumerate() {
            let middle = TOP + row as f64 * ROW + BARS * BAR / 2.0;
            canvas.text(&way.name, MARGIN + NAMES - 10.0, middle, HPos::Right, 13.5, INK)?;
        }
        for panel in &self.panels {
            self.panel(canvas, panel, report)?;
        }
        canvas.area.present()
    }

    fn head<B: DrawingBackend>(&self, canvas: &Canvas<B>, report: &Report) -> Drawn<B> {
        let machine = &report.machine;
        let title = format!("What taking and giving back {} costs", memtoll_text::format::bytes(report.size_bytes));
        canvas.text(&title, MARGIN, 28.0, HPos::Left, 23.0, INK)?;
        let about = format!(
            "CPU time, median of {} · {}, {} processors, {}, transparent huge pages: {} · memtoll machine",
            memtoll_text::format::counted(report.rounds as u64, "round"),
            machine.processor,
            machine.processors,
            machine.kernel,
            machine.transparent_huge_pages,
        );
        canvas.text(&about, MARGIN, 52.0, HPos::Left, 12.5, FAINT_INK)?;
        let several = format!("used again, {} threads at once", report.threads);
        let legend = [
            (TOUCH, "writing itself (memory that is there)", 220.0),
            (FIRST, "first use", 85.0),
            (AGAIN, "used again, with its figure above the writing", 270.0),
            (SEVERAL, &several, 0.0),
        ];
        let mut x = MARGIN;
        for (color, text, width) in legend {
            canvas.rectangle(x, 71.0, 12.0, 12.0, color)?;
            canvas.text(text, x + 18.0, 77.0, HPos::Left, 12.5, INK)?;
            x += width + 18.0;
        }
        Ok(())
    }

    fn panel<B: DrawingBackend>(&self, canvas: &Canvas<B>, panel: &Panel, report: &Report) -> Drawn<B> {
        canvas.text(&panel.title, panel.left, TOP - 20.0, HPos::Left, 14.5, INK)?;
        for tick in panel.axis.ticks() {
            let x = panel.left + panel.axis.position(tick);
            canvas.vertical(x, TOP - 6.0, self.bottom(), GRID)?;
            canvas.text(&panel.axis.label(tick), x, self.bottom() + 12.0, HPos::Center, 12.0, FAINT_INK)?;
        }
        for (row, way) in report.ways.iter().enumerate() {
            self.bars(canvas, panel, way, TOP + row as f64 * ROW)?;
        }
        Ok(())
    }

    fn bars<B: DrawingBackend>(&self, canvas: &Canvas<B>, panel: &Panel, way: &WayCosts, top: f64) -> Drawn<B> {
        let bar = |index: f64, costs: &UseCosts, touch: f64, color: RGBColor| {
            let whole = panel.axis.position(costs.cpu_ns.median / 1e6);
            let touch = panel.axis.position(touch).min(whole);
            let y = top + index * BAR;
            canvas.rectangle(panel.left, y, touch, BAR - 1.0, TOUCH)?;
            canvas.rectangle(panel.left + touch, y, whole - touch, BAR - 1.0, color)?;
            Ok(whole)
        };
        let uses = (panel.uses)(&way.one_thread);
        // The figure stands behind the longest bar.
        let mut end = bar(0.0, &uses.first, panel.pure_touch, FIRST)?;
        end = end.max(bar(1.0, &uses.again, panel.pure_touch, AGAIN)?);
        if let Some(several) = &way.several_threads {
            end = end.max(bar(2.0, &(panel.uses)(several).again, panel.pure_touch_several, SEVERAL)?);
        }
        let figure = milliseconds(uses.again.above_touch_ns);
        canvas.text(&figure, panel.left + end + 5.0, top + 1.5 * BAR, HPos::Left, 11.5, AGAIN)
    }
}

/// From zero to the highest value, with ticks at round numbers.
struct Axis {
    end: f64,
    step: f64,
}

impl Axis {
    fn up_to(highest: f64) -> Axis {
        let end = if highest > 0.0 { highest } else { 1.0 };
        let rough = end / 6.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
        Axis { end, step: step.unwrap_or(10.0 * power) }
    }

    fn ticks(&self) -> Vec<f64> {
        (0..).map(|index| f64::from(index) * self.step).take_while(|tick| *tick <= self.end * 1.001).collect()
    }

    fn position(&self, value: f64) -> f64 {
        value.max(0.0) / self.end * PANEL
    }

    fn label(&self, tick: f64) -> String {
        let digits = if self.step >= 1.0 { 0 } else { (-self.step.log10()).ceil() as usize };
        format!("{tick:.digits$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::tests::report;

    #[test]
    fn formats_by_extension() {
        let of = |name: &str| ChartFormat::of(Path::new(name));
        assert_eq!(of("a.svg"), Some(ChartFormat::Svg));
        assert_eq!(of("dir.x/a.PNG"), Some(ChartFormat::Png));
        assert_eq!(of("a.pdf"), None);
        assert_eq!(of("svg"), None);
    }

    #[test]
    fn axes_have_round_ticks() {
        assert_eq!(Axis::up_to(290.0).ticks(), [0.0, 50.0, 100.0, 150.0, 200.0, 250.0]);
        assert_eq!(Axis::up_to(100.0).ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        let fine = Axis::up_to(0.4);
        assert_eq!(
            fine.ticks().iter().map(|tick| fine.label(*tick)).collect::<Vec<_>>(),
            ["0.0", "0.1", "0.2", "0.3", "0.4"]
        );
        assert_eq!(Axis::up_to(0.0).ticks().len(), 6);
    }

    #[test]
    fn every_way_is_in_the_svg() {
        let report = report();
        let text = String::from_utf8(chart(&report, ChartFormat::Svg).unwrap()).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        for way in &report.ways {
            assert!(text.contains(&way.name), "{}", way.name);
            assert!(text.contains(&milliseconds(way.one_thread.whole.again.above_touch_ns)), "{}", way.name);
        }
        // Two panels; three bars a way, two where threads cannot do so.
        let count = |color: RGBColor| {
            let code = format!("fill=\"#{:02X}{:02X}{:02X}\"", color.0, color.1, color.2);
            text.lines().filter(|line| line.contains("<rect") && line.contains(&code)).count()
        };
        let ways = report.ways.len();
        assert_eq!(count(FIRST), 1 + 2 * ways);
        assert_eq!(count(SEVERAL), 1 + 2 * (ways - 1) - 2, "brk has none; keep's are all touch");
    }

    #[test]
    fn the_png_shows_something_everywhere() {
        let bytes = chart(&report(), ChartFormat::Png).unwrap();
        let mut reader = png::Decoder::new(io::Cursor::new(&bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        let layout = Layout::of(&report());
        assert_eq!((info.width, info.height), (2 * layout.width(), 2 * layout.height()));
        let has = |color: RGBColor| pixels.chunks(3).any(|pixel| pixel == [color.0, color.1, color.2]);
        for color in [TOUCH, FIRST, AGAIN, SEVERAL, GRID, INK] {
            assert!(has(color), "{color:?}");
        }
    }
}
