//! What a command on groups or topics has to say: tables or one line of JSON on stdout, what failed on stderr.

use std::fmt::Display;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use crate::stderr::tell;
use crate::stdout;
use crate::table::{Table, plain};

/// How results are shown.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Style {
    /// Print one line of JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Show more columns; --json has them always
    #[arg(long)]
    verbose: bool,
}

/// The end of a command that prints JSON: an error that left nothing else to print is an object with the list `errors` alone, beside what stderr says.
pub(crate) fn with_error_as_json(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        let error = plain(&format!("{error:#}"));
        tell!("ackflow: {error}");
        // Where it cannot be written either, stderr and the exit code say all there is to say.
        let _ = stdout::write_to_reader(format!("{}\n", json!({ "errors": [error] })).as_bytes());
        ExitCode::FAILURE
    })
}

/// Results and failures, gathered until all is done.
#[derive(Debug)]
pub(crate) struct Report {
    style: Style,
    text: String,
    json: Map<String, Value>,
    errors: Vec<String>,
    remarks: Vec<String>,
}

impl Report {
    pub(crate) fn new(style: Style) -> Self {
        Self { style, text: String::new(), json: Map::new(), errors: Vec::new(), remarks: Vec::new() }
    }

    /// Adds a table, which in JSON is a list of this name; tables of one name are one list.
    pub(crate) fn table(&mut self, name: &str, table: &Table) {
        if let Value::Array(list) = self.json.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
            list.extend(table.objects());
        }
        // Headings without rows say that there is nothing; beside an error they would say the wrong thing.
        if table.is_empty() && !self.errors.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&table.lines(self.style.verbose));
    }

    /// Adds lines as they are, of which JSON has nothing.
    pub(crate) fn text(&mut self, lines: &str) {
        self.text.push_str(lines);
    }

    /// Adds a fact that JSON alone has.
    pub(crate) fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.json.insert(name.to_owned(), value.into());
    }

    /// Says that something could not be done; the rest goes on. What fails for many things in the same words is said once.
    pub(crate) fn failed(&mut self, error: impl Display) {
        let error = plain(&error.to_string());
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    /// Takes a value out of its result, or its error in.
    pub(crate) fn take<T, E: Display>(&mut self, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.failed(error)).ok()
    }

    pub(crate) fn has_failed(&self) -> bool {
        !self.errors.is_empty()
    }

    /// A remark for people, which scripts need not know.
    pub(crate) fn remark(&mut self, text: impl Display) {
        self.remarks.push(plain(&text.to_string()));
    }

    /// Prints all of it. The exit code says whether all was done.
    ///
    /// # Errors
    /// Where stdout cannot be written; a reader that has gone, as `head` does, has what it wanted.
    pub(crate) fn finish(mut self) -> anyhow::Result<ExitCode> {
        for error in self.errors.iter().chain(&self.remarks) {
            tell!("ackflow: {error}");
        }
        let code = if self.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        if self.style.json {
            self.json.insert("errors".to_owned(), self.errors.into());
            self.text = format!("{}\n", Value::Object(self.json));
        }
        stdout::write_to_reader(self.text.as_bytes())?;
        Ok(code)
    }
}
