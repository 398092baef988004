//! The tests of the fault catalogue and the mutations that are recorded beside them and beside other tests.

use std::fs;

use anyhow::{Context, Result, bail, ensure};

use crate::workspace;

/// A test that is named for a row of the catalogue, `row_NN_...`, or has a recorded mutation, or both.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownTest {
    /// The row.
    pub row: Option<u32>,
    /// The function's name.
    pub name: String,
    /// The file that it is in, relative to the workspace.
    pub file: String,
    /// The line of its name.
    pub line: usize,
    /// What it is known to notice.
    pub mutation: Option<Mutation>,
}

/// One change of one place in our code.
#[derive(Debug, Clone, PartialEq)]
pub struct Mutation {
    /// The file that is changed, relative to the workspace.
    pub file: String,
    /// What stands there.
    pub search: String,
    /// What takes its place.
    pub replace: String,
}

impl KnownTest {
    /// Whether it needs a broker, so that it is ignored by default.
    pub fn needs_broker(&self) -> bool {
        self.name.starts_with("real_kafka_")
    }

    /// File, line and name, for messages.
    pub fn place(&self) -> String {
        format!("{}:{} {}", self.file, self.line, self.name)
    }

    /// The name, and where the mutation is.
    pub(super) fn shown(&self) -> String {
        match &self.mutation {
            Some(mutation) => format!("{} ({}: {})", self.name, mutation.file, mutation.search),
            None => self.name.clone(),
        }
    }

    pub(super) fn is_meant_by(&self, wanted: &str) -> bool {
        match wanted.parse::<u32>() {
            Ok(row) => self.row == Some(row),
            Err(_) => self.name.contains(wanted),
        }
    }

    /// The folder of its package.
    pub(super) fn package(&self) -> &str {
        self.file.split('/').next().unwrap_or_default()
    }

    /// What cargo has to build to have it: the file of integration tests that it belongs to, or the library.
    pub(super) fn target(&self) -> Option<&str> {
        let mut parts = self.file.split('/').skip(1);
        let integration = parts.next() == Some("tests");
        parts.next().filter(|_| integration).map(|file| file.trim_end_matches(".rs"))
    }
}

impl Mutation {
    /// Sees that there is a place for it in the workspace.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub(crate) fn check(&self) -> Result<()> {
        let text = fs::read_to_string(workspace::root().join(&self.file))
            .with_context(|| format!("cannot read {}", self.file))?;
        self.apply(&text).map(drop)
    }

    /// The changed text of the file.
    ///
    /// # Errors
    /// When what is to be replaced does not stand there exactly once, comments aside.
    pub(super) fn apply(&self, text: &str) -> Result<String> {
        let mut found = 0;
        let mut change = |line: &str| {
            // A test that stands in the same file repeats the text in its comment.
            if line.trim_start().starts_with("//") {
                return line.to_owned();
            }
            found += line.matches(&self.search).count();
            line.replace(&self.search, &self.replace)
        };
        let changed = text.split_inclusive('\n').map(&mut change).collect();
        ensure!(found == 1, "`{}` stands {found} times in {}, not once", self.search, self.file);
        Ok(changed)
    }
}

/// The tests of the catalogue, and those with a mutation, in all Rust files. A test with several mutations is there once for each.
///
/// # Errors
/// When a file cannot be read, or a mutation is written in another form.
pub fn known_tests() -> Result<Vec<KnownTest>> {
    let mut tests = Vec::new();
    for file in workspace::files()?.into_iter().filter(|file| file.ends_with(".rs") && !file.starts_with("xtask/")) {
        let text = fs::read_to_string(workspace::root().join(&file)).with_context(|| format!("cannot read {file}"))?;
        tests.extend(tests_in(&file, &text).with_context(|| format!("in {file}"))?);
    }
    Ok(tests)
}

fn tests_in(file: &str, text: &str) -> Result<Vec<KnownTest>> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut tests = Vec::new();
    let mut mutations = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if let Some(file) = line.strip_prefix("// Mutation: ") {
            let comment = |at: usize, sign: &str| lines.get(index + at).and_then(|line| line.strip_prefix(sign));
            let (Some(search), Some(replace)) = (comment(1, "// - "), comment(2, "// +")) else {
                bail!("line {}: `// Mutation: FILE` is followed by `// - TEXT` and `// + TEXT`", index + 1);
            };
            let (file, search) = (file.to_owned(), search.to_owned());
            let replace = replace.strip_prefix(' ').unwrap_or(replace).to_owned();
            ensure!(search != replace, "line {}: the mutation changes nothing", index + 1);
            mutations.push(Mutation { file, search, replace });
        } else if let Some(name) = function(line) {
            let row = row(name);
            let test = |mutation| {
                let (name, file) = (name.to_owned(), file.to_owned());
                KnownTest { row, name, file, line: index + 1, mutation }
            };
            if row.is_some() && mutations.is_empty() {
                tests.push(test(None));
            }
            tests.extend(mutations.drain(..).map(|mutation| test(Some(mutation))));
        }
    }
    ensure!(mutations.is_empty(), "the last mutation belongs to no test");
    Ok(tests)
}

/// The name of the function that a line begins.
fn function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let words = ["pub", "pub(crate)", "pub(super)", "async", "const", "unsafe"];
    let is_function = before.split_whitespace().all(|word| words.contains(&word));
    after.split(['(', '<']).next().filter(|_| is_function)
}

/// The row that a test is named for: `row_07_...` or `real_kafka_row_07_...`.
pub(crate) fn row(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("real_kafka_").unwrap_or(name).strip_prefix("row_")?;
    rest.split('_').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        // Mutation: protocol/src/a.rs
        // - if a < b {
        // + if a > b {
        #[test]
        fn row_07_a_is_less() {}

        #[tokio::test]
        async fn real_kafka_row_12_x() {}

        // Mutation: protocol/src/b.rs
        // - self.send();
        // +
        pub(crate) async fn row_08_x(cluster: Cluster) {}
        fn row_has_no_number() {}
        // Mutation: protocol/src/c.rs
        // - x
        // + y
        #[test]
        fn another_test() {}
        // Mutation: protocol/src/d.rs
        // - y
        // + z
        // Mutation: protocol/src/e.rs
        // - z
        // + y
        fn row_10_notices_much() {}
        let closure = |fn row_09_x| 1;
    ";

    #[test]
    fn tests_have_the_mutation_that_stands_before_them() {
        let tests = tests_in("client/tests/share/modes.rs", TEXT).unwrap();
        let found: Vec<_> = tests.iter().map(|test| (test.row, test.name.as_str(), test.mutation.is_some())).collect();
        let rows = [
            (Some(7), "row_07_a_is_less", true),
            (Some(12), "real_kafka_row_12_x", false),
            (Some(8), "row_08_x", true),
        ];
        assert_eq!(found[..3], rows);
        assert_eq!(found[3], (None, "another_test", true));
        assert_eq!(found[4..], [(Some(10), "row_10_notices_much", true); 2]);
        let mutation = tests[0].mutation.as_ref().unwrap();
        assert_eq!((mutation.search.as_str(), mutation.replace.as_str()), ("if a < b {", "if a > b {"));
        assert_eq!(tests[2].mutation.as_ref().unwrap().replace, "");
        assert!(tests[1].needs_broker());
        let files = tests[4..].iter().map(|test| test.mutation.as_ref().unwrap().file.as_str());
        assert!(files.eq(["protocol/src/d.rs", "protocol/src/e.rs"]));
    }

    #[test]
    fn a_mutation_of_another_form_or_place_is_an_error() {
        let error = |text: &str| tests_in("a.rs", text).unwrap_err().to_string();
        assert!(error("// Mutation: a.rs\n// - x\nfn row_01_x() {}").contains("line 1: "));
        assert!(error("// Mutation: a.rs\n// - x\n// + y\n").contains("no test"));
        assert!(error("// Mutation: a.rs\n// - x\n// + x\nfn row_01_x() {}").contains("changes nothing"));
    }

    #[test]
    fn what_is_built_follows_from_the_file() {
        let target = |file: &str| {
            let test = KnownTest { row: Some(1), name: String::new(), file: file.to_owned(), line: 1, mutation: None };
            (test.package().to_owned(), test.target().map(str::to_owned))
        };
        assert_eq!(target("protocol/src/wire/tests.rs"), ("protocol".to_owned(), None));
        assert_eq!(
            target("protocol/tests/records_memory.rs"),
            ("protocol".to_owned(), Some("records_memory".to_owned()))
        );
        assert_eq!(target("client/tests/share/modes.rs"), ("client".to_owned(), Some("share".to_owned())));
    }

    #[test]
    fn only_the_one_place_in_the_code_is_changed() {
        let mutation =
            tests_in("a.rs", "// Mutation: a.rs\n// - x < y\n// + x > y\nfn row_01_x() {}").unwrap().remove(0).mutation;
        let mutation = mutation.unwrap();
        let changed = mutation.apply("// - x < y\nlet a = 1;\nif x < y {\n").unwrap();
        assert_eq!(changed, "// - x < y\nlet a = 1;\nif x > y {\n");
        let error = |text: &str| mutation.apply(text).unwrap_err().to_string();
        assert!(error("x < y; x < y;").contains("stands 2 times in a.rs"));
        assert!(error("// x < y").contains("stands 0 times in a.rs"));
    }
}
