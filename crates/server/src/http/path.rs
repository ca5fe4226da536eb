//! Paths as Go's multiplexer sees them: one with empty, `.` or `..` steps is sent to its clean form.

/// The clean form of a path, if it is another one.
pub(super) fn cleaned(path: &str) -> Option<String> {
    if path == "*" {
        return None;
    }
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    let mut clean = format!("/{}", steps.join("/"));
    if path.ends_with('/') && clean != "/" {
        clean.push('/');
    }
    (clean != path).then_some(clean)
}

#[cfg(test)]
mod tests;
