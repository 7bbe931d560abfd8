use serde_json::{Value, json};

use super::*;

fn spec(resources: Value) -> BundleSpec {
    serde_json::from_value(json!({ "resources": resources })).unwrap()
}

fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// Where something is wrong, in which way and why.
fn problems(resources: Value) -> Vec<(String, ProblemKind, String)> {
    let problems = Plan::of(&spec(resources), "here").expect_err("something is wrong");
    problems.into_iter().map(|problem| (problem.field, problem.kind, problem.why)).collect()
}

#[track_caller]
fn only(resources: Value, field: &str, kind: ProblemKind, why: &str) {
    let found = problems(resources);
    assert!(
        matches!(found.as_slice(), [(at, how, told)] if at == field && *how == kind && told.contains(why)),
        "{found:?}"
    );
}

/// SMITH-2, SMITH-15: no resources are a plan, and a plan has an order.
#[test]
fn plans() {
    assert_eq!(Plan::of(&spec(json!([])), "here"), Ok(Plan::default()));
    let plan = Plan::of(
        &spec(json!([
            {"name": "b", "dependsOn": ["a"], "spec": config_map("b", json!({"x": "$(a.data.x)"}))},
            {"name": "a", "spec": config_map("a", json!({"x": "1"}))},
            {"name": "c", "dependsOn": ["b"], "spec": {"object": config_map("$(b.metadata.name)-c", json!({}))}},
        ])),
        "here",
    )
    .unwrap();
    assert_eq!(plan.graph().order(), [1, 0, 2]);
    assert_eq!(plan.dependencies(2).collect::<Vec<_>>(), ["b"]);
    let names: Vec<Option<&str>> = plan.resources().iter().map(PlannedResource::object_name).collect();
    assert_eq!(names, [Some("b"), Some("a"), None], "a name may come from a dependency");
}

/// SMITH-3, SMITH-4, SMITH-7, B-08: names, unknown dependencies, cycles, what is only indirectly depended on, and bounds.
#[test]
fn names_and_dependencies() {
    let a = || json!({"name": "a", "spec": config_map("a", json!({}))});
    only(
        json!([a(), {"name": "a", "spec": config_map("b", json!({}))}]),
        "spec.resources[1].name",
        ProblemKind::Duplicate,
        "",
    );
    for name in ["a.b", "a:b", "-a", "ä", &"a".repeat(64)] {
        only(
            json!([{"name": name, "spec": config_map("a", json!({}))}]),
            "spec.resources[0].name",
            ProblemKind::Invalid,
            "letters",
        );
    }
    only(
        json!([{"name": "", "spec": config_map("a", json!({}))}]),
        "spec.resources[0].name",
        ProblemKind::Required,
        "",
    );
    only(
        json!([a(), {"name": "b", "dependsOn": ["a", "nobody"], "spec": config_map("b", json!({}))}]),
        "spec.resources[1].dependsOn[1]",
        ProblemKind::NotFound,
        "",
    );
    let wait = |name: &str, on: &str| json!({"name": name, "dependsOn": [on], "spec": config_map(name, json!({}))});
    let circle = json!([a(), wait("x", "y"), wait("y", "z"), wait("z", "x")]);
    only(circle.clone(), "spec.resources[1].dependsOn", ProblemKind::Invalid, "must not wait for each other");
    let found = Plan::of(&spec(circle), "here").expect_err("they wait for each other");
    assert_eq!(found[0].found, "x -> y -> z -> x");
    let indirect = json!([a(), wait("b", "a"), {"name": "c", "dependsOn": ["b"], "spec": config_map("c", json!({"x": "$(a.data.x)"}))}]);
    only(indirect.clone(), "spec.resources[2].spec.data.x", ProblemKind::Invalid, "only direct dependencies");
    let inferring = BundleSpec { infer_dependencies: true, ..spec(indirect) };
    assert_eq!(Plan::of(&inferring, "here").unwrap().dependencies(2).collect::<Vec<_>>(), ["a", "b"], "D-SMITH-11");
    only(
        json!([{"name": "b", "spec": config_map("b", json!({"x": "costs $(money.x)"}))}]),
        "spec.resources[0].spec.data.x",
        ProblemKind::Invalid,
        "$$(",
    );
    let many = |count: usize| {
        (0..count)
            .map(|number| json!({"name": format!("r{number}"), "spec": config_map(&format!("r{number}"), json!({}))}))
            .collect::<Vec<_>>()
    };
    assert!(Plan::of(&spec(json!(many(MAX_RESOURCES))), "here").is_ok());
    only(json!(many(MAX_RESOURCES + 1)), "spec.resources", ProblemKind::TooMany, "200");
    let data: Value = (0..MAX_REFERENCES + 1)
        .map(|number| (format!("k{number}"), json!("$(a.data.x)")))
        .collect::<Map<_, _>>()
        .into();
    only(
        json!([a(), {"name": "b", "dependsOn": ["a"], "spec": config_map("b", data)}]),
        "spec.resources",
        ProblemKind::TooMany,
        "1000",
    );
}

/// Bad input: what an object is called is known, but for its name, and it is in the Bundle's namespace.
#[test]
fn what_objects_are_called() {
    let b = |object: Value| json!([{"name": "a", "spec": config_map("a", json!({}))}, {"name": "b", "dependsOn": ["a"], "spec": object}]);
    let with = |field: &str, value: Value| {
        let mut object = config_map("b", json!({}));
        *object.pointer_mut(field).unwrap() = value;
        object
    };
    only(
        b(with("/apiVersion", json!("$(a.apiVersion)"))),
        "spec.resources[1].spec.apiVersion",
        ProblemKind::Forbidden,
        "cannot stand",
    );
    only(b(with("/kind", json!("$(a.kind)"))), "spec.resources[1].spec.kind", ProblemKind::Forbidden, "cannot stand");
    only(b(with("/kind", json!(null))), "spec.resources[1].spec.kind", ProblemKind::Required, "");
    only(
        b(with("/metadata", json!("$((a.metadata))"))),
        "spec.resources[1].spec.metadata",
        ProblemKind::Required,
        "name",
    );
    only(b(with("/metadata", json!({}))), "spec.resources[1].spec.metadata.name", ProblemKind::Required, "");
    let metadata = |field: &str, value: Value| {
        let mut metadata = json!({"name": "b"});
        metadata[field] = value;
        b(with("/metadata", metadata))
    };
    only(
        metadata("namespace", json!("other")),
        "spec.resources[1].spec.metadata.namespace",
        ProblemKind::Invalid,
        "\"here\"",
    );
    for own in [json!("here"), json!(""), json!(null)] {
        assert!(Plan::of(&spec(metadata("namespace", own)), "here").is_ok());
    }
    let placed = problems(metadata("namespace", json!("$(a.metadata.namespace)")));
    assert!(placed.iter().any(|(_, kind, _)| *kind == ProblemKind::Forbidden), "{placed:?}");
    only(
        metadata("generateName", json!("b-")),
        "spec.resources[1].spec.metadata.generateName",
        ProblemKind::Forbidden,
        "",
    );
    only(
        metadata("ownerReferences", json!([])),
        "spec.resources[1].spec.metadata.ownerReferences",
        ProblemKind::Forbidden,
        "owner",
    );
    only(
        metadata("labels", json!({"a": "b", "applyset.kubernetes.io/part-of": "c"})),
        "spec.resources[1].spec.metadata.labels['applyset.kubernetes.io/part-of']",
        ProblemKind::Forbidden,
        "written by the server",
    );
    only(
        b(config_map("a", json!({}))),
        "spec.resources[1].spec.metadata.name",
        ProblemKind::Invalid,
        "the same object",
    );
    only(b(json!("$((a))")), "spec.resources[1].spec", ProblemKind::Invalid, "path is empty");
}

/// B-01: what an object states of itself leads to no other place than its own.
#[test]
fn names_that_lead_elsewhere() {
    let of = |api_version: &str, kind: &str, name: &str| json!([{"name": "a", "spec": {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}}]);
    for wrong in [
        "bundle.bailiwick.dev/v1alpha1/bundles",
        "bundle.bailiwick.dev/v1alpha1?watch=true",
        "bundle.bailiwick.dev/v1alpha1/bundles?watch=true",
        "../api/v1",
        "v1#",
    ] {
        only(of(wrong, "ConfigMap", "a"), "spec.resources[0].spec.apiVersion", ProblemKind::Invalid, "apps/v1");
    }
    only(of("v1", "Config/Map", "a"), "spec.resources[0].spec.kind", ProblemKind::Invalid, "letters");
    for wrong in ["?limit=1", "a/b", "..", ".", "a#b", "a%2fb", &"a".repeat(254)] {
        only(of("v1", "ConfigMap", wrong), "spec.resources[0].spec.metadata.name", ProblemKind::Invalid, "one part");
    }
    for fine in ["a", "system:a", "a.b"] {
        assert!(Plan::of(&spec(of("v1", "ConfigMap", fine)), "here").is_ok());
    }
}

/// B-08: however much is wrong, it is told in bounds and soon.
#[test]
fn much_that_is_wrong() {
    let texts = |text: &str, count: usize| json!((0..count).map(|_| text).collect::<Vec<_>>());
    let mut deep = texts("$(b.data.x)", 200_000);
    for _ in 0..100 {
        deep = json!({"x": deep});
    }
    let references = json!([
        {"name": "b", "spec": config_map("b", json!({"x": "1"}))},
        {"name": "a", "dependsOn": ["b"], "spec": config_map("a", deep)},
    ]);
    only(references, "spec.resources", ProblemKind::TooMany, "1000");
    let many = |text: &str| {
        let resources = (0..20).map(
            |number| json!({"name": format!("r{number}"), "spec": config_map(&format!("r{number}"), texts(text, 900))}),
        );
        Plan::of(&spec(resources.collect()), "here").expect_err("something is wrong").len()
    };
    assert_eq!(many("$(oops"), MAX_PROBLEMS);
    assert_eq!(many("$(nobody.x)"), 1, "there are too many references");
}

/// B-SMITH-3, B-02: a value of a Secret becomes data of a Secret, or somebody said that it need not.
#[test]
fn secrets_flow_into_secrets() {
    let secret =
        |data: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s2"}, "stringData": data});
    let of = |object: Value, allow: bool| {
        let key = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"p": "eA=="}});
        json!([{"name": "key", "spec": key}, {"name": "b", "dependsOn": ["key"], "allowSecretValues": allow, "spec": object}])
    };
    let refused =
        |object: Value, field: &str| only(of(object, false), field, ProblemKind::Forbidden, "allowSecretValues");
    refused(config_map("c", json!({"x": "pre $(key.data.p)"})), "spec.resources[1].spec.data.x");
    refused(config_map("c", json!("$((key.data))")), "spec.resources[1].spec.data");
    refused(config_map("c", json!({"x": "$(key:output.data.p)"})), "spec.resources[1].spec.data.x");
    refused(config_map("$(key.data.p)", json!({})), "spec.resources[1].spec.metadata.name");
    let mut labelled = secret(json!({}));
    labelled["metadata"]["labels"] = json!({"x": "$(key.data.p)"});
    refused(labelled, "spec.resources[1].spec.metadata.labels.x");
    for fine in [
        secret(json!({"x": "$(key.data.p)"})),
        config_map("c", json!({"x": "$(key.metadata.name)", "y": "$(key:binding.status.name)"})),
    ] {
        assert!(Plan::of(&spec(of(fine, false)), "here").is_ok());
    }
    assert!(Plan::of(&spec(of(config_map("c", json!({"x": "$(key.data.p)"})), true)), "here").is_ok());
}

/// B-02: a permission is one for the object that has it, and not for whatever takes the value from there.
#[test]
fn permissions_do_not_spread() {
    let key = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"p": "eA=="}});
    let of = |last: &str, allow: bool| {
        let (first, second) = (config_map("c", json!({"p": "$(key.data.p)", "x": "1"})), json!("$((c.data))"));
        json!([
            {"name": "d", "dependsOn": ["c"], "allowSecretValues": true, "spec": config_map("d", second)},
            {"name": "e", "dependsOn": ["d"], "allowSecretValues": allow, "spec": config_map("e", json!({"x": last}))},
            {"name": "c", "dependsOn": ["key"], "allowSecretValues": true, "spec": first},
            {"name": "key", "spec": key},
        ])
    };
    for last in ["$(d.data.p)", "$(d.data.x)"] {
        only(of(last, false), "spec.resources[1].spec.data.x", ProblemKind::Forbidden, "allowSecretValues");
        assert!(Plan::of(&spec(of(last, true)), "here").is_ok());
    }
    assert!(Plan::of(&spec(of("$(d.metadata.name)", false)), "here").is_ok());
}

/// B-02: what everyone may know of a Secret, such as its labels, is not for everyone if another Secret's value was put there.
#[test]
fn open_fields_of_secrets_may_hold_secrets() {
    let secret = |name: &str, labels: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": labels}});
    let of = |path: &str, allow: bool| {
        json!([
            {"name": "key", "spec": secret("s", json!({}))},
            {"name": "b", "dependsOn": ["key"], "allowSecretValues": true, "spec": secret("b", json!({"x": "$(key.data.p)"}))},
            {"name": "c", "dependsOn": ["b"], "allowSecretValues": allow, "spec": config_map("c", json!({"x": path}))},
        ])
    };
    let field = "spec.resources[2].spec.data.x";
    only(of("$(b.metadata.labels.x)", false), field, ProblemKind::Forbidden, "allowSecretValues");
    assert!(Plan::of(&spec(of("$(b.metadata.labels.x)", true)), "here").is_ok());
    assert!(Plan::of(&spec(of("$(b.metadata.labels.y)", false)), "here").is_ok());
}
