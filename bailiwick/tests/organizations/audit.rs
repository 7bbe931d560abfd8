//! What the audit log says of organizations, which the request itself does not show.

use serde_json::{Value, json};

use crate::site::{API, Mode, Site, eventually, org_group};

in_both_modes!(the_log_says_which_groups_were_added, the_log_says_which_group_was_meant);

const MEMBERS: &str = "/apis/org.bailiwick.dev/v1alpha1/organizations/Acme/members";

/// M-ORG-7: groups of organizations are in nobody's credential, so the log says to whom they were added. They are told of whom
/// the request counts for: behind a cluster, which has looked who acts as whom, of its user.
async fn the_log_says_which_groups_were_added(site: Site) {
    site.furnish().await;
    let groups = format!("{API}/organizations/Acme/groups");
    for name in ["Acme:dev", "Acme:ops"] {
        site.user("alice").post(&groups, &org_group(name, &["bob"])).await.expect(201);
    }
    let (user, key) = match site.mode {
        Mode::Alone => ("impersonatedUser", "org.bailiwick.dev/impersonated-added-groups"),
        Mode::Behind => ("user", "org.bailiwick.dev/added-groups"),
    };
    let bob = site.user("bob");
    let event = bob.audited_when(async |mark| drop(bob.get(&format!("{MEMBERS}?{mark}")).await)).await;
    assert_eq!(event["annotations"][key], "org:Acme:dev,org:Acme:ops", "{event}");
    assert_eq!(event[user]["groups"], json!(["system:authenticated", "org:Acme:dev", "org:Acme:ops"]), "{event}");
    // Who is in none, or only says so, was not added to any.
    for nobody in [site.user("bella"), site.user_in("mallory", &["org:Acme:dev", "system:authenticated"])] {
        let event = nobody.audited_when(async |mark| drop(nobody.get(&format!("{MEMBERS}?{mark}")).await)).await;
        assert_eq!(event["annotations"][key], Value::Null, "{event}");
        assert_eq!(event[user]["groups"], json!(["system:authenticated"]), "{event}");
    }
}

/// D-ORG-5, M-ORG-7: which of an organization's groups was written stands in no path but that of its removal.
async fn the_log_says_which_group_was_meant(site: Site) {
    site.furnish().await;
    let groups = format!("{API}/organizations/Acme/groups");
    let alice = site.user("alice");
    let made = org_group("Acme:dev", &["bob"]);
    let create = async |mark: &str| drop(alice.post(&format!("{groups}?{mark}"), &made).await.expect(201));
    let created = alice.audited_when(create).await;
    // What it comes to is said in its status, after which it stays as it is.
    let mut made = Value::Null;
    eventually("it says what it comes to", async || {
        made = alice.get(&format!("{API}/orggroups/Acme:dev")).await.expect(200);
        made["status"]["conditions"].is_array()
    })
    .await;
    made["users"] = json!(["carol"]);
    let update = async |mark: &str| drop(alice.put(&format!("{groups}?{mark}"), &made).await.expect(200));
    let updated = alice.audited_when(update).await;
    let delete = async |mark: &str| drop(alice.delete(&format!("{groups}/dev?{mark}")).await.expect(200));
    let deleted = alice.audited_when(delete).await;
    for (event, verb) in [(created, "create"), (updated, "update"), (deleted, "delete")] {
        assert_eq!(event["annotations"]["org.bailiwick.dev/group"], "Acme:dev", "{event}");
        assert_eq!((&event["verb"], &event["objectRef"]["subresource"]), (&json!(verb), &json!("groups")), "{event}");
    }
}
