//! What Kubernetes says about the same names was recorded by `tests/oracle/names`.

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Record {
    rules: Vec<String>,
    texts: Vec<String>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    i: String,
    o: Vec<Vec<usize>>,
}

fn ask(rule: &str, name: &str) -> Messages {
    match rule {
        "dns1123Label" => dns1123_label(name),
        "dns1123Subdomain" => dns1123_subdomain(name),
        "dns1035Label" => dns1035_label(name),
        "pathSegment" => path_segment(name),
        "pathSegmentPrefix" => path_segment_prefix(name),
        "qualifiedName" => qualified_name(name),
        "labelValue" => label_value(name),
        "annotationKey" => annotation_key(name),
        "rule/DnsSubdomain" => NameRule::DnsSubdomain.check(name, NameForm::Whole),
        "rule/DnsSubdomain/prefix" => NameRule::DnsSubdomain.check(name, NameForm::Prefix),
        "rule/DnsLabel/prefix" => NameRule::DnsLabel.check(name, NameForm::Prefix),
        "rule/Dns1035Label/prefix" => NameRule::Dns1035Label.check(name, NameForm::Prefix),
        "rule/PathSegment" => NameRule::PathSegment.check(name, NameForm::Whole),
        "rule/PathSegment/prefix" => NameRule::PathSegment.check(name, NameForm::Prefix),
        other => panic!("no rule {other}"),
    }
}

#[test]
fn names_are_judged_as_kubernetes_judges_them() {
    let record: Record = serde_json::from_str(include_str!("../../../tests/data/go/names.json")).unwrap();
    assert!(record.cases.len() > 2_000, "{}", record.cases.len());
    for case in &record.cases {
        for (rule, expected) in record.rules.iter().zip(&case.o) {
            let expected: Vec<&str> = expected.iter().map(|&text| record.texts[text].as_str()).collect();
            assert_eq!(ask(rule, &case.i), expected, "{rule} of {:?}", case.i);
        }
    }
}

#[test]
fn names_are_generated() {
    let mut next = 0;
    let name = generated_name("my-", |choices| {
        assert_eq!(choices, 27);
        next += 7;
        next
    });
    assert_eq!(name, "my-ks4cl");
    let short = generated_name(&"a".repeat(58), |_| 0);
    assert_eq!(short, "a".repeat(58) + "bbbbb");
    assert_eq!(generated_name(&"a".repeat(59), |_| usize::MAX).len(), 63);
    // Never half a character.
    assert_eq!(generated_name(&("a".repeat(57) + "é"), |_| 0), "a".repeat(57) + "bbbbb");
}

#[test]
fn a_kind_may_have_its_own_rule() {
    fn rule(name: &str, form: NameForm) -> Messages {
        match (name.contains(':'), form) {
            (true, _) => Messages::new(),
            (false, form) => vec![format!("must contain ':' ({form:?})").into()],
        }
    }
    let rule = NameRule::Custom(rule);
    assert_eq!(rule.check("org:group", NameForm::Whole), Messages::new());
    assert_eq!(rule.check("group-", NameForm::Prefix), ["must contain ':' (Prefix)"]);
}

proptest! {
    #[test]
    fn no_name_is_a_surprise(name in any::<String>()) {
        for rule in [NameRule::DnsSubdomain, NameRule::DnsLabel, NameRule::Dns1035Label, NameRule::PathSegment] {
            rule.check(&name, NameForm::Whole);
            rule.check(&name, NameForm::Prefix);
        }
        annotation_key(&name);
        prop_assert!(generated_name(&name, |_| 3).len() <= 63);
    }

    #[test]
    fn what_starts_well_generates_well(base in "[a-z][a-z0-9-]{0,70}", choice in any::<usize>()) {
        // Kubernetes' own gap: what is cut off may leave an end that is not one, but a suffix follows.
        let name = generated_name(&base, |_| choice);
        prop_assert_eq!(NameRule::DnsLabel.check(&name, NameForm::Whole), Messages::new());
    }
}

#[test]
fn no_name_leaves_its_place_in_a_path() {
    for (name, expected) in [
        ("a.b-c_d~e:F9", Some("a.b-c_d~e:F9")),
        ("a?watch=true", Some("a%3Fwatch%3Dtrue")),
        ("a#b", Some("a%23b")),
        ("a b\n", Some("a%20b%0A")),
        ("\u{e4}", Some("%C3%A4")),
        ("..a", Some("..a")),
        ("", None),
        (".", None),
        ("..", None),
        ("a/b", None),
        ("%2e%2e", None),
    ] {
        assert_eq!(in_path(name).as_deref(), expected, "{name:?}");
    }
}
