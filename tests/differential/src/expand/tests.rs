use super::*;

fn expanded(text: &str) -> Result<String, Error> {
    let mut variables = Variables::new("create-1");
    variables.capture("version", "17".to_owned());
    variables.expand("step", text)
}

#[test]
fn names_are_replaced() {
    let check = |text: &str, expected: &str| assert_eq!(expanded(text).unwrap(), expected, "{text}");
    check("no names: {} $ $x", "no names: {} $ $x");
    check("${ns}/${id}", "create-1/create-1");
    check("${groups}/${id}-a", "/apis/org.bailiwick.dev/v1alpha1/groups/create-1-a");
    check("${claims}", "/apis/samples.example.com/v1alpha1/namespaces/create-1/claims");
    check("v=${version}&w=${version+1000}", "v=17&w=1017");
    check("[${list 3}{\"a\":1}${end}]", "[{\"a\":1},{\"a\":1},{\"a\":1}]");
    check("${list 3}x${i}${end}", "x0,x1,x2");
    check("${repeat 3}[${end}${repeat 2}]${end}", "[[[]]");
    check("${repeat 0}x${end}", "");
}

#[test]
fn whole_objects_are_json() {
    for text in ["${claim a}", "${group a}", "{${claim-type}, ${spec}}", "{${organization-type}}", "{${group-type}}"] {
        let object: serde_json::Value = serde_json::from_str(&expanded(text).unwrap()).unwrap();
        assert!(object["kind"].is_string(), "{text}");
    }
}

#[test]
fn what_has_no_meaning_is_an_error() {
    for text in ["${absent}", "${absent+1}", "${version+x}", "${claims", "${thing a}"] {
        assert!(matches!(expanded(text), Err(Error::UnknownVariable { .. })), "{text}");
    }
    for text in ["${repeat 3}x", "${list x}y${end}"] {
        assert!(matches!(expanded(text), Err(Error::BadRepetition { .. })), "{text}");
    }
}
