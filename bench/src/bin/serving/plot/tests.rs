use super::*;

fn groups() -> Vec<Group> {
    let group = |title: &str, ratios: [Option<f64>; 2]| Group { title: title.to_owned(), ratios: ratios.to_vec() };
    vec![group("get <one>", [Some(8.0), Some(0.5)]), group("list", [None, Some(30.0)])]
}

#[test]
fn the_scale_holds_all_ratios_and_one() {
    assert_eq!(octaves(&groups()), (-1, 5));
    assert_eq!(octaves(&[]), (0, 1));
    assert_eq!(octaves(&groups()[1..]), (0, 5));
}

#[test]
fn a_bar_goes_from_one_to_its_ratio() {
    let svg = render(&["peer", "other"], &groups());
    let octave = (RIGHT - LEFT) / 6.0;
    // Three octaves right of 1, and one left of it.
    let [right, left] = [3.0 * octave, octave].map(|width| format!("width=\"{width:.1}\" height=\"11.0\""));
    assert!(svg.contains(&format!("<rect x=\"{:.1}\" y=\"62.0\" {right}", LEFT + octave)), "{svg}");
    assert!(svg.contains(&format!("<rect x=\"{LEFT:.1}\" y=\"75.0\" {left}")), "{svg}");
    assert_eq!(svg.matches("<rect").count(), 1 + 2 + 3, "the ground, the legend, a bar for each ratio");
    assert!(svg.contains("get &lt;one>") && svg.ends_with("</svg>\n"), "{svg}");
}

#[test]
fn without_our_server_there_is_no_plot() {
    assert!(draw(&Results::new(["peer"]), &Options::full()).is_none());
}
