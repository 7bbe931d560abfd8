//! Texts of others, which can be of any length, where there is room for so much.

/// What stands for what was left out.
const MORE: &str = "…";

/// A text in so many bytes at most. One that has more ends with a mark, and in no character's middle.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most.saturating_sub(MORE.len()));
    format!("{}{MORE}", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_where_there_is_no_more_room() {
        for (text, expected) in [("", ""), ("twelve bytes", "twelve bytes"), ("thirteen bytes", "thirteen …")] {
            assert_eq!(shortened(text, 12), expected);
        }
        // Each of them has three bytes.
        assert_eq!(shortened("你好你好你", 12), "你好你…");
        assert_eq!(shortened("a你好你好", 12), "a你好…");
    }
}
