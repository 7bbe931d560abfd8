use std::sync::Arc;

use bailiwick_machinery::GroupVersion;
use bailiwick_registry::{
    Ctx, Error, Page, Subresource, SubresourceAnswer, SubresourceBody, SubresourceCall, SubresourceVerb, WriteOptions,
};
use serde_json::{Value, json};

use super::support::{World, accept, invalid, object};
use crate::assert_error;

const GROUP: &str = "org.bailiwick.dev";
const VERSION: &str = "v1alpha1";

fn groups(world: &World) -> Arc<dyn Subresource> {
    world.kind(GROUP, VERSION, "organizations").kind().subresources()[0].clone()
}

async fn with_organizations(names: &[&str]) -> World {
    let world = World::start().await;
    let kind = world.kind(GROUP, VERSION, "organizations");
    for name in names {
        let options = WriteOptions::default();
        let sent = accept(&kind, object(json!({"metadata": {"name": name}})), &options).unwrap();
        world.registry.create(&world.ctx(), &kind, sent, &options).await.unwrap();
    }
    world
}

fn call<'c>(world: &'c World, ctx: &'c Ctx<'c>, group_version: &'c GroupVersion, name: &'c str) -> SubresourceCall<'c> {
    SubresourceCall { ctx, registry: &world.registry, group_version, namespace: "", name, page: Page::default() }
}

fn body(value: Value) -> SubresourceBody {
    let mut object = object(value);
    object.set_gvk(&GroupVersion::new(GROUP, VERSION).kind("OrgGroup"));
    SubresourceBody { object, options: WriteOptions::default() }
}

/// Asks for the groups of an organization in one of three ways.
async fn ask(
    world: &World,
    organization: &str,
    verb: SubresourceVerb,
    sent: Value,
) -> bailiwick_registry::Result<SubresourceAnswer> {
    let (ctx, group_version) = (world.ctx(), GroupVersion::new(GROUP, VERSION));
    let call = call(world, &ctx, &group_version, organization);
    match verb {
        SubresourceVerb::Get => {
            let object = groups(world).get(call).await?;
            Ok(SubresourceAnswer { object, warnings: Vec::new() })
        }
        SubresourceVerb::Create => groups(world).create(call, body(sent)).await,
        SubresourceVerb::Update => groups(world).update(call, body(sent)).await,
        SubresourceVerb::Delete => panic!("asked for by name only"),
    }
}

fn group(name: &str, users: &[&str]) -> Value {
    json!({"metadata": {"name": name}, "users": users})
}

#[tokio::test]
async fn groups_of_one_organization_are_not_those_of_others() {
    use SubresourceVerb::{Create, Get};
    let world = with_organizations(&["Acme", "Acme2", "Beta"]).await;
    for (organization, name) in
        [("Acme", "Acme:dev"), ("Acme2", "Acme2:dev"), ("Acme", "Acme:ops"), ("Beta", "Beta:dev")]
    {
        let made = ask(&world, organization, Create, group(name, &["jo"])).await.unwrap().object;
        assert_eq!((made.kind(), made.metadata().name()), ("OrgGroup", name));
    }
    let list = ask(&world, "Acme", Get, Value::Null).await.unwrap().object;
    assert_eq!((list.kind(), list.api_version()), ("OrgGroupList", "org.bailiwick.dev/v1alpha1"));
    let items = list.as_value()["items"].as_array().unwrap().clone();
    let names: Vec<_> = items.iter().map(|item| item["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["Acme:dev", "Acme:ops"]);
    assert!(items.iter().all(|item| item["kind"] == "OrgGroup" && item["users"] == json!(["jo"])));
    let version = list.as_value()["metadata"]["resourceVersion"].as_str().unwrap();
    assert_eq!(version.parse::<u64>().unwrap(), world.revision().await);
}

#[tokio::test]
async fn names_belong_to_the_organization() {
    use SubresourceVerb::{Create, Update};
    let world = with_organizations(&["Acme", "Beta"]).await;
    for verb in [Create, Update] {
        for name in ["Beta:dev", "dev", "Acme", "Acme:", "Acme:a:b", "acme:dev"] {
            let why = invalid(ask(&world, "Acme", verb, group(name, &[])).await);
            assert!(why.contains("must be \"Acme:<group>\""), "{verb:?} {name}: {why}");
        }
    }
    assert!(invalid(ask(&world, "Acme", Create, group("Acme:-", &[])).await).contains("metadata.name"));
    assert_error!(ask(&world, "Acme", Update, group("Acme:nobody", &[])).await, Error::NotFound { name, .. } if name == "Acme:nobody");
}

#[tokio::test]
async fn groups_are_replaced_as_they_were_read() {
    use SubresourceVerb::{Create, Update};
    let world = with_organizations(&["Acme"]).await;
    let made = ask(&world, "Acme", Create, group("Acme:dev", &["jo"])).await.unwrap().object;
    assert_error!(ask(&world, "Acme", Create, group("Acme:dev", &[])).await, Error::AlreadyExists { .. });
    let mut next = Value::from(made.clone());
    next["users"] = json!(["jo", "max"]);
    let changed = ask(&world, "Acme", Update, next.clone()).await.unwrap().object;
    assert_eq!(changed.as_value()["users"], json!(["jo", "max"]));
    assert_eq!((changed.metadata().uid(), changed.metadata().generation()), (made.metadata().uid(), 2));
    assert_error!(ask(&world, "Acme", Update, next).await, Error::Modified { .. });
}

#[tokio::test]
async fn an_organization_that_is_not_there_has_no_groups() {
    use SubresourceVerb::{Create, Get, Update};
    let world = with_organizations(&["Acme"]).await;
    for verb in [Get, Create, Update] {
        let answer = ask(&world, "Nobody", verb, group("Nobody:dev", &[])).await;
        assert_error!(answer, Error::NotFound { resource, name } if name == "Nobody" && resource.resource == "organizations");
    }
}
