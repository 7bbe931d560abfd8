//! Terms take apart into what they were made of.

use super::*;

fn check(name: &str, value: &str) {
    for (term, class) in [(Term::label(name, value), TermClass::Label), (Term::field(name, value), TermClass::Field)] {
        assert_eq!((term.class(), term.name(), term.value()), (class, name, value));
    }
}

#[test]
fn parts_come_back() {
    check("app", "shop");
    check("app", "");
    check("", "shop");
    check("", "");
    check("example.dev/a:b", "c:d");
    check("größe", "größer");
    check("1", "2:3");
}

#[test]
fn different_terms_differ() {
    assert_ne!(Term::label("a", "bc"), Term::label("ab", "c"));
    assert_ne!(Term::label("a", "b"), Term::field("a", "b"));
    assert_eq!(Term::label("a", "b"), Term::label("a", "b"));
}
