use bailiwick_api::BundleObject;

use super::*;

/// An object called by its resource and a number, with what it needs.
fn item(name: &str, depends_on: &[&str]) -> InventoryItem {
    let resource = name.trim_end_matches(|found: char| found.is_ascii_digit()).to_owned();
    let object = BundleObject { name: name.to_owned(), ..BundleObject::default() };
    let depends_on = depends_on.iter().map(|name| (*name).to_owned()).collect();
    InventoryItem { resource, object, depends_on, lifecycle: Lifecycle::Delete }
}

fn free(items: Vec<InventoryItem>) -> Vec<String> {
    let mut free: Vec<String> = partition(items).0.into_iter().map(|item| item.object.name).collect();
    free.sort();
    free
}

/// B-SMITH-5, P-4: what others need goes after them.
#[test]
fn what_is_needed_waits() {
    assert_eq!(free(vec![item("a", &[]), item("b", &["a"]), item("c", &["b"]), item("d", &[])]), ["c", "d"]);
    assert_eq!(free(vec![item("a", &["gone"]), item("b", &["gone"])]), ["a", "b"], "what is gone needs nothing");
    assert_eq!(free(vec![item("a1", &[]), item("a2", &["a"])]), ["a1", "a2"], "they are the same resource");
}

/// B-SMITH-5, P-4: objects of two generations that need each other in a circle go together, after those that need them and before
/// what they need; nothing is left for ever.
#[test]
fn circles_end() {
    let circle = || vec![item("a1", &["b"]), item("b1", &[]), item("b2", &["a"]), item("c", &["a"]), item("d", &[])];
    assert_eq!(free(circle()), ["c", "d"]);
    let mut rest = circle();
    rest.retain(|item| item.resource != "c");
    rest[0].depends_on.push("d".to_owned());
    assert_eq!(free(rest.clone()), ["a1", "b1", "b2"]);
    // What is to stay keeps what it needs, in a circle too.
    rest[0].lifecycle = Lifecycle::Protect;
    assert_eq!(free(rest), ["a1"]);
}
