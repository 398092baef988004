//! docs/protocol.md lists what the codec has. `ACKFLOW_WRITE_DOCS=1 cargo test -p ackflow-protocol --test protocol_table`
//! brings it up to date.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use ackflow_protocol::for_each_api;
use ackflow_protocol::wire::{ApiKey, Request};

const BEGIN: &str = "<!-- generated: what follows is written by protocol/tests/protocol_table.rs -->\n";
const END: &str = "<!-- generated: end -->\n";
/// The API of a draft, which no Kafka has.
const DRAFT: &str = "TxnShareAcknowledge";

struct Api {
    key: i16,
    name: &'static str,
    versions: RangeInclusive<i16>,
    newest_stable: i16,
    flexible_from: i16,
}

fn apis() -> Vec<Api> {
    fn api<R: Request>(name: &'static str) -> Api {
        Api {
            key: R::KEY.0,
            name,
            versions: R::VERSIONS,
            newest_stable: R::NEWEST_STABLE,
            flexible_from: R::FLEXIBLE_FROM,
        }
    }
    macro_rules! list {
        ($($name:ident($request:ty, $response:ty)),* $(,)?) => { vec![$(api::<$request>(stringify!($name))),*] };
    }
    let mut apis = for_each_api!(list);
    apis.retain(|api| api.name != DRAFT);
    apis.sort_by_key(|api| api.key);
    apis
}

fn range(first: i16, last: i16) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

/// `share_fetch` for `ShareFetch`.
fn module(name: &str) -> String {
    let mut module = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !module.is_empty() {
            module.push('_');
        }
        module.push(c.to_ascii_lowercase());
    }
    module
}

fn row(api: &Api) -> String {
    let (first, last) = api.versions.clone().into_inner();
    let flexible = match api.flexible_from {
        i16::MAX => "never".to_owned(),
        from => from.max(first).to_string(),
    };
    let (versions, negotiated, module) = (range(first, last), range(first, api.newest_stable), module(api.name));
    let link = format!("[`{module}`](../protocol/src/messages/{module}.rs)");
    format!("| {} | {} | {versions} | {negotiated} | {flexible} | {link} |\n", api.key, api.name)
}

fn table() -> String {
    let apis = apis();
    let rows: String = apis.iter().map(row).collect();
    let left_out = |key: &i16| !apis.iter().any(|api| api.key == *key);
    let names = (0..1000).filter(left_out).filter_map(|key| ApiKey(key).name().map(|name| format!("{name} ({key})")));
    let names: Vec<String> = names.filter(|name| !name.starts_with(DRAFT)).collect();
    let head = "| key | API | versions | negotiated | flexible from | module |\n|---|---|---|---|---|---|\n";
    let count = format!("{} of Kafka's APIs are here, {} are not", apis.len(), names.len());
    format!("{head}{rows}\n{count}:\n{}.\n", names.join(",\n"))
}

#[test]
fn docs_list_what_the_codec_has() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/protocol.md");
    let text = fs::read_to_string(&path).expect("docs/protocol.md can be read");
    let (before, rest) = text.split_once(BEGIN).expect("docs/protocol.md says where the table begins");
    let (listed, after) = rest.split_once(END).expect("docs/protocol.md says where the table ends");
    let table = table();
    if std::env::var_os("ACKFLOW_WRITE_DOCS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).expect("docs/protocol.md can be written");
    } else {
        assert!(
            listed == table,
            "docs/protocol.md is stale; to write it: ACKFLOW_WRITE_DOCS=1 cargo test -p ackflow-protocol --test protocol_table"
        );
    }
}

#[test]
fn every_listed_module_is_a_file() {
    for api in apis() {
        let file = format!("{}/src/messages/{}.rs", env!("CARGO_MANIFEST_DIR"), module(api.name));
        assert!(Path::new(&file).is_file(), "{file}");
    }
}
