use super::*;

#[test]
fn users_are_told_apart_by_category_only() {
    let metrics = Metrics::default();
    for (name, category) in [
        ("admin", 0),
        ("kubelet", 3),
        ("a@b", 5),
        ("system:serviceaccount:kube-system:default", 4),
        ("x", 6),
        ("email_id", 6),
        ("", 6),
    ] {
        let before = metrics.users[category].get();
        metrics.authenticated(Some(name));
        assert_eq!(metrics.users[category].get(), before + 1, "{name}");
    }
}
