//! Files of worker and connectors: what is accepted, and that each refusal names the key, its value and the remedy.

use std::fs;

use super::*;

const MINIMAL: &str = "name=c\nconnector.class=file\ntopics=t\n";

fn connector(more: &str) -> Result<ConnectorConfig, ConfigError> {
    ConnectorConfig::from_properties(&format!("{MINIMAL}{more}"), "c.properties")
}

fn worker(more: &str) -> Result<WorkerConfig, ConfigError> {
    WorkerConfig::from_properties(&format!("bootstrap.servers=a:1\n{more}"), "w.properties")
}

/// The only problem, as text, wherever it stands.
#[track_caller]
fn problem<T: std::fmt::Debug>(result: Result<T, ConfigError>) -> String {
    let problems = result.unwrap_err().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    ConfigProblem { line: None, ..problems[0].clone() }.to_string()
}

#[test]
fn a_minimal_connector_has_the_defaults_of_connect() {
    let config = connector("").unwrap();
    assert_eq!((config.name(), config.tasks_max, config.tolerance), ("c", 1, Tolerance::None));
    assert_eq!(config.share.group_id, "connect-c");
    assert_eq!(config.share.last_delivery, LastDelivery::Hold);
    assert_eq!(config.share.retry_timeout, None);
    assert_eq!(config.retry_delay_max.as_millis(), 60_000);
    let earliest = GroupSetting { name: "share.auto.offset.reset", value: "earliest".to_owned(), key: None };
    assert_eq!(config.share.group_settings, [earliest]);
    assert!(config.warnings().is_empty());
}

#[test]
fn a_minimal_worker_has_the_defaults_of_connect() {
    let config = worker("").unwrap();
    assert_eq!(config.flush_interval.as_millis(), 60_000);
    assert_eq!(config.graceful_timeout.as_millis(), 5_000);
    assert!(config.warnings().is_empty());
}

#[test]
fn every_problem_of_a_file_is_told_at_once() {
    let text = "name=\ntopics=,\ntasks.max=0\nerrors.tolerance=some\nshare.last.delivery=lose\nshare.grup.id=g";
    let error = ConnectorConfig::from_properties(text, "c.properties").unwrap_err();
    let keys: Vec<&str> = error.problems.iter().map(|problem| problem.key.as_str()).collect();
    for key in
        ["name", "connector.class", "topics", "tasks.max", "errors.tolerance", "share.last.delivery", "share.grup.id"]
    {
        assert!(keys.contains(&key), "{key} is not in {keys:?}");
    }
    assert!(error.problems.iter().all(|problem| !problem.problem.is_empty() && !problem.remedy.is_empty()));
    assert!(error.to_string().starts_with("c.properties: 7 problems\n"));
}

#[test]
fn what_is_not_there_yet_is_refused_and_not_ignored() {
    for (line, parts) in [
        ("share.acknowledgement.mode=implicit", ["implicit", "not there yet", "write explicit"]),
        ("share.last.delivery=dlq", ["dlq", "dead-letter producer is not there yet", "hold or archive"]),
        ("share.delivery.semantics=exactly-once", ["exactly-once", "KIP-1289", "write at-least-once"]),
        ("errors.deadletterqueue.topic.name=dlq", ["dlq", "dead-letter producer is not there yet", "remove it"]),
        ("transforms=a,b", ["a,b", "transformations are not there yet", "remove it"]),
        ("topics.regex=t.*", ["t.*", "patterns are not there yet", "list the topics"]),
        ("file=${env:OUT}", ["${env:OUT}", "config providers are not there yet", "write the value itself"]),
    ] {
        let problem = problem(connector(line));
        let key = line.split('=').next().unwrap();
        assert!(problem.starts_with(key), "{problem}");
        for part in parts {
            assert!(problem.contains(part), "{part:?} is not in {problem}");
        }
    }
}

#[test]
fn unknown_keys_of_ours_name_the_nearest_and_others_are_left_to_the_sink() {
    assert_eq!(problem(connector("task.max=2")), "task.max = 2: is no known key; did you mean tasks.max?");
    assert_eq!(
        problem(connector("share.max.delivery.limit=2")),
        "share.max.delivery.limit = 2: is no known key; did you mean share.max.delivery.count?"
    );
    assert_eq!(problem(connector("errors.foo=2")), "errors.foo = 2: is no known key; remove it");
    assert!(connector("file=/tmp/x\nconnection.url=http://x").is_ok());
    assert_eq!(
        problem(worker("ofset.flush.interval.ms=1")),
        "ofset.flush.interval.ms = 1: is no known key; did you mean offset.flush.interval.ms?"
    );
}

#[test]
fn values_of_the_wrong_type_or_range_are_refused() {
    assert_eq!(
        problem(connector("tasks.max=two")),
        "tasks.max = two: is no whole number of the right size; give a number from -2147483648 to 2147483647"
    );
    assert_eq!(problem(connector("tasks.max=0")), "tasks.max = 0: is too small; give a number of at least 1");
    assert_eq!(
        problem(connector("errors.log.enable=yes")),
        "errors.log.enable = yes: is neither true nor false; write true or false"
    );
    assert_eq!(
        problem(connector("errors.tolerance=some")),
        "errors.tolerance = some: is not known here; choose one of none, all"
    );
    assert!(problem(connector("share.auto.offset.reset=first")).contains("earliest or latest or by_duration"));
    assert!(connector("share.auto.offset.reset=by_duration:PT1H").is_ok());
    assert!(problem(worker("task.shutdown.graceful.timeout.ms=-1")).contains("at least 0"));
}

#[test]
fn a_missing_key_says_what_it_is_for() {
    let missing = problem(WorkerConfig::from_properties("", "w.properties"));
    assert!(missing.starts_with("bootstrap.servers: is required; set it: the brokers to ask first"), "{missing}");
}

#[test]
fn converters_go_by_their_java_names_and_check_their_keys() {
    for class in ["StringConverter", "org.apache.kafka.connect.storage.StringConverter", "string"] {
        let config = worker(&format!("value.converter={class}")).unwrap();
        assert_eq!(format!("{:?}", config.value_converter), "StringConverter", "{class}");
    }
    let json = "value.converter=org.apache.kafka.connect.json.JsonConverter\n";
    assert!(connector(&format!("{json}value.converter.schemas.enable=false")).is_ok());
    assert_eq!(
        problem(connector(&format!("{json}value.converter.schema.enable=false"))),
        "value.converter.schema.enable = false: is no known key; did you mean schemas.enable?"
    );
    let unknown = problem(connector("key.converter=io.confluent.connect.avro.AvroConverter"));
    assert!(
        unknown.contains("key.converter = io.confluent") && unknown.contains("choose ByteArrayConverter"),
        "{unknown}"
    );
    let alone = problem(connector("value.converter.schemas.enable=false"));
    assert!(
        alone.contains("value.converter is not set beside it") && alone.contains("set value.converter here"),
        "{alone}"
    );
    let encoding = problem(worker("key.converter=StringConverter\nkey.converter.converter.encoding=latin1"));
    assert!(
        encoding.starts_with("key.converter.converter.encoding = latin1") && encoding.contains("UTF-8"),
        "{encoding}"
    );
}

#[test]
fn worker_keys_that_are_not_served_get_one_warning() {
    let config = worker(
        "plugin.path=/x\noffset.storage.file.filename=/y\nrest.port=1\nlisteners=http://:8083\ngroup.id=connect\n\
         status.storage.topic=s\nproducer.acks=all\nheader.converter=x\nsecurity.protocol=PLAINTEXT",
    );
    let warnings = config.unwrap().warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for key in ["plugin.path", "offset.storage.file.filename", "rest.port", "listeners", "group.id", "producer.acks"] {
        assert!(warnings[0].contains(key), "{key} is not in {warnings:?}");
    }
    assert!(!warnings[0].contains("security.protocol"), "it is the admin client's");
}

#[test]
fn share_keys_of_a_worker_are_refused_and_not_ignored() {
    assert_eq!(
        problem(worker("share.max.delivery.count=3")),
        "share.max.delivery.count = 3: is not read from this file; move it to the configuration of each connector"
    );
    let misspelt = problem(worker("share.max.delivry.count=3"));
    assert!(misspelt.contains("did you mean share.max.delivery.count?"), "{misspelt}");
    assert!(problem(worker("shar.last.delivery=hold")).contains("did you mean share.last.delivery?"));
    assert!(problem(worker("ackflow.member=m")).starts_with("ackflow.member = m: is no known key"));
}

#[test]
fn wrong_client_settings_of_a_worker_are_its_own_problems() {
    let problem = problem(worker("consumer.max.pol.records=7"));
    assert!(problem.starts_with("consumer.*: ") && problem.contains("max.poll.records"), "{problem}");
    let protocol = worker("security.protocol=PLAIN").unwrap_err().to_string();
    assert!(protocol.contains("the worker's client: security.protocol=PLAIN"), "{protocol}");
}

// Mutation: sink-runtime/src/config/settings.rs
// - if let Some(mode) = self.0.get(ACKNOWLEDGEMENT_MODE) {
// + if let Some(mode) = self.0.get("none") {
#[test]
fn row_19_how_records_are_acknowledged_is_not_for_the_consumers_settings() {
    let problem = problem(worker("consumer.share.acknowledgement.mode=implicit"));
    assert!(problem.contains("share.acknowledgement.mode=implicit") && problem.contains("remove it"), "{problem}");
}

#[test]
fn the_group_protocol_is_decided_by_the_connector_over_the_worker() {
    let protocols = |worker_key: &str, connector_key: &str| {
        let problems = connector(connector_key).unwrap().check_with(&worker(worker_key).unwrap());
        problems.first().map(ToString::to_string)
    };
    let (share, consumer) = ("consumer.group.protocol=share", "consumer.group.protocol=consumer");
    let override_share = "consumer.override.group.protocol=SHARE";
    assert_eq!(protocols(share, ""), None);
    assert_eq!(protocols(consumer, override_share), None);
    let refused = protocols(share, "consumer.override.group.protocol=consumer").unwrap();
    assert!(
        refused.starts_with(
            "consumer.override.group.protocol = consumer: the consumer-group worker is not there yet; set"
        )
    );
    let refused = protocols("", "").unwrap();
    assert!(refused.starts_with("consumer.group.protocol: is not set, which means consumer"), "{refused}");
}

#[test]
fn what_a_share_group_has_elsewhere_is_taken_out_of_the_consumers_settings() {
    let config = connector(
        "consumer.override.auto.offset.reset=latest\nconsumer.override.isolation.level=read_committed\n\
         consumer.override.group.id=g\nconsumer.override.max.poll.records=7\nshare.max.delivery.count=9",
    )
    .unwrap();
    let settings: Vec<_> =
        config.share.group_settings.iter().map(|setting| (setting.name, setting.value.as_str())).collect();
    assert_eq!(
        settings,
        [
            ("share.auto.offset.reset", "latest"),
            ("share.isolation.level", "read_committed"),
            ("share.delivery.count.limit", "9")
        ]
    );
    assert_eq!(config.share.group_id, "g");
    assert_eq!(config.consumer.0.keys().collect::<Vec<_>>(), ["max.poll.records"]);
}

#[test]
fn the_override_policy_is_the_workers() {
    let overriding =
        connector("consumer.override.max.poll.records=7\nadmin.override.sasl.jaas.config=password").unwrap();
    let refused = |policy: &str| {
        let problems = overriding.check_with(&worker(&format!("consumer.group.protocol=share\n{policy}")).unwrap());
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(refused("").is_empty());
    let policy = |name: &str| format!("connector.client.config.override.policy={name}");
    assert_eq!(refused(&policy("None")).len(), 2);
    let principal = refused(&policy("Principal"));
    assert_eq!(principal.len(), 1);
    assert!(principal[0].starts_with("consumer.override.max.poll.records = 7: the worker does not let"));
    let allowed = format!("{}\nconnector.client.config.override.allowlist=max.poll.records", policy("Allowlist"));
    let refused = refused(&allowed);
    assert!(refused[0].contains("admin.override.sasl.jaas.config = [hidden]") && refused.len() == 1, "{refused:?}");
}

#[test]
fn json_is_flat_or_a_name_with_a_config() {
    let flat =
        r#"{"name":"c","connector.class":"file","topics":"t","tasks.max":2,"errors.log.enable":true,"file":null}"#;
    let config = ConnectorConfig::from_json(flat, "c.json").unwrap();
    assert_eq!((config.tasks_max, config.log_errors, config.sink.0.len()), (2, true, 0));
    let wrapped = r#"{"name":"c","config":{"connector.class":"file","topics":"t"}}"#;
    assert_eq!(ConnectorConfig::from_json(wrapped, "c.json").unwrap().name(), "c");
    for (text, part) in [
        (r#"{"name":"c","config":{"name":"d","connector.class":"file","topics":"t"}}"#, "name = c"),
        (r#"{"name":"c","initial_state":"PAUSED","config":{"connector.class":"file","topics":"t"}}"#, "initial_state"),
        (r#"{"name":"c","tasks.max":2,"config":{"connector.class":"file","topics":"t"}}"#, "tasks.max = 2"),
        (r#"{"name":"c","connector.class":"file","topics":["t"]}"#, "topics: is not a string"),
        ("[]", "JSON: cannot be read"),
    ] {
        let problem = problem(ConnectorConfig::from_json(text, "c.json"));
        assert!(problem.contains(part), "{part:?} is not in {problem}");
    }
}

#[test]
fn a_file_is_json_by_its_name_or_its_first_character() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let json = r#"{"name":"c","connector.class":"file","topics":"t"}"#;
    for path in [write("c.json", json), write("c.conf", json), write("c.properties", MINIMAL)] {
        assert_eq!(ConnectorConfig::from_file(&path).unwrap().name(), "c", "{path:?}");
    }
    let missing = directory.path().join("missing.json");
    let error = ConnectorConfig::from_file(&missing).unwrap_err().to_string();
    assert!(error.contains("missing.json") && error.contains("cannot be read"), "{error}");
}

#[test]
fn secrets_are_in_no_debug_output() {
    let config = connector(
        "consumer.override.sasl.jaas.config=hunter2\nadmin.override.ssl.key.password=hunter2\nurl.token=hunter2",
    );
    assert!(!format!("{config:?}").contains("hunter2"));
    let config =
        worker("sasl.jaas.config=hunter2\nconsumer.ssl.keystore.password=hunter2\nadmin.sasl.jaas.config=hunter2");
    assert!(!format!("{config:?}").contains("hunter2"));
}

#[test]
fn a_bad_line_is_named() {
    assert_eq!(
        problem(worker("x=\\u12")),
        "line 2: \\u12 is no character; write \\u and four hexadecimal digits; correct the line"
    );
}

#[test]
fn what_is_wrong_with_a_key_names_its_line() {
    let error = ConnectorConfig::from_properties("name=x\nconnector.class=file\n\n tasks.max = many", "c.properties");
    let error = error.unwrap_err().to_string();
    assert!(error.contains("line 4: tasks.max = many") && error.contains("\n  topics: "), "{error}");
    let error = WorkerConfig::from_properties("bootstrap.servers=a:1\noffset.flush.interval.ms=0", "w.properties");
    assert!(error.unwrap_err().to_string().contains("w.properties: line 2: offset.flush.interval.ms = 0"));
}

#[test]
fn topics_are_taken_once_each() {
    let config = ConnectorConfig::from_properties("name=c\nconnector.class=x\ntopics= b, a ,,b", "c");
    assert_eq!(config.unwrap().topics, ["a", "b"]);
}

#[test]
fn a_definition_reads_every_type_and_refuses_what_it_does_not_know() {
    let definition = ConfigDef::new([
        ConfigKey::required("url", ConfigType::String, "where to write").accepting(Validator::NonEmpty),
        ConfigKey::optional("password", ConfigType::Password, "the password"),
        ConfigKey::with_default("batch.size", ConfigType::Int, "10", "how many").accepting(Validator::AtLeast(1)),
        ConfigKey::with_default("tables", ConfigType::List, "a, b", "which"),
        ConfigKey::with_default("wait.ms", ConfigType::Long, "-1", "how long"),
        ConfigKey::with_default("strict", ConfigType::Boolean, "true", "whether"),
    ]);
    let entries = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let values = definition.parse(entries(&[("url", " http://x "), ("password", "hunter2")])).unwrap();
    assert_eq!((values.string("url"), values.string("password")), (Some("http://x"), Some("hunter2")));
    assert_eq!(
        (values.number("batch.size"), values.millis("wait.ms"), values.boolean("strict")),
        (Some(10), None, true)
    );
    assert_eq!(values.list("tables"), ["a", "b"]);
    assert!(!format!("{values:?}").contains("hunter2"));
    let problems = definition.parse(entries(&[("url", ""), ("batch.size", "0"), ("tabels", "c")])).unwrap_err();
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "url = : is empty; give it a value",
            "batch.size = 0: is too small; give a number of at least 1",
            "tabels = c: is no known key; did you mean tables?",
        ]
    );
    let values = definition.open().parse(entries(&[("url", "x"), ("more", "1")])).unwrap();
    assert_eq!(values.others().len(), 1);
}
