use proptest::prelude::*;
use serde_json::Value;

use super::*;

const ALL: &[MediaType] = &[MediaType::Json, MediaType::Yaml, MediaType::Protobuf];

fn recorded() -> Value {
    serde_json::from_str(include_str!("../../../tests/data/go/negotiate.json")).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn describe(negotiated: &Negotiated) -> String {
    let meta = |version| match version {
        MetaVersion::V1 => "v1",
        MetaVersion::V1beta1 => "v1beta1",
    };
    let transform = match negotiated.transform {
        Transform::None => "none".to_owned(),
        Transform::Table(version) => format!("meta.k8s.io/{}/Table", meta(version)),
        Transform::PartialObjectMetadata(version) => format!("meta.k8s.io/{}/PartialObjectMetadata", meta(version)),
        Transform::PartialObjectMetadataList(version) => {
            format!("meta.k8s.io/{}/PartialObjectMetadataList", meta(version))
        }
        Transform::ApiGroupDiscoveryList => "apidiscovery.k8s.io/v2/APIGroupDiscoveryList".to_owned(),
    };
    let stream = if negotiated.stream { "watch" } else { "" };
    format!("{} {transform} {} {stream} {}", negotiated.media_type, negotiated.pretty, negotiated.profile)
}

#[test]
fn accept_as_recorded() {
    let recorded = recorded();
    let cases = recorded["accept"].as_array().unwrap();
    assert!(cases.len() > 1500, "only {} cases", cases.len());
    let mut differences = Vec::new();
    for case in cases {
        let endpoint = match text(&case[0]) {
            "plain" => Endpoint::Plain,
            "resource" => Endpoint::Resource { tables: true, plain: &[] },
            "discovery" => Endpoint::Discovery,
            other => panic!("{other}"),
        };
        let header = text(&case[1]);
        let ours = negotiate(header, ALL, endpoint).map_or_else(|_| "406".to_owned(), |found| describe(&found));
        let stream = negotiate_stream(header, ALL, endpoint);
        let stream = stream.map_or_else(|_| "406".to_owned(), |found| found.media_type.to_string());
        if (ours.as_str(), stream.as_str()) != (text(&case[2]), text(&case[3])) {
            differences.push(format!("{case}\n  ours {ours} {stream}"));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn content_types_as_recorded() {
    for case in recorded()["contentType"].as_array().unwrap() {
        let ours = content_type(text(&case[0]), ALL).map_or("415", MediaType::as_str);
        assert_eq!(ours, text(&case[1]), "{case}");
    }
}

#[test]
fn errors_as_recorded() {
    let mut ours = vec![
        negotiate("text/html", ALL, Endpoint::Plain).unwrap_err().to_string(),
        negotiate_stream("text/html", ALL, Endpoint::Plain).unwrap_err().to_string(),
        content_type("text/html", ALL).unwrap_err().to_string(),
    ];
    ours.sort();
    assert_eq!(Value::from(ours), recorded()["errors"]);
}

#[test]
fn objects_of_some_encodings_only() {
    let endpoint = Endpoint::Resource { tables: true, plain: &[MediaType::Json, MediaType::Yaml] };
    let protobuf = "application/vnd.kubernetes.protobuf";
    assert!(negotiate(protobuf, ALL, endpoint).is_err());
    let partial = format!("{protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    let transform = Transform::PartialObjectMetadata(MetaVersion::V1);
    assert_eq!(negotiate(&partial, ALL, endpoint).unwrap().transform, transform);
    assert!(negotiate(&format!("{protobuf};as=Table;g=meta.k8s.io;v=v1"), ALL, endpoint).is_err());
    assert_eq!(negotiate("*/*", &[], Endpoint::Plain).unwrap_err().accepted, Vec::<String>::new());
    assert!(negotiate("", &[], Endpoint::Plain).is_err());
}

#[test]
fn patch_types() {
    let accepted = ["application/json-patch+json", "application/merge-patch+json"];
    assert_eq!(patch_type("application/merge-patch+json; charset=utf-8", &accepted).unwrap(), accepted[1]);
    let error = patch_type("application/strategic-merge-patch+json", &accepted).unwrap_err().to_string();
    assert_eq!(
        error,
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json"
    );
    for header in ["", ";", ";application/merge-patch+json", "Application/merge-patch+json"] {
        assert!(patch_type(header, &accepted).is_err(), "{header}");
    }
}

#[test]
fn pretty_for_people() {
    for (parameter, user_agent, pretty) in [
        ("", "", false),
        ("", "kubectl/v1.36", false),
        ("", "curl/8", true),
        ("", "Mozilla/5.0 (X)", true),
        ("false", "curl/8", false),
        ("x", "curl/8", false),
        ("true", "", true),
        ("1", "", true),
    ] {
        assert_eq!(is_pretty(parameter, user_agent), pretty, "{parameter} {user_agent}");
    }
}

#[test]
fn many_clauses_are_quick() {
    let header = "*/*;q=0.1,".repeat(200_000);
    assert!(negotiate(&header, ALL, Endpoint::Plain).is_ok());
    let header = format!("application/json{}", ";a=b".repeat(300_000));
    let _ = negotiate(&header, ALL, Endpoint::Plain);
    let _ = content_type(&header, ALL);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn never_panics(header in "[ -~é\\t]{0,40}", parameters in "(application/(json|yaml|\\*)|\\*/\\*|[;,=\"\\\\ ]|q=0?\\.?5|as=Table){0,8}") {
        for header in [header, parameters] {
            let _ = content_type(&header, ALL);
            for endpoint in [Endpoint::Plain, Endpoint::Discovery, Endpoint::Resource { tables: false, plain: &[] }] {
                let _ = negotiate(&header, ALL, endpoint);
                let _ = negotiate_stream(&header, ALL, endpoint);
            }
        }
    }
}
