//! The metrics that Kafka makes of one kind of number, which always have the same endings.

/// How many there were: `NAME-rate` and `NAME-total`.
macro_rules! counted {
    ($name:literal, $what:literal) => {
        [
            (concat!($name, "-rate"), concat!($what, " a second."), $crate::metrics::sensor::Stat::CountRate),
            (concat!($name, "-total"), concat!($what, "."), $crate::metrics::sensor::Stat::Count),
        ]
    };
}

/// How much it was: `NAME-rate` and `NAME-total`.
macro_rules! summed {
    ($name:literal, $what:literal) => {
        [
            (concat!($name, "-rate"), concat!($what, " a second."), $crate::metrics::sensor::Stat::Rate),
            (concat!($name, "-total"), concat!($what, "."), $crate::metrics::sensor::Stat::Total),
        ]
    };
}

/// How large each was: `NAME-avg` and `NAME-max`.
macro_rules! measured {
    ($name:literal, $what:literal) => {
        [
            (concat!($name, "-avg"), concat!("The mean: ", $what, "."), $crate::metrics::sensor::Stat::Avg),
            (concat!($name, "-max"), concat!("The largest: ", $what, "."), $crate::metrics::sensor::Stat::Max),
        ]
    };
}

pub(super) use {counted, measured, summed};
