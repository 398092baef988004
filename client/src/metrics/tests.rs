//! What sensors make of numbers. The clock is that of the numbers.

use std::time::{Duration, Instant};

use super::MetricsConfig;
use super::sensor::{Sensor, Stat};
use crate::config::ClientConfig;
use crate::metrics::{ConsumerMetrics, ProducerMetrics, ShareMetrics};

const WINDOW: Duration = Duration::from_secs(30);

fn sensor() -> Sensor {
    Sensor::new(&MetricsConfig { sample_window: WINDOW, num_samples: 2, push: true })
}

#[test]
fn rates_are_taken_over_all_windows_but_the_one_that_is_not_full() {
    let (sensor, start) = (sensor(), Instant::now());
    sensor.record_at(start, 60.0);
    sensor.record_at(start + WINDOW / 2, 30.0);
    let at = |after: Duration, stat| sensor.read(start + after, stat);
    assert_eq!(at(WINDOW / 2, Stat::Rate), 3.0, "90 in one window of 30 s, though half of it is to come");
    assert_eq!(at(WINDOW / 2, Stat::CountRate), 2.0 / 30.0);
    assert_eq!(at(WINDOW / 2, Stat::CountRatePerHour), 240.0);
    assert_eq!(at(WINDOW + WINDOW / 2, Stat::Rate), 2.0, "90 in the 45 s that the older window began ago");
    assert_eq!(at(WINDOW * 2, Stat::Rate), 0.0, "what is older than two windows is forgotten");
    assert_eq!((at(WINDOW * 9, Stat::Total), at(WINDOW * 9, Stat::Count)), (90.0, 2.0), "totals are for ever");
}

#[test]
fn old_windows_make_room_for_new_ones() {
    let (sensor, start) = (sensor(), Instant::now());
    for (windows, value) in [(0, 9.0), (1, 1.0), (2, 3.0)] {
        sensor.record_at(start + WINDOW * windows, value);
    }
    let now = start + WINDOW * 2;
    assert_eq!((sensor.read(now, Stat::Max), sensor.read(now, Stat::Avg)), (3.0, 2.0));
    assert_eq!(sensor.read(now + Duration::from_secs(4), Stat::SecondsAgo), 4.0);
}

#[test]
fn what_was_never_measured_is_no_number() {
    let (sensor, now) = (sensor(), Instant::now());
    assert!(sensor.read(now, Stat::Avg).is_nan());
    assert!(sensor.read(now, Stat::Max).is_nan());
    assert_eq!(sensor.read(now, Stat::SecondsAgo), -1.0);
    assert_eq!(sensor.read(now, Stat::Rate), 0.0);
}

#[test]
fn names_are_those_of_kafka_and_stand_once() {
    let mut config = ClientConfig::new("localhost:9092").unwrap();
    let consumer = ConsumerMetrics::watch(&mut config).metrics().clone();
    let share_consumer = ShareMetrics::watch(&mut config).metrics().clone();
    for metrics in [consumer, share_consumer, ProducerMetrics::watch(&mut config).metrics().clone()] {
        let mut names: Vec<_> = metrics.snapshot().iter().map(|metric| (metric.group, metric.name)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(names.iter().all(|(group, name)| {
            let is_kafkas = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            group.ends_with("-metrics") && is_kafkas(group) && is_kafkas(name)
        }));
    }
}
