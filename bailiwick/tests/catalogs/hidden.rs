//! What someone may not see looks to them like what is not there.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::market::{Market, claims, entries};
use crate::objects::{API, catalog, claim, config_map, entry, list};
use crate::site::Person;

in_both_modes!(what_is_hidden_looks_like_what_is_not_there);

/// How often each is asked for. The quickest answer of them all is the one that nothing else delayed.
const TRIES: usize = 30;
/// What two quickest answers may differ by in any case.
const SLACK: Duration = Duration::from_millis(1);

/// Something that is asked for: what is answered, where it is, and what is sent there, if anything.
type Asked = (u16, String, Option<Value>);

/// D-13: whoever may not see an entry or a catalog is told the same whether or not there is one, in as many words and as soon.
async fn what_is_hidden_looks_like_what_is_not_there(site: &mut Market) {
    let (root, eddie) = (site.root(), site.user("eddie"));
    let mut hidden = entry("hidden", list(json!([config_map("x", json!({}))])));
    hidden["metadata"]["labels"] = json!({ "tier": "none" });
    site.user("pat").post(&entries("shop"), &hidden).await.expect(201);
    let hidden = catalog("hidden", json!({ "selector": { "tier": "silver" } }));
    root.post(&format!("{API}/resourcecatalogs"), &hidden).await.expect(201);
    for (hidden, absent) in ways_to_ask("hidden").into_iter().zip(ways_to_ask("absent")) {
        let mut quickest = [Duration::MAX; 2];
        for _ in 0..TRIES {
            let (of_hidden, for_hidden) = ask(&eddie, &hidden).await;
            let (of_absent, for_absent) = ask(&eddie, &absent).await;
            assert_eq!(of_hidden.replace("hidden", "NAME"), of_absent.replace("absent", "NAME"), "{}", hidden.1);
            quickest = [quickest[0].min(for_hidden), quickest[1].min(for_absent)];
        }
        let [for_hidden, for_absent] = quickest;
        let most = for_hidden.min(for_absent) / 2 + SLACK;
        assert!(for_hidden.abs_diff(for_absent) < most, "{}: {for_hidden:?}, {for_absent:?}", hidden.1);
    }
}

/// The ways to ask for an entry or a catalog of this name.
fn ways_to_ask(name: &str) -> [Asked; 6] {
    let wanted = format!("{}?dryRun=All", claims("a"));
    let shown = format!("{API}/namespaces/a/localresourcecatalogs/{name}");
    [
        (422, wanted.clone(), Some(claim("mine", name, json!({})))),
        (403, wanted, Some(claim("mine", "any", json!({ "catalogName": name })))),
        (404, shown.clone(), None),
        (404, format!("{shown}/entries"), None),
        (403, format!("{API}/resourcecatalogs/{name}"), None),
        (403, format!("{}/{name}", entries("shop")), None),
    ]
}

/// What is answered, and how long that takes.
async fn ask(person: &Person, (code, path, object): &Asked) -> (String, Duration) {
    let began = Instant::now();
    let answer = match object {
        Some(object) => person.post(path, object).await,
        None => person.get(path).await,
    };
    let took = began.elapsed();
    answer.expect(*code);
    (answer.text(), took)
}
