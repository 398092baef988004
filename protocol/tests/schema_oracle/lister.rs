//! An encoder that writes nothing and lists the fields it is given.

use std::collections::BTreeSet;

use ackflow_protocol::wire::{Element, Encode, EncodeError, Encoder, Uuid};
use bytes::Bytes;

use super::facts::{Kind, join};
use super::recorder::{Recorder, Seen};

#[derive(Debug)]
pub(crate) struct Lister {
    version: i16,
    recorder: Recorder,
    /// The path of the struct that is open.
    path: Vec<&'static str>,
    /// The fields whose values the version refuses, by path.
    refused: BTreeSet<String>,
}

impl Lister {
    /// The fields that `value` has in `version`, and those whose values that version refuses.
    pub(crate) fn list<T: Encode>(value: &T, version: i16) -> (Vec<Seen>, BTreeSet<String>) {
        let mut lister = Self { version, recorder: Recorder::new(), path: Vec::new(), refused: BTreeSet::new() };
        lister.structure("", value);
        (lister.recorder.into_fields(), lister.refused)
    }

    fn within(&mut self, name: &'static str, fields: impl FnOnce(&mut Self)) {
        self.path.push(name);
        fields(self);
        self.path.pop();
    }
}

macro_rules! plain {
    ($($method:ident($type:ty) $kind:literal;)*) => {$(
        fn $method(&mut self, name: &'static str, value: $type) {
            self.recorder.plain(name, $kind, false, format!("{value:?}"));
        }
    )*};
}

fn shown<T: std::fmt::Debug>(value: Option<T>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| format!("{value:?}"))
}

impl Encoder for Lister {
    fn version(&self) -> i16 {
        self.version
    }

    fn fail(&mut self, error: EncodeError) {
        let parent =
            self.path.iter().filter(|name| !name.is_empty()).fold(String::new(), |path, name| join(&path, name));
        self.refused.insert(join(&parent, error.field()));
    }

    fn allow_null(&mut self, allowed: bool) {
        self.recorder.allow_null(allowed);
    }

    plain! {
        bool(bool) "bool";
        i8(i8) "int8";
        i16(i16) "int16";
        u16(u16) "uint16";
        i32(i32) "int32";
        u32(u32) "uint32";
        i64(i64) "int64";
        f64(f64) "float64";
        uuid(Uuid) "uuid";
        string(&str) "string";
        bytes(&[u8]) "bytes";
    }

    fn nullable_string(&mut self, name: &'static str, value: Option<&str>) {
        self.recorder.plain(name, "string", true, shown(value));
    }

    fn classic_nullable_string(&mut self, name: &'static str, value: Option<&str>) {
        self.recorder.plain(name, "string", true, shown(value)).shape.classic = true;
    }

    fn nullable_bytes(&mut self, name: &'static str, value: Option<&[u8]>) {
        self.recorder.plain(name, "bytes", true, shown(value));
    }

    fn records(&mut self, name: &'static str, value: Option<&Bytes>) {
        self.recorder.plain(name, "records", true, shown(value.map(Bytes::as_ref)));
    }

    fn array<T: Element>(&mut self, name: &'static str, value: &[T]) {
        let open = self.recorder.begin(name, Kind::Array(None), false, if value.is_empty() { "[]" } else { "[..]" });
        self.within(name, |w| value.iter().for_each(|element| element.put(w)));
        self.recorder.end(open);
    }

    fn nullable_array<T: Element>(&mut self, name: &'static str, value: Option<&[T]>) {
        let shown = value.map_or("null", |value| if value.is_empty() { "[]" } else { "[..]" });
        let open = self.recorder.begin(name, Kind::Array(None), true, shown);
        self.within(name, |w| value.unwrap_or_default().iter().for_each(|element| element.put(w)));
        self.recorder.end(open);
    }

    fn structure<T: Encode>(&mut self, name: &'static str, value: &T) {
        let open = self.recorder.begin(name, Kind::Struct, false, "{}");
        self.within(name, |w| value.encode(w));
        self.recorder.end(open);
    }

    fn nullable_structure<T: Encode>(&mut self, name: &'static str, value: Option<&T>) {
        let open = self.recorder.begin(name, Kind::Struct, true, if value.is_some() { "{}" } else { "null" });
        self.within(name, |w| {
            if let Some(value) = value {
                value.encode(w);
            }
        });
        self.recorder.end(open);
    }

    fn tags(&mut self, fields: impl FnOnce(&mut Self)) {
        fields(self);
    }

    fn tag(&mut self, tag: u32, present: bool, field: impl FnOnce(&mut Self)) {
        self.recorder.next_is_tagged(tag, present);
        field(self);
    }
}
