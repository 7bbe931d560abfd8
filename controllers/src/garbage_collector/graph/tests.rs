use super::*;

/// A gadget, or what it owns, which is of another kind.
fn node(kind: &str, namespace: &str, name: &str, owners: &[OwnerReference]) -> Node {
    let metadata = ObjectMeta {
        namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
        name: Some(name.to_owned()),
        owner_references: Some(owners.to_vec()),
        ..ObjectMeta::default()
    };
    Node::new(GroupKind::new("shop.dev/v1", kind), &metadata)
}

fn owner(name: &str) -> OwnerReference {
    OwnerReference {
        api_version: "shop.dev/v2".to_owned(),
        kind: "Gadget".to_owned(),
        name: name.to_owned(),
        uid: "owner".to_owned(),
        ..OwnerReference::default()
    }
}

/// What is known of an owner in the namespace `a` that was seen there, and then lost.
fn after(loss: Loss, dependent: &Node, named: &OwnerReference) -> OwnerState {
    let mut graph = Graph::default();
    graph.observe("owner".into(), node("Gadget", "a", "owner", &[]));
    graph.observe("child".into(), dependent.clone());
    assert_eq!(graph.forget("owner", loss), [Task::Judge("child".into())]);
    graph.owner_state(dependent, named)
}

/// A kind that is not served any more proves nothing, and neither does an object that is not the one that is named.
#[test]
fn only_who_was_deleted_is_gone() {
    let named = owner("owner");
    let child = node("Part", "a", "child", std::slice::from_ref(&named));
    assert_eq!(after(Loss::Deleted, &child, &named), OwnerState::Gone);
    assert_eq!(after(Loss::Unfollowed, &child, &named), OwnerState::Unseen);
    assert_eq!(after(Loss::Deleted, &child, &owner("other")), OwnerState::Unseen);
    // An object of the cluster cannot name one of a namespace, whether that is there or not.
    let of_cluster = node("Part", "", "child", std::slice::from_ref(&named));
    assert_eq!(after(Loss::Deleted, &of_cluster, &named), OwnerState::Unseen);
}

/// Who is seen again is there, whatever was seen before, and when they are out of sight then, that proves nothing either.
#[test]
fn who_is_there_is_not_gone() {
    let named = owner("owner");
    let child = node("Part", "a", "child", std::slice::from_ref(&named));
    let mut graph = Graph::default();
    for _ in 0..2 {
        graph.observe("owner".into(), node("Gadget", "a", "owner", &[]));
        assert_eq!(graph.owner_state(&child, &named), OwnerState::Solid);
        graph.forget("owner", Loss::Deleted);
        assert_eq!(graph.owner_state(&child, &named), OwnerState::Gone);
    }
    graph.observe("owner".into(), node("Gadget", "a", "owner", &[]));
    graph.forget("owner", Loss::Unfollowed);
    assert_eq!(graph.owner_state(&child, &named), OwnerState::Unseen);
}
