//! Mistakes planted into a message of our own, each of which has to be named.

use std::ops::RangeInclusive;

use ackflow_protocol::wire::{ApiKey, Decode, DecodeError, Decoder, Encode, Encoder, Message};

use super::compare::differences;
use super::facts::Listing;
use super::{of_message, schema};

/// What [`Planted`] has to be.
const SCHEMA: &str = r#"
// With comments, as Kafka's schemas have them.
{
  "apiKey": 7, "type": "response", "name": "PlantedResponse",
  "validVersions": "0-3", "flexibleVersions": "2+",
  "fields": [
    { "name": "Id", "type": "int32", "versions": "0+" }, // http://example.org is no comment in a string
    { "name": "Name", "type": "string", "versions": "0+", "nullableVersions": "1+", "about": "a // b" },
    { "name": "Epoch", "type": "int32", "versions": "2+", "default": "-1", "ignorable": true },
    { "name": "Flag", "type": "bool", "versions": "1+", "default": "true" },
    { "name": "Items", "type": "[]Item", "versions": "0+", "fields": [
      { "name": "Key", "type": "int64", "versions": "0+" },
      { "name": "Count", "type": "int16", "versions": "1-2", "default": "0x10", "ignorable": true }
    ]},
    { "name": "Rack", "type": "string", "versions": "3+", "taggedVersions": "3+", "tag": 0,
      "nullableVersions": "3+", "default": "null" }
  ]
}
"#;

/// The mistakes, and what the oracle has to say of each.
const MISTAKES: [(u8, &str); 20] = [
    (FIELD_DROPPED, "PlantedResponse.flag: is missing here, and Kafka has it in versions 1-3"),
    (FIELD_ADDED, "PlantedResponse.extra: is here in versions 0-3, and Kafka has no such field"),
    (SINCE_OFF_BY_ONE, "PlantedResponse.epoch: the set of versions is 3 here and 2-3 in Kafka"),
    (UNTIL_OFF_BY_ONE, "PlantedResponse.items.count: the set of versions is 1 here and 1-2 in Kafka"),
    (
        WRONG_DEFAULT_READ,
        "PlantedResponse.epoch: the default is 0 here, read from a version without it, and -1 in Kafka",
    ),
    (WRONG_DEFAULT_MADE, "PlantedResponse.items.count: the default is 0 here, by Default, and 16 in Kafka"),
    (WRONG_DEFAULT_TAG, "PlantedResponse.rack: the default is \"\" here, where its tag is missing, and null in Kafka"),
    (NULLABLE_LOST, "PlantedResponse.name: the set of versions in which it may be null is none here and 1-3 in Kafka"),
    (
        NULLABLE_OFF_BY_ONE,
        "PlantedResponse.name: the set of versions in which it may be null is 2-3 here and 1-3 in Kafka",
    ),
    (WRONG_TYPE, "PlantedResponse.id: the type is int64 here and int32 in Kafka, in version 0"),
    (WRONG_ELEMENT, "PlantedResponse.items: the type is []string here and []struct in Kafka, in version 0"),
    (WRONG_NAME, "PlantedResponse.ident: is here in versions 0-3, and Kafka has no such field"),
    (SWAPPED, "PlantedResponse.name: stands here where Kafka has `id`, in version 0"),
    (WRONG_TAG, "PlantedResponse.rack: the tag is 1 here and 0 in Kafka, in version 3"),
    (
        DROPPED_SILENTLY,
        "PlantedResponse.flag: what becomes of its value in a version without it is dropped here and refused in Kafka",
    ),
    (
        REFUSED,
        "PlantedResponse.epoch: what becomes of its value in a version without it is refused here and dropped in Kafka",
    ),
    (DEFAULT_REFUSED, "PlantedResponse.flag: a version without it refuses its default"),
    (TAG_NEVER_WRITTEN, "PlantedResponse.rack: version 3 does not write its value"),
    (READ_OTHERWISE, "PlantedResponse.id: `id` (int32) is read where `name` (string) is written in version 0"),
    (TAG_READ_TOO_EARLY, "PlantedResponse.rack: `rack` (string) is read where nothing is written in version 2"),
];

const NONE: u8 = 0;
const FIELD_DROPPED: u8 = 1;
const FIELD_ADDED: u8 = 2;
const SINCE_OFF_BY_ONE: u8 = 3;
const UNTIL_OFF_BY_ONE: u8 = 4;
const WRONG_DEFAULT_READ: u8 = 5;
const WRONG_DEFAULT_MADE: u8 = 6;
const WRONG_DEFAULT_TAG: u8 = 7;
const NULLABLE_LOST: u8 = 8;
const NULLABLE_OFF_BY_ONE: u8 = 9;
const WRONG_TYPE: u8 = 10;
const WRONG_ELEMENT: u8 = 11;
const WRONG_NAME: u8 = 12;
const SWAPPED: u8 = 13;
const WRONG_TAG: u8 = 14;
const DROPPED_SILENTLY: u8 = 15;
const REFUSED: u8 = 16;
const DEFAULT_REFUSED: u8 = 17;
const TAG_NEVER_WRITTEN: u8 = 18;
const READ_OTHERWISE: u8 = 19;
const TAG_READ_TOO_EARLY: u8 = 20;

/// A message with the mistake `M`.
#[derive(Debug, Clone, PartialEq)]
struct Planted<const M: u8> {
    id: i32,
    name: Option<String>,
    epoch: i32,
    flag: bool,
    items: Vec<Item<M>>,
    rack: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct Item<const M: u8> {
    key: i64,
    count: i16,
}

impl<const M: u8> Default for Planted<M> {
    fn default() -> Self {
        Self { id: 0, name: Some(String::new()), epoch: -1, flag: true, items: Vec::new(), rack: None }
    }
}

impl<const M: u8> Default for Item<M> {
    fn default() -> Self {
        Self { key: 0, count: if M == WRONG_DEFAULT_MADE { 0 } else { 16 } }
    }
}

impl<const M: u8> Planted<M> {
    const EPOCH_SINCE: i16 = if M == SINCE_OFF_BY_ONE { 3 } else { 2 };
    const NULL_SINCE: i16 = if M == NULLABLE_OFF_BY_ONE { 2 } else { 1 };
    const ID: &'static str = if M == WRONG_NAME { "ident" } else { "id" };
    const RACK: (u32, &'static str) = (if M == WRONG_TAG { 1 } else { 0 }, "rack");

    fn encode_id<W: Encoder>(&self, w: &mut W) {
        match M {
            WRONG_TYPE => w.i64(Self::ID, self.id.into()),
            _ => w.i32(Self::ID, self.id),
        }
    }

    fn encode_name<W: Encoder>(&self, w: &mut W) {
        match M {
            NULLABLE_LOST => w.string("name", self.name.as_deref().unwrap_or_default()),
            _ => w.nullable_since(Self::NULL_SINCE).nullable_string("name", self.name.as_deref()),
        }
    }

    fn decode_id<R: Decoder>(r: &mut R) -> Result<i32, DecodeError> {
        match M {
            WRONG_TYPE => r.i64(Self::ID).map(|id| id as i32),
            _ => r.i32(Self::ID),
        }
    }

    fn decode_name<R: Decoder>(r: &mut R) -> Result<Option<String>, DecodeError> {
        match M {
            NULLABLE_LOST => r.string("name").map(Some),
            _ => r.nullable_since(Self::NULL_SINCE).nullable_string("name"),
        }
    }
}

impl<const M: u8> Encode for Planted<M> {
    fn encode<W: Encoder>(&self, w: &mut W) {
        if M == SWAPPED || M == READ_OTHERWISE {
            self.encode_name(w);
            self.encode_id(w);
        } else {
            self.encode_id(w);
            self.encode_name(w);
        }
        match M {
            REFUSED => w.required_since(2, "epoch", self.epoch == -1, |w| w.i32("epoch", self.epoch)),
            _ => w.since(Self::EPOCH_SINCE, |w| w.i32("epoch", self.epoch)),
        }
        match M {
            FIELD_DROPPED => {}
            DROPPED_SILENTLY => w.since(1, |w| w.bool("flag", self.flag)),
            DEFAULT_REFUSED => w.required_since(1, "flag", !self.flag, |w| w.bool("flag", self.flag)),
            _ => w.required_since(1, "flag", self.flag, |w| w.bool("flag", self.flag)),
        }
        if M == WRONG_ELEMENT {
            w.array("items", &[String::new()]);
        } else {
            w.array("items", &self.items);
        }
        if M == FIELD_ADDED {
            w.i8("extra", 0);
        }
        let present = M != TAG_NEVER_WRITTEN && self.rack.as_deref().is_some_and(|rack| !rack.is_empty());
        w.tags(|w| {
            w.required_since(3, "rack", !present, |w| {
                w.tag(Self::RACK.0, present, |w| w.nullable_string("rack", self.rack.as_deref()));
            });
        });
    }
}

impl<const M: u8> Decode for Planted<M> {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        let (id, name) = if M == SWAPPED {
            let name = Self::decode_name(r)?;
            (Self::decode_id(r)?, name)
        } else {
            (Self::decode_id(r)?, Self::decode_name(r)?)
        };
        let absent_epoch = if M == WRONG_DEFAULT_READ { 0 } else { -1 };
        let epoch = r.since(Self::EPOCH_SINCE, absent_epoch, |r| r.i32("epoch"))?;
        let flag = M == FIELD_DROPPED || r.since(1, true, |r| r.bool("flag"))?;
        let mut items = Vec::new();
        if M == WRONG_ELEMENT {
            r.array::<String>("items")?;
        } else {
            items = r.array("items")?;
        }
        if M == FIELD_ADDED {
            r.i8("extra")?;
        }
        let mut rack = (M == WRONG_DEFAULT_TAG).then(String::new);
        r.since(if M == TAG_READ_TOO_EARLY { 2 } else { 3 }, (), |r| {
            r.tags(&[Self::RACK], |r, _| {
                rack = r.nullable_string("rack")?;
                Ok(())
            })
        })?;
        Ok(Self { id, name, epoch, flag, items, rack })
    }
}

impl<const M: u8> Item<M> {
    const COUNT_UNTIL: i16 = if M == UNTIL_OFF_BY_ONE { 1 } else { 2 };
}

impl<const M: u8> Encode for Item<M> {
    fn encode<W: Encoder>(&self, w: &mut W) {
        w.i64("key", self.key);
        w.since(1, |w| w.until(Self::COUNT_UNTIL, |w| w.i16("count", self.count)));
    }
}

impl<const M: u8> Decode for Item<M> {
    fn decode<R: Decoder>(r: &mut R) -> Result<Self, DecodeError> {
        Ok(Self { key: r.i64("key")?, count: r.since(1, 16, |r| r.until(Self::COUNT_UNTIL, 16, |r| r.i16("count")))? })
    }
}

impl<const M: u8> Message for Planted<M> {
    const NAME: &'static str = "PlantedResponse";
    const KEY: ApiKey = ApiKey(7);
    const VERSIONS: RangeInclusive<i16> = 0..=3;
    const FLEXIBLE_FROM: i16 = 2;
}

fn found(ours: &Listing) -> Vec<String> {
    let kafkas = schema::listing(&schema::parse(SCHEMA));
    differences(ours, &kafkas).iter().map(ToString::to_string).collect()
}

#[test]
fn message_without_a_mistake_has_no_difference() {
    assert_eq!(found(&of_message::<Planted<NONE>>()), Vec::<String>::new());
}

#[test]
fn each_planted_mistake_is_named() {
    let mut listings = Vec::new();
    macro_rules! plant {
        ($($mistake:literal)*) => { $(listings.push(($mistake, of_message::<Planted<$mistake>>()));)* };
    }
    plant!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20);
    for ((mistake, expected), (planted, ours)) in MISTAKES.iter().zip(&listings) {
        assert_eq!(mistake, planted);
        let found = found(ours);
        assert!(found.iter().any(|difference| difference == expected), "mistake {mistake}: {expected}\n{found:#?}");
    }
    assert_eq!(MISTAKES.len(), listings.len());
}

#[test]
fn mistakes_in_the_constants_are_named() {
    let right = of_message::<Planted<NONE>>();
    let with = |change: fn(&mut Listing)| {
        let mut wrong = right.clone();
        change(&mut wrong);
        found(&wrong)
    };
    assert_eq!(with(|wrong| wrong.key = 8), ["PlantedResponse: the key is 8 here and 7 in Kafka"]);
    let versions = with(|wrong| {
        wrong.versions.0.remove(&3);
    });
    assert_eq!(versions, ["PlantedResponse: the set of versions is 0-2 here and 0-3 in Kafka"]);
    let flexible = with(|wrong| {
        wrong.flexible.0.insert(1);
    });
    assert_eq!(flexible, ["PlantedResponse: the set of flexible versions is 1-3 here and 2-3 in Kafka"]);
}
