//! What is picked by name, of the cases for brokers and of the situations for clients.

/// Names of cases and of their groups; all of them where nothing is named.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    cases: Vec<String>,
    groups: Vec<String>,
}

/// Nothing has such a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    /// `case` or `group`.
    pub kind: &'static str,
    /// What was named.
    pub name: String,
    /// What there is: the groups, or the cases whose names are like it.
    pub known: Vec<String>,
}

impl std::fmt::Display for UnknownName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is no {} {:?}", self.kind, self.name)?;
        match self.known.is_empty() {
            true => Ok(()),
            false => write!(f, "; there is {}", self.known.join(", ")),
        }
    }
}

impl std::error::Error for UnknownName {}

impl Names {
    /// The cases of these names, and all of these groups, of those that there are.
    pub(crate) fn new(
        cases: &[String],
        groups: &[String],
        all: impl Iterator<Item = String>,
        all_groups: impl Iterator<Item = &'static str>,
    ) -> Result<Self, UnknownName> {
        let (all, all_groups): (Vec<_>, Vec<_>) = (all.collect(), all_groups.collect());
        if let Some(name) = cases.iter().find(|name| !all.contains(name)) {
            let like = |case: &String| name.split('-').any(|word| word.len() > 4 && case.contains(word));
            let known = all.into_iter().filter(like).take(10).collect();
            return Err(UnknownName { kind: "case", name: name.clone(), known });
        }
        if let Some(name) = groups.iter().find(|name| !all_groups.contains(&name.as_str())) {
            let known = all_groups.into_iter().map(str::to_owned).collect();
            return Err(UnknownName { kind: "group", name: name.clone(), known });
        }
        Ok(Self { cases: cases.to_vec(), groups: groups.to_vec() })
    }

    /// Whether the case of this group is one of them.
    pub(crate) fn have(&self, group: &str, case: &str) -> bool {
        let everything = self.cases.is_empty() && self.groups.is_empty();
        everything || self.groups.iter().any(|name| name == group) || self.cases.iter().any(|name| name == case)
    }
}
