//! Tables of results: aligned columns for people, lists of objects for scripts, both out of the same rows.

use std::fmt::Write;

use ackflow_client::admin::TopicPartition;
use serde_json::{Map, Value, json};

/// A column: its heading in the table, which is Kafka's where Kafka has it, and its name in JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    heading: &'static str,
    key: &'static str,
    shown: Shown,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shown {
    Always,
    /// Only in tables that were asked for with `--verbose`.
    Verbose,
    /// Only in JSON.
    Json,
}

/// A column that is always there.
pub(crate) const fn column(heading: &'static str, key: &'static str) -> Column {
    Column { heading, key, shown: Shown::Always }
}

/// A column that a table has with `--verbose`, and JSON always.
pub(crate) const fn verbose(heading: &'static str, key: &'static str) -> Column {
    Column { heading, key, shown: Shown::Verbose }
}

/// A column that JSON alone has.
pub(crate) const fn json_only(key: &'static str) -> Column {
    Column { heading: "", key, shown: Shown::Json }
}

/// A value in a row: as JSON, and as text where that differs.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    json: Value,
    text: Option<String>,
}

impl<T: Into<Value>> From<T> for Cell {
    fn from(value: T) -> Self {
        Self { json: value.into(), text: None }
    }
}

impl Cell {
    /// A value whose text is another one than its JSON.
    pub(crate) fn with_text(json: impl Into<Value>, text: impl Into<String>) -> Self {
        Self { json: json.into(), text: Some(text.into()) }
    }

    /// Partitions by topic: `t:0,1;u:2`.
    pub(crate) fn partitions(partitions: &[TopicPartition]) -> Self {
        let mut topics: Vec<(&str, Vec<i32>)> = Vec::new();
        for partition in partitions {
            match topics.last_mut() {
                Some((topic, indexes)) if *topic == &*partition.topic => indexes.push(partition.partition),
                _ => topics.push((&partition.topic, vec![partition.partition])),
            }
        }
        let json = topics.iter().map(|(topic, indexes)| json!({ "topic": topic, "partitions": indexes }));
        let text = topics.iter().map(|(topic, indexes)| format!("{topic}:{}", joined(indexes)));
        let text = text.collect::<Vec<_>>().join(";");
        Self { json: json.collect(), text: Some(text) }
    }

    fn text(&self) -> String {
        let text = match (&self.text, &self.json) {
            (Some(text), _) => text.clone(),
            (None, Value::Null) => String::new(),
            (None, Value::String(text)) => text.clone(),
            (None, Value::Array(items)) => items.iter().map(shown).collect::<Vec<_>>().join(","),
            (None, other) => other.to_string(),
        };
        // What is not there is a dash, as in Kafka's tools: a blank would move the columns of whoever splits at blanks.
        if text.is_empty() { "-".to_owned() } else { plain(&text) }
    }
}

fn shown(item: &Value) -> String {
    item.as_str().map_or_else(|| item.to_string(), str::to_owned)
}

/// `0,1,2`.
pub(crate) fn joined(numbers: &[i32]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// The text without characters that a terminal would obey: names of groups, clients and hosts are what somebody chose.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { plain.extend(c.escape_default()) } else { plain.push(c) }
    }
    plain
}

/// Rows under columns.
#[derive(Debug)]
pub(crate) struct Table {
    columns: &'static [Column],
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Without rows so far.
    pub(crate) fn new(columns: &'static [Column]) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row: a cell for each column.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        debug_assert_eq!(N, self.columns.len(), "a row has a cell for each column");
        self.rows.push(cells.into());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows as objects.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Value> {
        self.rows.iter().map(|row| {
            let fields = self.columns.iter().zip(row).map(|(column, cell)| (column.key.to_owned(), cell.json.clone()));
            Value::Object(fields.collect::<Map<_, _>>())
        })
    }

    /// The rows as text, aligned, each line with its end.
    pub(crate) fn lines(&self, verbose: bool) -> String {
        let is_shown = |column: &Column| match column.shown {
            Shown::Always => true,
            Shown::Verbose => verbose,
            Shown::Json => false,
        };
        let columns: Vec<_> = self.columns.iter().enumerate().filter(|(_, column)| is_shown(column)).collect();
        let mut lines = vec![columns.iter().map(|(_, column)| column.heading.to_owned()).collect::<Vec<_>>()];
        lines.extend(self.rows.iter().map(|row| columns.iter().map(|(at, _)| row[*at].text()).collect()));
        let widths: Vec<_> = (0..columns.len())
            .map(|at| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or_default())
            .collect();
        let to_the_right: Vec<_> = columns.iter().map(|(at, _)| self.is_numeric(*at)).collect();
        let mut text = String::new();
        for line in lines {
            let mut out = String::new();
            for ((cell, width), right) in line.iter().zip(&widths).zip(&to_the_right) {
                // Writing to a string does not fail.
                let _ = if *right { write!(out, "{cell:>width$}  ") } else { write!(out, "{cell:<width$}  ") };
            }
            text.push_str(out.trim_end());
            text.push('\n');
        }
        text
    }

    /// Whether a column holds numbers, which are compared best by their last digit.
    fn is_numeric(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().map(|row| &row[column]).filter(|cell| !cell.json.is_null()).peekable();
        cells.peek().is_some() && cells.all(|cell| cell.json.is_number() && cell.text.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] =
        &[column("TOPIC", "topic"), column("LAG", "lag"), verbose("EPOCH", "epoch"), json_only("type")];

    fn table() -> Table {
        let mut table = Table::new(COLUMNS);
        table.row(["t".into(), 7.into(), 1.into(), "share".into()]);
        table.row(["a\u{1b}[2J".into(), 12345.into(), Option::<i32>::None.into(), "share".into()]);
        table.row(["".into(), Option::<i64>::None.into(), 2.into(), "share".into()]);
        table
    }

    #[test]
    fn columns_are_aligned_and_numbers_to_the_right() {
        let expected = "TOPIC         LAG\nt               7\na\\u{1b}[2J  12345\n-               -\n";
        assert_eq!(table().lines(false), expected);
        assert!(table().lines(true).starts_with("TOPIC         LAG  EPOCH\nt               7      1\n"));
    }

    #[test]
    fn objects_have_all_columns_and_the_values_as_they_are() {
        let objects: Vec<_> = table().objects().collect();
        assert_eq!(objects[0], json!({ "topic": "t", "lag": 7, "epoch": 1, "type": "share" }));
        assert_eq!(objects[1], json!({ "topic": "a\u{1b}[2J", "lag": 12345, "epoch": null, "type": "share" }));
    }

    #[test]
    fn partitions_are_named_by_topic() {
        let partitions = [TopicPartition::new("t", 0), TopicPartition::new("t", 2), TopicPartition::new("u", 1)];
        let cell = Cell::partitions(&partitions);
        assert_eq!(cell.text(), "t:0,2;u:1");
        assert_eq!(cell.json, json!([{ "topic": "t", "partitions": [0, 2] }, { "topic": "u", "partitions": [1] }]));
        assert_eq!(Cell::partitions(&[]).text(), "-");
    }
}
