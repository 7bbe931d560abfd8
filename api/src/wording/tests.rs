use super::*;

#[test]
fn one_is_told_otherwise_than_none_and_many() {
    assert_eq!([0, 1, 2].map(|count| counted(count, "project")), ["0 projects", "1 project", "2 projects"]);
}

#[test]
fn who_is_not_named_is_counted() {
    assert_eq!(some_of(["a"].iter()), "a");
    assert_eq!(some_of(0..MAX_NAMED), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9");
    assert_eq!(some_of(0..MAX_NAMED + 2), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more");
}

#[test]
fn a_word_stays_one_word_in_a_shell() {
    for plain in ["alice", "system:serviceaccount:a:b", "alice@example.com"] {
        assert_eq!(shell_word(plain), plain);
    }
    for (text, word) in
        [("", "''"), ("a b", "'a b'"), ("x; ls $(id)", "'x; ls $(id)'"), ("it's", r"'it'\''s'"), ("a\nb", "'a\nb'")]
    {
        assert_eq!(shell_word(text), word);
    }
}
