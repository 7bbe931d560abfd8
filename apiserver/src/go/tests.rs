use super::*;

#[test]
fn quotes() {
    for (text, quoted) in [
        ("a b", r#""a b""#),
        ("\"\\\n\u{7}\u{0}\u{7f}", r#""\"\\\n\a\x00\x7f""#),
        ("é\u{301}日", "\"é\u{301}日\""),
        ("\u{200b}\u{a0}\u{e0001}", r#""\u200b\u00a0\U000e0001""#),
    ] {
        assert_eq!(quote(text), quoted);
    }
}

#[test]
fn false_in_any_case() {
    for text in ["false", "FALSE", "False", "fal\u{17f}e"] {
        assert!(is_false_folded(text), "{text}");
    }
    for text in ["", "0", "f", "falsee", "f\u{e4}lse"] {
        assert!(!is_false_folded(text), "{text}");
    }
}
