use super::*;

fn parse(text: &str) -> Result<Document, Error> {
    Document::parse("performance.md".into(), text)
}

fn with_section(section: &str) -> Document {
    parse(&format!("before\n{BEGIN}\n{section}\n{END}\nafter\n")).unwrap()
}

#[test]
fn only_the_section_changes() {
    let document = with_section("old");
    let text = document.with("new\n");
    assert_eq!(text, format!("before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"));
    assert_eq!(parse(&text).unwrap().with("new"), text, "writing twice changes nothing");
}

#[test]
fn reasons_stay() {
    let section = "- **get; ours**: 2 ms, the goal is 1 ms. Why: TLS takes\n  most of it.\n- **list; ours**: 9 ms. Why: not examined yet\n\
                   - **patch; ours**: 3 ms. Why: it reads first.\n\n### One run\n\n- **note**: without one\n";
    let reasons = with_section(section).reasons();
    let expected = [("get; ours", "TLS takes most of it."), ("patch; ours", "it reads first.")];
    assert_eq!(reasons, expected.map(|(what, why)| (what.to_owned(), why.to_owned())).into());
    assert!(with_section("").reasons().is_empty());
}

#[test]
fn a_document_without_markers_is_refused() {
    for (text, marker) in [("text", BEGIN), (BEGIN, END)] {
        let error = parse(text).err().unwrap().to_string();
        assert!(error.contains(marker) && error.contains("performance.md"), "{error}");
    }
}

#[test]
fn the_document_of_this_workspace_has_its_markers() {
    Document::read().unwrap();
}
