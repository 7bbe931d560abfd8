use super::*;

/// An object of this group, name and UID, in the inventory.
fn item(group: &str, name: &str, uid: &str) -> InventoryItem {
    let object = BundleObject {
        api_version: format!("{group}/v1"),
        kind: "Example".to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
    };
    InventoryItem { resource: name.to_owned(), object, ..InventoryItem::default() }
}

/// P-1: an object that is wanted by one of its names does not go by another. What is not known to be the same one does, and so does
/// what is somewhere else. What is wanted by several names has a place by each of them.
#[test]
fn an_object_has_one_place_in_the_inventory() {
    let known = [item("new.example.dev", "a", "1").object, item("new.example.dev", "b", "").object];
    let mut inventory = vec![
        item("old.example.dev", "a", "1"),
        item("old.example.dev", "a", "2"),
        item("old.example.dev", "b", ""),
        item("new.example.dev", "a", "1"),
        item("new.example.dev", "b", ""),
    ];
    let expected = inventory[1..].to_vec();
    drop_other_names(&mut inventory, &known);
    assert_eq!(inventory, expected);

    let wanted = [item("old.example.dev", "a", "1"), item("new.example.dev", "a", "1")];
    let known = wanted.clone().map(|item| item.object);
    let [old, new] = wanted.clone();
    let mut inventory = vec![old, item("older.example.dev", "a", "1"), new];
    drop_other_names(&mut inventory, &known);
    assert_eq!(inventory, wanted);
}
