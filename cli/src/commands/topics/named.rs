//! Which topics a command is about: named behind it, as here, or by `--topic`, as in Kafka's tools.

use std::collections::BTreeSet;

/// One topic.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct One {
    /// The topic
    #[arg(value_name = "TOPIC")]
    named: Option<String>,

    /// The same, as Kafka's tools name it
    #[arg(long = "topic", value_name = "TOPIC")]
    topic: Option<String>,
}

impl One {
    pub(crate) fn name(&self) -> &str {
        self.named.as_deref().or(self.topic.as_deref()).unwrap_or_default()
    }
}

/// Several topics.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Several {
    /// The topics
    #[arg(value_name = "TOPIC")]
    named: Vec<String>,

    /// The same, as Kafka's tools name them; may be repeated
    #[arg(long = "topic", value_name = "TOPIC")]
    topic: Vec<String>,
}

impl Several {
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.named.iter().chain(&self.topic).cloned().collect()
    }
}
