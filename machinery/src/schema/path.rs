//! Where a walk is. A path is a chain of steps on the stack; text is made of it only when there is something to say.

use crate::FieldPath;

/// A place in a value.
#[derive(Clone, Copy)]
pub(super) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Field(&'p str),
    Key(&'p str),
    Index(usize),
}

// === impl Path ===

impl<'p> Path<'p> {
    pub(super) const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    pub(super) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// A field that has a schema of its own.
    pub(super) fn field<'c>(&'c self, name: &'c str) -> Path<'c>
    where
        'p: 'c,
    {
        Path { parent: Some(self), step: Step::Field(name) }
    }

    /// One of the additional fields.
    pub(super) fn key<'c>(&'c self, name: &'c str) -> Path<'c>
    where
        'p: 'c,
    {
        Path { parent: Some(self), step: Step::Key(name) }
    }

    /// An item of a list.
    pub(super) fn index<'c>(&'c self, index: usize) -> Path<'c>
    where
        'p: 'c,
    {
        Path { parent: Some(self), step: Step::Index(index) }
    }

    /// As the validator of upstream writes it: a key is written as a field is, but with a dot at the root.
    pub(super) fn dotted(&self) -> String {
        let mut text = self.parent.map_or_else(String::new, Path::dotted);
        match self.step {
            Step::Root => {}
            Step::Field(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            Step::Key(name) => {
                text.push('.');
                text.push_str(name);
            }
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
        text
    }

    /// As unknown fields are reported: a key is written as a field is.
    pub(super) fn plain(&self) -> String {
        let dotted = self.dotted();
        dotted.strip_prefix('.').map(str::to_owned).unwrap_or(dotted)
    }

    /// As errors of other kinds have it: a key stands in brackets.
    pub(super) fn below(&self, prefix: &FieldPath) -> FieldPath {
        let parent = self.parent.map_or_else(|| prefix.clone(), |parent| parent.below(prefix));
        match self.step {
            Step::Root => parent,
            Step::Field(name) => parent.child(name),
            Step::Key(name) => parent.key(name),
            Step::Index(index) => parent.index(index),
        }
    }
}
