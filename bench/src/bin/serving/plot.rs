//! A plot of the server CPU of each contender over ours, as plain SVG. The scale is logarithmic: each line is twice the last.

use std::fmt::Write;

use crate::options::Options;
use crate::ours;
use crate::report::significant;
use crate::results::Results;

const WIDTH: f64 = 860.0;
/// Where bars start at the left and end at the right: names and numbers need the rest.
const LEFT: f64 = 230.0;
const RIGHT: f64 = 800.0;
const TOP: f64 = 62.0;
const BAR: f64 = 13.0;
const GROUP_GAP: f64 = 12.0;
/// Readable beside each other, also without colours.
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#999999", "#009e73"];

/// A bar for each contender.
struct Group {
    title: String,
    /// None if it was not measured.
    ratios: Vec<Option<f64>>,
}

/// Draws the plot. None if our server took no part, for then there is nothing to compare with.
pub(crate) fn draw(results: &Results, options: &Options) -> Option<String> {
    let reference = results.target(ours::ON_ETCD)?;
    let others: Vec<_> = results.targets().iter().filter(|target| target.name != reference.name).collect();
    let groups = options.operations().into_iter().map(|operation| Group {
        title: operation.title(options),
        ratios: others.iter().map(|other| other.cpu_ratio(reference, operation)).collect(),
    });
    let names: Vec<&str> = others.iter().map(|other| other.name).collect();
    Some(render(&names, &groups.collect::<Vec<_>>()))
}

fn render(names: &[&str], groups: &[Group]) -> String {
    let (low, high) = octaves(groups);
    let x = |ratio: f64| LEFT + (ratio.log2() - f64::from(low)) / f64::from(high - low) * (RIGHT - LEFT);
    let group_height = names.len() as f64 * BAR + GROUP_GAP;
    let bottom = TOP + groups.len() as f64 * group_height;
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <title>Server CPU for each operation, times that of {}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
        bottom + 30.0,
        ours::ON_ETCD,
    );
    text(&mut svg, 12.0, 20.0, "start", &format!("Server CPU for each operation, times that of {}", ours::ON_ETCD));
    for (nth, name) in names.iter().enumerate() {
        let at = 12.0 + nth as f64 * 190.0;
        bar(&mut svg, nth, at, at + 10.0, 32.0);
        text(&mut svg, at + 15.0, 41.0, "start", name);
    }
    for octave in low..=high {
        let (at, shade) = (x(2_f64.powi(octave)), if octave == 0 { "#333333" } else { "#dddddd" });
        let _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" y1=\"{:.1}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\" stroke=\"{shade}\"/>",
            TOP - 8.0
        );
        text(&mut svg, at, bottom + 16.0, "middle", &format!("{}x", 2_f64.powi(octave)));
    }
    for (nth, group) in groups.iter().enumerate() {
        let top = TOP + nth as f64 * group_height;
        text(&mut svg, LEFT - 10.0, top + (group_height - GROUP_GAP) / 2.0 + 4.0, "end", &group.title);
        for (contender, ratio) in group.ratios.iter().enumerate() {
            let y = top + contender as f64 * BAR;
            let Some(ratio) = ratio else { continue };
            let (from, to) = (x(ratio.min(1.0)), x(ratio.max(1.0)));
            bar(&mut svg, contender, from, to, y);
            text(&mut svg, to + 4.0, y + BAR - 3.5, "start", &format!("{}x", significant(*ratio, 2)));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// The powers of two between which all ratios lie, and 1 with them.
fn octaves(groups: &[Group]) -> (i32, i32) {
    let known = || groups.iter().flat_map(|group| group.ratios.iter().flatten()).filter(|ratio| **ratio > 0.0);
    let low = known().fold(0.0_f64, |low, ratio| low.min(ratio.log2().floor()));
    let high = known().fold(1.0_f64, |high, ratio| high.max(ratio.log2().ceil()));
    (low as i32, high as i32)
}

fn bar(svg: &mut String, contender: usize, from: f64, to: f64, y: f64) {
    let (colour, width, height) = (COLOURS[contender % COLOURS.len()], to - from, BAR - 2.0);
    let _ = writeln!(
        svg,
        "<rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
    );
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, content: &str) {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#222222\">{content}</text>");
}

#[cfg(test)]
mod tests;
