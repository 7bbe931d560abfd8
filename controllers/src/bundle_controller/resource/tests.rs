use super::*;

/// A binding of this name, with these owners, the first of whom controls it or not.
fn binding(name: &str, owners: &[(&str, bool)]) -> Seen {
    let owners: Vec<Value> = owners
        .iter()
        .map(|(uid, controls)| json!({"kind": "K", "name": uid, "uid": uid, "controller": controls}))
        .collect();
    let object = json!({"metadata": {"name": name, "uid": name, "ownerReferences": owners}});
    Seen { kind: HostKind::core("Binding", "bindings"), name: name.to_owned(), object }
}

fn which(found: &[Seen], output: OutputUse) -> Result<Option<String>, Vec<String>> {
    the_one(found.to_vec(), "claim", output).map(|found| found.map(|seen| seen.name))
}

/// SMITH-21: of several objects that name the claim as an owner, the one that it controls counts, and not what others have put
/// before it; if that does not tell, none is believed.
#[test]
fn which_binding_counts() {
    let (fake, right) = (binding("a", &[("claim", false)]), binding("b", &[("claim", true)]));
    let foreign = binding("c", &[("somebody", true), ("claim", false)]);
    for output in [OutputUse::Unused, OutputUse::BindingUsed, OutputUse::Used] {
        assert_eq!(which(&[], output), Ok(None));
        assert_eq!(
            which(std::slice::from_ref(&fake), output),
            Ok(Some("a".to_owned())),
            "one that it only owns is enough"
        );
        assert_eq!(which(&[fake.clone(), right.clone(), foreign.clone()], output), Ok(Some("b".to_owned())));
    }
    let told = Err(vec!["a".to_owned(), "c".to_owned()]);
    assert_eq!(which(&[fake.clone(), foreign.clone()], OutputUse::Used), told);
    assert_eq!(which(&[fake.clone(), foreign.clone()], OutputUse::BindingUsed), told);
    assert_eq!(which(&[fake, foreign], OutputUse::Unused), Ok(Some("a".to_owned())), "that one exists is enough");
}

/// SMITH-25: an output is nobody's, the claim's, its binding's or the Bundle's.
#[test]
fn whose_outputs_are_used() {
    let known = ["claim", "binding", "bundle"];
    for owners in [&[][..], &[("somebody", false)], &[("claim", true)], &[("binding", true)], &[("bundle", true)]] {
        assert_eq!(stranger(&binding("o", owners).object, &known), None, "{owners:?}");
    }
    let theirs = binding("o", &[("claim", false), ("somebody", true)]);
    assert_eq!(stranger(&theirs.object, &known).as_deref(), Some("K \"somebody\""));
}
