use super::*;

fn told(to: AddedTo, came: &[String], has: &[String]) -> Vec<(String, String)> {
    let annotations = Annotations::default();
    tell_added_groups(&annotations, to, came, has);
    annotations.show(|all| all.iter().map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn groups(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("org:Acme:group-{number}")).collect()
}

/// M-ORG-7
#[test]
fn groups_are_told_that_were_added() {
    let came = vec!["system:authenticated".to_owned(), "oidc:staff".to_owned()];
    assert!(told(AddedTo::Sender, &came, &came).is_empty());
    // One that was believed of nobody is no addition.
    assert!(told(AddedTo::Sender, &came, &came[..1]).is_empty());
    let has = [came.clone(), groups(2)].concat();
    let text = "org:Acme:group-0,org:Acme:group-1".to_owned();
    assert_eq!(told(AddedTo::Sender, &came, &has), [("org.bailiwick.dev/added-groups".to_owned(), text.clone())]);
    let key = "org.bailiwick.dev/impersonated-added-groups".to_owned();
    assert_eq!(told(AddedTo::Impersonated, &came, &has), [(key, text)]);
}

/// M-ORG-7: an entry has a bounded length, however many there are, and however long they are.
#[test]
fn what_is_too_long_is_counted() {
    let told = |has: &[String]| told(AddedTo::Sender, &[], has).remove(0).1;
    let text = told(&groups(10_000));
    assert!(text.len() <= MAX_TOLD + " and 10000 more".len(), "{}", text.len());
    let (named, more) = text.split_once(" and ").unwrap();
    let more: usize = more.strip_suffix(" more").unwrap().parse().unwrap();
    assert_eq!(named.split(',').count() + more, 10_000);
    assert_eq!(told(&["x".repeat(5_000)]), "and 1 more");
    assert_eq!(told(&["x".repeat(MAX_TOLD)]).len(), MAX_TOLD);
}
