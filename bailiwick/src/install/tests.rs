use std::collections::BTreeSet;

use clap::Parser;
use serde_json::json;

use super::*;
use crate::flags::{Cli, Command};

fn plan(arguments: &[&str]) -> Plan {
    let cli = Cli::try_parse_from(["bailiwick", "install"].iter().chain(arguments)).unwrap();
    let Some(Command::Install(flags)) = cli.command else { panic!("no installation: {arguments:?}") };
    Plan::new(&flags).unwrap()
}

fn objects(arguments: &[&str]) -> Vec<serde_json::Value> {
    manifests(&plan(arguments)).iter().map(|manifest| manifest.object().clone()).collect()
}

#[test]
fn every_served_group_is_registered_once() {
    let names: Vec<_> = objects(&[])
        .iter()
        .filter(|object| object["kind"] == "APIService")
        .map(|object| object["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    let groups = ["admission", "bundle", "catalog", "claim", "org", "quota"];
    assert_eq!(names, groups.map(|group| format!("v1alpha1.{group}.bailiwick.dev")));
}

/// By its own names a kind is found first, and whoever may use it may by the others, too.
#[test]
fn alias_groups_are_registered_where_they_are_asked_for() {
    const ALIASES: [&str; 2] = ["v1.smith.atlassian.com", "v1alpha1.core.crossplane.io"];
    let priority = |objects: &[serde_json::Value], name: &str| {
        let found = objects.iter().find(|object| object["kind"] == "APIService" && object["metadata"]["name"] == name);
        found.map(|object| object["spec"]["groupPriorityMinimum"].as_u64().unwrap())
    };
    let (plain, aliased) = (objects(&[]), objects(&["--alias-groups"]));
    let rules = |objects: &[serde_json::Value], role: &str| {
        let role = objects.iter().find(|object| object["kind"] == "ClusterRole" && object["metadata"]["name"] == role);
        role.unwrap()["rules"].to_string()
    };
    for name in ALIASES {
        assert_eq!(priority(&plain, name), None);
        assert!(priority(&aliased, name) < priority(&aliased, "v1alpha1.bundle.bailiwick.dev"), "{name}");
        assert!(rules(&aliased, "bailiwick").contains(name) && !rules(&plain, "bailiwick").contains(name));
    }
    let may_edit = |objects: &[serde_json::Value]| rules(objects, "bailiwick:edit").contains("smith.atlassian.com");
    assert!(may_edit(&aliased) && !may_edit(&plain));
    let argument = |objects: &[serde_json::Value]| {
        objects.iter().any(|object| object["kind"] == "Deployment" && object.to_string().contains("--alias-groups"))
    };
    assert!(argument(&aliased) && !argument(&plain));
}

#[test]
fn everything_that_is_installed_is_uninstalled() {
    let known: BTreeSet<_> = uninstall::FIRST
        .into_iter()
        .chain(uninstall::REST)
        .chain([("v1", "Namespace")])
        .map(|(version, kind)| json!([version, kind]).to_string())
        .collect();
    for object in objects(&["--act-as=cluster", "--alias-groups"]) {
        let kind = json!([object["apiVersion"], object["kind"]]).to_string();
        assert!(known.contains(&kind), "{kind}");
        assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/managed-by"], "bailiwick-install");
    }
}

/// No right that could be turned into others.
#[test]
fn no_rule_is_wider_than_it_says() {
    for object in objects(&["--act-as=cluster"]) {
        for rule in object["rules"].as_array().into_iter().flatten() {
            let text = rule.to_string();
            assert!(
                !["\"*\"", "escalate", "\"claim\"", "\"publish\""].iter().any(|word| text.contains(word)),
                "{text}"
            );
            if text.contains("\"bind\"") {
                let named = (&rule["resources"], &rule["resourceNames"], &rule["verbs"]);
                let roles = json!(["admin", "edit", "view"]);
                assert_eq!(named, (&json!(["clusterroles"]), &roles, &json!(["bind"])), "{text}");
            }
            // One account of our own namespace, by which definitions are carried out.
            let is_provisioner = object["kind"] == "Role" && rule["resourceNames"] == json!(["provisioner"]);
            let impersonates = text.contains("impersonate");
            assert_eq!(impersonates, is_provisioner || object["metadata"]["name"] == "bailiwick:act-as", "{text}");
            if text.contains("secrets") {
                assert_eq!(rule["resourceNames"], json!(["bailiwick-authority"]), "{text}");
            }
        }
    }
}

#[test]
fn acting_as_others_everywhere_is_asked_for() {
    let is_given = |arguments: &[&str]| {
        objects(arguments)
            .iter()
            .any(|object| object["kind"] == "ClusterRoleBinding" && object["roleRef"]["name"] == "bailiwick:act-as")
    };
    assert!(!is_given(&[]));
    assert!(is_given(&["--act-as=cluster"]));
}

#[test]
fn a_server_outside_is_registered_and_not_run() {
    let objects = objects(&["--external-name=bailiwick.example.dev", "--port=8443", "--namespace=elsewhere"]);
    let of = |kind: &str| objects.iter().find(|object| object["kind"] == kind);
    assert!(of("Deployment").is_none() && of("PodDisruptionBudget").is_none());
    let service = &of("Service").unwrap()["spec"];
    assert_eq!(*service, json!({"type": "ExternalName", "externalName": "bailiwick.example.dev"}));
    let expected = json!({"namespace": "elsewhere", "name": "bailiwick", "port": 8443});
    assert_eq!(of("APIService").unwrap()["spec"]["service"], expected);
}

#[test]
fn etcd_without_encryption_needs_no_secret() {
    let deployment = |arguments: &[&str]| {
        let found = objects(arguments).into_iter().find(|object| object["kind"] == "Deployment");
        found.unwrap()["spec"]["template"]["spec"].to_string()
    };
    assert!(deployment(&[]).contains("--etcd-servers=https://bailiwick-etcd.bailiwick-system.svc:2379"));
    assert!(deployment(&[]).contains("--etcd-cafile"));
    let plain = deployment(&["--etcd-servers=http://a:2379,http://b:2379"]);
    assert!(plain.contains("--etcd-servers=http://a:2379,http://b:2379") && !plain.contains("etcd-cafile"), "{plain}");
}

/// What the servers in the cluster are started with is understood.
#[test]
fn the_deployment_starts_a_server_behind_the_cluster() {
    let deployment = objects(&[]).into_iter().find(|object| object["kind"] == "Deployment").unwrap();
    let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap().clone();
    let arguments = arguments.iter().map(|argument| argument.as_str().unwrap());
    let cli = Cli::try_parse_from(["bailiwick"].into_iter().chain(arguments)).unwrap();
    let Some(Command::Serve(flags)) = cli.command else { panic!("it serves") };
    assert_eq!(flags.mode.mode(), Ok(crate::flags::Mode::Aggregated));
    assert_eq!(flags.listen.service, Some("bailiwick-system/bailiwick".parse().unwrap()));
    assert_eq!(flags.etcd.etcd_servers, ["https://bailiwick-etcd.bailiwick-system.svc:2379"]);
    assert!(flags.etcd.etcd_cafile.is_some() && flags.etcd.etcd_certfile.is_some());
}

#[test]
fn flags_that_make_no_sense_are_refused() {
    for (arguments, expected) in [
        (&["--namespace=No"][..], "a lowercase RFC 1123 label"),
        (&["--namespace=default"], "give a namespace of its own"),
        (&["--namespace=kube-system"], "give a namespace of its own"),
        (&["--replicas=0"], "0 is not in 1.."),
        (&["--external-name=here"], "--port"),
        (&["--port=1"], "--external-name"),
        (&["--cert=a"], "--key"),
        (&["--act-as=everyone"], "invalid value 'everyone'"),
    ] {
        let error = Cli::try_parse_from(["bailiwick", "install"].iter().chain(arguments)).unwrap_err().to_string();
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn comments_are_folded_and_the_rest_is_yaml() {
    let text = manifest::document(&manifests(&plan(&[])));
    for line in text.lines().filter(|line| line.starts_with('#') && !line.contains("kubectl")) {
        assert!(line.len() <= 120, "{line}");
    }
    assert_eq!(text.matches("---\n").count(), manifests(&plan(&[])).len());
}
