//! What lies below objects: the groups of an organization.

use serde_json::json;

use crate::site::{ORGANIZATIONS, Site};

#[tokio::test]
async fn the_groups_of_an_organization_are_a_collection_of_their_own() {
    let site = Site::open().await;
    for name in ["Acme", "Other"] {
        assert_eq!(site.post(ORGANIZATIONS, &json!({"metadata": {"name": name}})).await.code, 201);
    }
    let groups = format!("{ORGANIZATIONS}/Acme/groups");
    let created = site.post(&groups, &json!({"metadata": {"name": "Acme:dev"}, "users": ["a"]})).await;
    assert_eq!((created.code.as_u16(), &created.json()["kind"]), (201, &json!("OrgGroup")), "{}", created.text());
    let foreign = site.post(&groups, &json!({"metadata": {"name": "Other:dev"}})).await;
    assert_eq!(foreign.code, 422);
    site.post(&format!("{ORGANIZATIONS}/Other/groups"), &json!({"metadata": {"name": "Other:dev"}})).await;

    let list = site.get(&groups).await.json();
    assert_eq!((&list["kind"], list["items"].as_array().unwrap().len()), (&json!("OrgGroupList"), 1));

    let mut changed = created.json();
    changed["users"] = json!(["a", "b"]);
    let updated = site.put(&groups, &changed).await;
    assert_eq!((updated.code.as_u16(), &updated.json()["users"]), (200, &json!(["a", "b"])));
    assert_eq!(site.put(&groups, &changed).await.code, 409);
    changed["metadata"]["name"] = json!("Acme:absent");
    assert_eq!(site.put(&groups, &changed).await.code, 404);

    assert_eq!(site.delete(&groups).await.code, 405);
    assert_eq!(site.get(&format!("{ORGANIZATIONS}/None/groups")).await.code, 404);
}
