//! The registry of sinks.

use std::sync::Arc;

use crate::{contract::SinkConnector, sinks};

/// The sinks that a worker knows, ours and yours.
#[derive(Clone, Default)]
pub struct Plugins {
    connectors: Vec<Arc<dyn SinkConnector>>,
}

impl Plugins {
    /// The sinks of this build.
    pub fn builtin() -> Self {
        Self { connectors: sinks::builtin() }
    }

    /// Adds a sink. It hides one that is called the same.
    pub fn register(&mut self, connector: Box<dyn SinkConnector>) {
        self.connectors.insert(0, Arc::from(connector));
    }

    /// The sink that a `connector.class` means. As in Connect that is its name, the full name of its Java class or the last part of that,
    /// also without `Connector` or `SinkConnector` at its end; here in any case of letters.
    pub fn find(&self, class: &str) -> Option<Arc<dyn SinkConnector>> {
        self.connectors.iter().find(|connector| names(connector.as_ref()).any(|name| is_called(name, class))).cloned()
    }

    /// What the sinks are called.
    pub fn names(&self) -> Vec<&str> {
        self.connectors.iter().map(|connector| connector.name()).collect()
    }
}

impl std::fmt::Debug for Plugins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Plugins").field(&self.names()).finish()
    }
}

fn names(connector: &dyn SinkConnector) -> impl Iterator<Item = &str> {
    std::iter::once(connector.name()).chain(connector.aliases().iter().copied())
}

fn is_called(name: &str, class: &str) -> bool {
    let simple = name.rsplit('.').next().unwrap_or(name);
    let short = ["Connector", "SinkConnector"].into_iter().filter_map(|suffix| simple.strip_suffix(suffix));
    [name, simple].into_iter().chain(short).any(|known| known.eq_ignore_ascii_case(class))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(class: &str) -> Option<String> {
        Plugins::builtin().find(class).map(|connector| connector.name().to_owned())
    }

    #[test]
    fn a_sink_is_found_by_its_name_and_by_the_names_of_its_java_class() {
        for class in ["file", "File"] {
            assert_eq!(found(class).as_deref(), Some("file"));
        }
        for class in [
            "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "FileStreamSinkConnector",
            "FileStreamSink",
            "filestreamsink",
        ] {
            assert_eq!(found(class).as_deref(), Some("FileStreamSink"), "{class}");
        }
        assert_eq!(found("stdout").as_deref(), Some("stdout"));
        assert_eq!(found("blackhole").as_deref(), Some("blackhole"));
        assert_eq!(found("org.example.Nothing"), None);
    }
}
