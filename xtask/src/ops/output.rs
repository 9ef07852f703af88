//! What test-backend-ops prints.

use crate::device::HTP;

/// One reported case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    pub op: String,
    pub params: String,
    /// What was printed in front of it: the error values of a failure
    pub detail: String,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    /// Not claimed by the plug-in
    Unclaimed,
    /// Claimed, but the CPU backend cannot compute it to compare
    Unchecked,
}

impl Case {
    pub fn name(&self) -> String {
        format!("{}({})", self.op, self.params)
    }
}

/// Reads the console output of one run.
#[derive(Default)]
pub struct Reader {
    pub has_backend: bool,
    /// The line with the sum of all cases was there
    pub finished: bool,
    pub failing: Vec<String>,
    in_failing: bool,
}

impl Reader {
    /// A line of output; a case when it reports one.
    pub fn line(&mut self, line: &str) -> Option<Case> {
        let line = strip_colors(line);
        if line.ends_with(" tests passed") {
            self.finished = true;
        } else if line.starts_with("Backend ") && line.ends_with(&format!(": {HTP}")) {
            self.has_backend = true;
        } else if line == "Failing tests:" {
            self.in_failing = true;
        } else if line.ends_with(" backends passed") {
            self.finished = true;
            self.in_failing = false;
        } else if self.in_failing {
            if let Some(name) = line.strip_prefix("  ").filter(|name| name.ends_with(')')) {
                self.failing.push(name.to_owned());
            }
        }
        parse_case(&line)
    }
}

/// `  ADD(type=f32,...): OK`, with error values in front when it failed.
fn parse_case(line: &str) -> Option<Case> {
    let (head, status) = line.rsplit_once("): ")?;
    let outcome = match status.trim_end() {
        "OK" => Outcome::Passed,
        "FAIL" => Outcome::Failed,
        status => {
            let backends = status.strip_prefix("not supported [")?.strip_suffix(']')?;
            match backends.split(", ").any(|name| name == HTP) {
                true => Outcome::Unclaimed,
                false => Outcome::Unchecked,
            }
        }
    };
    // An op's name holds no space and no parenthesis, and two spaces stand before it.
    let (before, params) = head.char_indices().filter(|(_, c)| *c == '(').find_map(|(at, _)| {
        let start = head[..at].rfind("  ")? + 2;
        let name = &head[start..at];
        let named = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        named.then_some((&head[..at], &head[at + 1..]))
    })?;
    let (detail, op) = before.rsplit_once("  ")?;
    Some(Case { op: op.to_owned(), params: params.to_owned(), detail: detail.trim().to_owned(), outcome })
}

fn strip_colors(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        text.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    text + rest
}

/// The fields of one line of CSV in which every field is quoted.
pub fn csv_fields(line: &str) -> Vec<String> {
    let inner = line.trim().strip_prefix('"').and_then(|line| line.strip_suffix('"'));
    inner.map(|line| line.split("\",\"").map(|field| field.replace("\"\"", "\"")).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_case_lines() {
        let case = parse_case("  MUL_MAT(type_a=q4_0,bs=[1,1],per=[0,1,2,3],k_v=0,o=1): OK").expect("a case");
        assert_eq!(case.op, "MUL_MAT");
        let case = parse_case("[X] NaN at index 3 (HTP0=nan CPU=1.0)   X(a=(1),b=2): FAIL").expect("a case");
        assert_eq!((case.op.as_str(), case.params.as_str()), ("X", "a=(1),b=2"));
        assert!(case.detail.starts_with("[X] NaN"));
        assert_eq!(parse_case("  Device memory: 2048 MB (2048 MB free)"), None);
        assert_eq!(parse_case("load_backend: loaded CPU backend from x"), None);
    }

    #[test]
    fn csv_lines() {
        let fields = csv_fields(r#""HTP0","ADD","a=""x"",ne=[1,2]","support","1","yes","HTP""#);
        assert_eq!(fields[2], r#"a="x",ne=[1,2]"#);
        assert!(csv_fields("plain text").is_empty());
    }
}
