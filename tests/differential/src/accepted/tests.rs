use super::*;

fn difference(step: &str, place: &str) -> Difference {
    Difference { step: step.to_owned(), title: String::new(), place: place.to_owned(), left: None, right: None }
}

fn entry(step: &str, place: &str) -> Entry {
    Entry {
        step: step.to_owned(),
        place: place.to_owned(),
        real: anything(),
        ours: anything(),
        reason: String::new(),
        varies: false,
    }
}

#[test]
fn a_star_stands_for_any_text() {
    for (pattern, text) in
        [("a", "a"), ("*", ""), ("*", "a/b"), ("a*", "a"), ("*c", "abc"), ("a*c*e", "abcde"), ("a*a", "aa")]
    {
        assert!(matches(pattern, text), "{pattern} {text}");
    }
    for (pattern, text) in
        [("a", "b"), ("a", "ab"), ("", "a"), ("a*", "ba"), ("*c", "ca"), ("a*c*e", "aec"), ("a*a", "a")]
    {
        assert!(!matches(pattern, text), "{pattern} {text}");
    }
}

#[test]
fn what_is_accepted_goes_and_what_no_longer_occurs_is_told() {
    let accepted = Accepted {
        stripped: Vec::new(),
        differences: vec![entry("create/a/*", "body.message"), entry("get/*", "*"), entry("create/*", "*.message")],
    };
    let differences = vec![
        difference("create/a/1", "body.message"),
        difference("create/a/1", "status"),
        difference("create/b/1", "body.message"),
    ];
    let (left, unused) = accepted.judge(differences);
    assert_eq!(left, [difference("create/a/1", "status")]);
    let unused: Vec<&str> = unused.iter().map(|entry| entry.step.as_str()).collect();
    assert_eq!(unused, ["get/*"]);
}

#[test]
fn an_entry_may_name_several_steps() {
    let named = |step: &str| -> Vec<usize> {
        let names = |number: &usize| entry(step, "*").matches(&difference(&format!("list/a, b/{number}"), "status"));
        (1..=12).filter(names).collect()
    };
    assert_eq!(named("list/a, b/2,11"), [2, 11]);
    assert_eq!(named("list/*/1"), [1]);
    assert_eq!(named("list/a/1"), [0; 0]);
    assert_eq!(named("*").len(), 12);
    assert_eq!(named("list/*").len(), 12);
}

#[test]
fn an_entry_may_say_what_differs_how() {
    let difference = Difference { left: Some("".into()), ..difference("list/a/1", "body.metadata.continue") };
    let precise = Entry { real: "\"\"".to_owned(), ours: "(nothing)".to_owned(), ..entry("*", "*.continue") };
    assert!(precise.matches(&difference));
    assert!(!precise.matches(&Difference { left: Some("<continue>".into()), ..difference.clone() }));
    assert!(!precise.matches(&Difference { right: Some("x".into()), ..difference }));
}

#[test]
fn the_file_can_be_read_and_every_entry_has_a_reason() {
    let accepted = Accepted::read(&crate::suite::accepted_file()).unwrap();
    let reasons = accepted.stripped.iter().map(|stripped| &stripped.reason);
    for reason in reasons.chain(accepted.differences.iter().map(|entry| &entry.reason)) {
        assert!(reason.len() > 10, "{reason:?}");
    }
}
