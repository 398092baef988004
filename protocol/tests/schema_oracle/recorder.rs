//! Keeps the fields that an encoder or a decoder is told about, as a tree.

use super::facts::{Kind, Shape};

/// A field that was named.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Empty for an array's element.
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// False for a tagged field that was not to be written.
    pub(crate) written: bool,
    /// The value, as far as it matters: an array is empty or not, a struct null or not.
    pub(crate) value: String,
    /// The fields of a struct, or of the struct that an array holds.
    pub(crate) fields: Vec<Seen>,
}

/// A field with parts, while they are being named.
#[derive(Debug)]
pub(crate) struct Open {
    seen: Seen,
    outer: Vec<Seen>,
}

/// The fields named so far, and what was said of the next one.
#[derive(Debug)]
pub(crate) struct Recorder {
    named: Vec<Seen>,
    tag: Option<(u32, bool)>,
    null_allowed: bool,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self { named: Vec::new(), tag: None, null_allowed: true }
    }

    pub(crate) fn allow_null(&mut self, allowed: bool) {
        self.null_allowed = allowed;
    }

    /// Says that the next field has a tag, and whether it was to be written.
    pub(crate) fn next_is_tagged(&mut self, tag: u32, written: bool) {
        self.tag = Some((tag, written));
    }

    fn seen(&mut self, name: &'static str, kind: Kind, nullable: bool, value: String) -> Seen {
        let nullable = nullable && std::mem::replace(&mut self.null_allowed, true);
        let (tag, written) = self.tag.take().unzip();
        let shape = Shape { kind, nullable, classic: false, tag };
        Seen { name, shape, written: written.unwrap_or(true), value, fields: Vec::new() }
    }

    /// Keeps a field without parts.
    pub(crate) fn plain(&mut self, name: &'static str, kind: &'static str, nullable: bool, value: String) -> &mut Seen {
        let seen = self.seen(name, Kind::Plain(kind), nullable, value);
        self.named.push(seen);
        self.named.last_mut().expect("a field was kept just now")
    }

    /// Begins a struct or an array; what is named until [`Recorder::end`] are its fields or elements.
    pub(crate) fn begin(&mut self, name: &'static str, kind: Kind, nullable: bool, value: &str) -> Open {
        let seen = self.seen(name, kind, nullable, value.to_owned());
        Open { seen, outer: std::mem::take(&mut self.named) }
    }

    pub(crate) fn end(&mut self, Open { mut seen, outer }: Open) {
        let inner = std::mem::replace(&mut self.named, outer);
        match &mut seen.shape.kind {
            Kind::Array(element) => {
                if let Some(first) = inner.into_iter().next() {
                    *element = Some(Box::new(first.shape.kind));
                    seen.fields = first.fields;
                }
            }
            _ => seen.fields = inner,
        }
        self.named.push(seen);
    }

    /// The fields of the struct that was recorded as a whole.
    pub(crate) fn into_fields(mut self) -> Vec<Seen> {
        self.named.pop().map(|seen| seen.fields).unwrap_or_default()
    }
}
