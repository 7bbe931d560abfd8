use proptest::prelude::*;
use serde_json::json;

use super::*;

fn path(text: &str) -> ObjectPath {
    text.parse().unwrap()
}

/// D-SMITH-10: dotted, with brackets, with quoted keys, and as Smith's last documents have it.
#[test]
fn all_spellings_find_the_same() {
    let object = json!({"status": {"state": "Ready", "list": [{"a.b/c": 7}]}, "metadata": {"labels": {"x.y/z": "l"}}});
    for text in
        ["status.state", ".status.state", "{.status.state}", "{$.status.state}", "$.status.state", "status['state']"]
    {
        assert_eq!(path(text).find(&object), Some(&json!("Ready")), "{text}");
    }
    for text in ["status.list[0]['a.b/c']", "status.list[0][\"a.b/c\"]", "{$.status.list[0]['a\\.b/c']}"] {
        assert_eq!(path(text).find(&object), Some(&json!(7)), "{text}");
    }
    assert_eq!(path("metadata.labels['x.y/z']").find(&object), Some(&json!("l")));
    for text in ["status.State", "status.state.x", "status.list[1]", "status.list.x", "status[0]", "status.list['0']"] {
        assert_eq!(path(text).find(&object), None, "{text}");
    }
}

/// B-06: no wildcards, filters, recursion, negative or huge indexes, or depth without end.
#[test]
fn nothing_but_plain_paths() {
    let refused = |text: &str| text.parse::<ObjectPath>().unwrap_err();
    assert_eq!(refused(""), PathError::Empty);
    assert_eq!(refused("{$}"), PathError::Empty);
    assert_eq!(refused("a..b"), PathError::EmptySegment);
    assert_eq!(refused("$..a"), PathError::EmptySegment);
    assert_eq!(refused("a."), PathError::EmptySegment);
    assert_eq!(refused("a.*"), PathError::Unexpected('*'));
    assert_eq!(refused("a[*]"), PathError::Index);
    assert_eq!(refused("a[-1]"), PathError::Index);
    assert_eq!(refused("a[99999999]"), PathError::Index);
    assert_eq!(refused("a[?(@.x)]"), PathError::Index);
    assert_eq!(refused("a[1:2]"), PathError::Unexpected(':'));
    assert_eq!(refused("a[0"), PathError::Unterminated);
    assert_eq!(refused("a['b"), PathError::Unterminated);
    assert_eq!(refused("a['b'"), PathError::Unterminated);
    assert_eq!(refused("a b"), PathError::Unexpected(' '));
    assert_eq!(refused(&"a.".repeat(200)), PathError::TooDeep);
    assert!(vec!["a"; MAX_SEGMENTS].join(".").parse::<ObjectPath>().is_ok());
    assert_eq!(refused(&vec!["a"; MAX_SEGMENTS + 1].join(".")), PathError::TooDeep);
}

fn segments() -> impl Strategy<Value = Vec<Segment>> {
    let segment = prop_oneof![any::<String>().prop_map(Segment::Key), (0_usize..1_000).prop_map(Segment::Index)];
    proptest::collection::vec(segment, 1..8)
}

proptest! {
    #[test]
    fn what_is_printed_is_read_again(segments in segments()) {
        let path = ObjectPath(segments);
        prop_assert_eq!(path.to_string().parse::<ObjectPath>(), Ok(path));
    }

    #[test]
    fn no_text_does_harm(text in ".{0,80}") {
        let _ = text.parse::<ObjectPath>();
    }
}
