//! Definitions of claims: the kinds that they become, and what they cannot become.

use serde_json::{Value, json};

use crate::estate::{API, CRDS, Estate, custom_resource};
use crate::site::{causes, eventually};

in_both_modes!(a_definition_becomes_a_kind, changes_flow_and_the_end_waits, guard_rails, names_that_are_taken_later,);

/// RCD-1, RCD-5 to RCD-19: ten lines are enough for a kind that has everything claims have. Of D-RCD-1 it is the
/// CustomResourceDefinition, and there is no `serving` to ask for anything else; of M-RCD-1 and M-RCD-2 it is one version with a
/// structural schema, and the standard fields in `spec` itself.
async fn a_definition_becomes_a_kind(estate: Estate) {
    let root = &estate.root;
    let began = tokio::time::Instant::now();
    estate.define_claims().await;
    println!("claims can be made {:?} after their definition was written", began.elapsed());
    let path = format!("{API}/resourceclaimdefinitions/{}", estate.namespace);
    estate.says(&path, "Established", "True", "InitialNamesAccepted").await;
    estate.says(&path, "NamesAccepted", "True", "NoConflicts").await;
    estate.says(&path, "Ready", "True", "InitialNamesAccepted").await;
    let definition = root.get(&path).await.expect(200);
    let name = format!("databases.{}", estate.group);
    assert_eq!(definition["status"]["customResourceDefinition"], name);
    assert_eq!(definition["status"]["clusterRoles"]["kind"], "List");
    let made = root.get(&format!("{CRDS}/{name}")).await.expect(200);
    assert_eq!(made["metadata"]["annotations"]["claim.bailiwick.dev/definition-uid"], definition["metadata"]["uid"]);

    let spec = json!({
        "version": "5.7", "classSelector": { "matchLabels": { "a": "b" } }, "classRef": { "name": "c" },
        "resourceRef": { "name": "r" }, "writeConnectionSecretToRef": { "name": "s" }, "unknown": 1,
    });
    let claim = estate.claim("db", spec.clone()).await;
    let mut kept = spec;
    kept.as_object_mut().unwrap().remove("unknown");
    assert_eq!(claim["spec"], kept);
    let wrong = estate.object("Database", "wrong", json!({ "spec": { "version": 5 } }));
    root.post(&estate.claims(), &wrong).await.expect(422);
    let status = json!({ "status": { "bindingPhase": "Bound", "conditions": [] } });
    root.merge(&format!("{}/db/status", estate.claims()), &status).await.expect(200);
    root.merge(&format!("{}/db/status", estate.claims()), &json!({ "status": { "bindingPhase": "Lost" } }))
        .await
        .expect(422);
}

/// RCD-9, B-RCD-9: a definition that changes changes its kind; one that is deleted waits for the last claim, and says which
/// ones there are.
async fn changes_flow_and_the_end_waits(estate: Estate) {
    let root = &estate.root;
    estate.define_claims().await;
    let path = format!("{API}/resourceclaimdefinitions/{}", estate.namespace);
    let crd = format!("{CRDS}/databases.{}", estate.group);
    let region = json!({ "spec": {
        "names": { "shortNames": [format!("db{}", estate.namespace)] },
        "validation": { "openAPIV3Schema": { "properties": { "spec": { "properties": {
            "region": { "type": "string", "enum": ["east", "west"] },
        } } } } },
    } });
    root.merge(&path, &region).await.expect(200);
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/region/enum";
    eventually("the kind has changed", async || {
        let found = root.get(&crd).await.expect(200);
        found.pointer(schema) == Some(&json!(["east", "west"])) && found["spec"]["names"]["shortNames"].is_array()
    })
    .await;
    // Someone else's hand is undone.
    root.merge(&crd, &json!({ "spec": { "names": { "categories": ["all"] } } })).await.expect(200);
    eventually("it is brought back", async || {
        root.get(&crd).await.expect(200)["spec"]["names"]["categories"].is_null()
    })
    .await;
    root.merge(&path, &json!({ "spec": { "group": "other.example.org" } })).await.expect(422);
    root.merge(&path, &json!({ "spec": { "version": "v2" } })).await.expect(422);

    estate.claim("last", json!({})).await;
    root.delete(&path).await;
    let message = estate.says(&path, "Established", "True", "ClaimsExist").await;
    assert!(message.contains(&format!("{}/last", estate.namespace)), "{message}");
    // Someone has it served no more: that it cannot be had does not mean that it is gone.
    let mut versions = root.get(&crd).await.expect(200)["spec"]["versions"].clone();
    for (served, reason) in [(false, "ClaimsUnknown"), (true, "ClaimsExist")] {
        versions[0]["served"] = json!(served);
        root.merge(&crd, &json!({ "spec": { "versions": versions } })).await.expect(200);
        estate.says(&path, "Established", "True", reason).await;
        assert_eq!(root.get(&crd).await.expect(200)["metadata"]["deletionTimestamp"], Value::Null);
    }
    root.get(&format!("{}/last", estate.claims())).await.expect(200);
    root.delete(&format!("{}/last", estate.claims())).await.expect(200);
    estate.gone(&path).await;
    estate.gone(&crd).await;
}

/// RCD-6, RCD-20, N-07: what is filled in cannot be stated otherwise, a schema is structural, and no name is anyone else's.
async fn guard_rails(estate: Estate) {
    let root = &estate.root;
    let path = format!("{API}/resourceclaimdefinitions");
    let with = |change: &dyn Fn(&mut Value)| {
        let mut definition = estate.claim_definition();
        change(&mut definition["spec"]);
        definition
    };
    let properties = "/validation/openAPIV3Schema/properties/spec/properties";
    let cases: [(&str, &str, Value); 9] = [
        (
            "spec.validation.openAPIV3Schema.properties.spec.properties.classRef",
            "filled in",
            with(&|spec| spec.pointer_mut(properties).unwrap()["classRef"] = json!({ "type": "string" })),
        ),
        (
            "spec.validation.openAPIV3Schema.properties[spec].properties[odd].type",
            "",
            with(&|spec| spec.pointer_mut(properties).unwrap()["odd"] = json!({ "description": "no type" })),
        ),
        ("spec.names.plural", "", with(&|spec| spec["names"]["plural"] = json!("Data Bases"))),
        ("spec.names.kind", "", with(&|spec| spec["names"]["kind"] = json!("not a kind"))),
        ("spec.group", "", with(&|spec| spec["group"] = json!("nodots"))),
        ("spec.group", "Kubernetes", with(&|spec| spec["group"] = json!("x.k8s.io"))),
        ("spec.group", "this server", with(&|spec| spec["group"] = json!("org.bailiwick.dev"))),
        ("spec.group", "this server", with(&|spec| spec["group"] = json!("other.bailiwick.dev"))),
        ("spec.version", "", with(&|spec| spec["version"] = json!("first one"))),
    ];
    for (field, words, definition) in cases {
        let answer = root.post(&path, &definition).await;
        let refusal = answer.expect(422);
        let found = causes(&refusal);
        assert!(found.iter().any(|(f, w)| f.starts_with(field) && w.contains(words)), "{field}: {refusal:#}");
    }
    // Someone has such a kind already.
    let open = json!({ "spec": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    root.post(CRDS, &custom_resource(&estate.group, "Taken", "takens", "Namespaced", open)).await.expect(201);
    eventually("it is served", async || root.get(&estate.path("takens")).await.code == 200).await;
    let taken = with(&|spec| spec["names"] = json!({ "kind": "Taken", "plural": "takens" }));
    let refusal = root.post(&path, &taken).await.expect(422);
    assert!(
        causes(&refusal).iter().any(|(field, why)| field == "spec.names.plural" && why.contains("not made for this")),
        "{refusal:#}"
    );
    root.post(&path, &estate.claim_definition()).await.expect(201);
    let mut double = estate.claim_definition();
    double["metadata"]["name"] = json!(format!("{}-double", estate.namespace));
    let refusal = root.post(&path, &double).await.expect(422);
    assert!(
        causes(&refusal).iter().any(|(field, why)| field == "spec.names.kind" && why.contains("defines the same kind")),
        "{refusal:#}"
    );
}

/// RCD-6: names that the host does not accept, because another kind of the group goes by them, are told by the definition, and so
/// is that it has got them.
async fn names_that_are_taken_later(estate: Estate) {
    let root = &estate.root;
    let open = json!({ "spec": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let mut other = custom_resource(&estate.group, "Directory", "directories", "Namespaced", open);
    other["spec"]["names"]["shortNames"] = json!(["base"]);
    root.post(CRDS, &other).await.expect(201);
    eventually("it is served", async || root.get(&estate.path("directories")).await.code == 200).await;
    let mut definition = estate.claim_definition();
    definition["spec"]["names"]["shortNames"] = json!(["base"]);
    root.post(&format!("{API}/resourceclaimdefinitions"), &definition).await.expect(201);
    let path = format!("{API}/resourceclaimdefinitions/{}", estate.namespace);
    let message = estate.says(&path, "NamesAccepted", "False", "ShortNamesConflict").await;
    assert!(message.contains("\"base\" is already in use"), "{message}");
    estate.says(&path, "Established", "False", "NotAccepted").await;
    estate.says(&path, "Ready", "False", "NotAccepted").await;
    assert_eq!(root.get(&estate.claims()).await.code, 404);
    // The other one gives it up.
    let crd = format!("{CRDS}/directories.{}", estate.group);
    root.merge(&crd, &json!({ "spec": { "names": { "shortNames": null } } })).await.expect(200);
    estate.says(&path, "NamesAccepted", "True", "NoConflicts").await;
    estate.says(&path, "Ready", "True", "InitialNamesAccepted").await;
    eventually("claims can be made", async || root.get(&estate.claims()).await.code == 200).await;
}

/// N-07, decisions 43: what another server serves is not defined over its head.
#[tokio::test(flavor = "multi_thread")]
async fn groups_of_other_servers() {
    let estate = Estate::behind("groups_of_other_servers").await;
    let root = &estate.root;
    let services = "/apis/apiregistration.k8s.io/v1/apiservices";
    let name = format!("v1.{}", estate.group);
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": { "name": name },
        "spec": {
            "group": estate.group, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15,
            "insecureSkipTLSVerify": true, "service": { "namespace": "default", "name": "elsewhere" },
        },
    });
    root.post(services, &service).await.expect(201);
    let path = format!("{API}/resourceclaimdefinitions");
    let refusal = root.post(&path, &estate.claim_definition()).await;
    root.delete(&format!("{services}/{name}")).await.expect(200);
    let refusal = refusal.expect(422);
    let why = format!("is served by another server, as the APIService {name}");
    assert!(causes(&refusal).iter().any(|(field, found)| field == "spec.group" && found.contains(&why)), "{refusal:#}");
    // It is free now.
    eventually("it is accepted", async || root.post(&path, &estate.claim_definition()).await.code == 201).await;
}
