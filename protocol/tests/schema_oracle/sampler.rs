//! A decoder that reads nothing: it makes up a value for each field that it is asked for, and lists them.

use ackflow_protocol::wire::{Decode, DecodeError, Decoder, Element, Uuid};
use bytes::Bytes;

use super::facts::Kind;
use super::recorder::{Recorder, Seen};

/// What to make up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// The value of every boolean. All else gets a value that is no schema's default; a boolean has only two.
    pub(crate) bools: bool,
    /// Whether tagged fields are there.
    pub(crate) tags: bool,
    /// How deep in the nesting of structs they are no longer made up but left at their `Default`; the message itself
    /// is at 0.
    pub(crate) default_at: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Sampler {
    version: i16,
    sample: Sample,
    depth: usize,
    recorder: Recorder,
}

const NUMBER: i8 = 85;

impl Sampler {
    /// A value of `version`, and the fields that were asked for.
    pub(crate) fn sample<T: Decode>(version: i16, sample: Sample) -> (T, Vec<Seen>) {
        let mut sampler = Self { version, sample, depth: 0, recorder: Recorder::new() };
        let value = sampler.structure("").expect("nothing is read, so nothing can be wrong");
        (value, sampler.recorder.into_fields())
    }

    fn plain<T>(&mut self, name: &'static str, kind: &'static str, nullable: bool, value: T) -> Result<T, DecodeError> {
        self.recorder.plain(name, kind, nullable, String::new());
        Ok(value)
    }

    fn elements<T: Element>(&mut self, name: &'static str, nullable: bool) -> Result<Vec<T>, DecodeError> {
        let open = self.recorder.begin(name, Kind::Array(None), nullable, "");
        let element = T::take(self);
        self.recorder.end(open);
        Ok(vec![element?])
    }

    fn fields<T: Decode>(&mut self, name: &'static str, nullable: bool) -> Result<T, DecodeError> {
        let open = self.recorder.begin(name, Kind::Struct, nullable, "");
        let value = if self.sample.default_at == Some(self.depth) {
            Ok(T::default())
        } else {
            self.depth += 1;
            let value = T::decode(self);
            self.depth -= 1;
            value
        };
        self.recorder.end(open);
        value
    }
}

macro_rules! numbers {
    ($($method:ident($type:ty) $kind:literal;)*) => {$(
        fn $method(&mut self, name: &'static str) -> Result<$type, DecodeError> {
            self.plain(name, $kind, false, NUMBER as $type)
        }
    )*};
}

impl Decoder for Sampler {
    fn version(&self) -> i16 {
        self.version
    }

    fn allow_null(&mut self, allowed: bool) {
        self.recorder.allow_null(allowed);
    }

    numbers! {
        i8(i8) "int8";
        i16(i16) "int16";
        u16(u16) "uint16";
        i32(i32) "int32";
        u32(u32) "uint32";
        i64(i64) "int64";
        f64(f64) "float64";
    }

    fn bool(&mut self, name: &'static str) -> Result<bool, DecodeError> {
        self.plain(name, "bool", false, self.sample.bools)
    }

    fn uuid(&mut self, name: &'static str) -> Result<Uuid, DecodeError> {
        self.plain(name, "uuid", false, Uuid([NUMBER as u8; 16]))
    }

    fn string(&mut self, name: &'static str) -> Result<String, DecodeError> {
        self.plain(name, "string", false, "sample".to_owned())
    }

    fn nullable_string(&mut self, name: &'static str) -> Result<Option<String>, DecodeError> {
        self.plain(name, "string", true, Some("sample".to_owned()))
    }

    fn classic_nullable_string(&mut self, name: &'static str) -> Result<Option<String>, DecodeError> {
        self.recorder.plain(name, "string", true, String::new()).shape.classic = true;
        Ok(Some("sample".to_owned()))
    }

    fn bytes(&mut self, name: &'static str) -> Result<Bytes, DecodeError> {
        self.plain(name, "bytes", false, Bytes::from_static(b"sample"))
    }

    fn nullable_bytes(&mut self, name: &'static str) -> Result<Option<Bytes>, DecodeError> {
        self.plain(name, "bytes", true, Some(Bytes::from_static(b"sample")))
    }

    fn records(&mut self, name: &'static str) -> Result<Option<Bytes>, DecodeError> {
        self.plain(name, "records", true, Some(Bytes::from_static(b"sample")))
    }

    fn array<T: Element>(&mut self, name: &'static str) -> Result<Vec<T>, DecodeError> {
        self.elements(name, false)
    }

    fn nullable_array<T: Element>(&mut self, name: &'static str) -> Result<Option<Vec<T>>, DecodeError> {
        self.elements(name, true).map(Some)
    }

    fn structure<T: Decode>(&mut self, name: &'static str) -> Result<T, DecodeError> {
        self.fields(name, false)
    }

    fn nullable_structure<T: Decode>(&mut self, name: &'static str) -> Result<Option<T>, DecodeError> {
        self.fields(name, true).map(Some)
    }

    fn tags(
        &mut self,
        known: &[(u32, &'static str)],
        mut field: impl FnMut(&mut Self, u32) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if self.sample.tags {
            for (tag, _) in known {
                self.recorder.next_is_tagged(*tag, true);
                field(self, *tag)?;
            }
        }
        Ok(())
    }
}
