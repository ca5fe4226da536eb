//! Version strings (contract §0.1): tools and Kubernetes switch features by them.

/// The server's version.
pub const SERVER: &str = crate::config::usage::SERVER_VERSION;
/// The cluster's version.
pub const CLUSTER: &str = "3.7.0";
/// The cluster's version as the downgrade RPC prints it.
pub const CLUSTER_SHORT: &str = "3.7";
/// The storage's version.
pub const STORAGE: &str = "3.7.0";
/// Before the cluster's version is decided.
pub const NOT_DECIDED: &str = "not_decided";
/// The only version that a downgrade may name.
pub const DOWNGRADE_TARGET: (i64, i64) = (3, 6);

/// Major and minor of `X.Y` or of a semantic version `X.Y.Z-pre+metadata`.
pub fn parse_major_minor(text: &str) -> Option<(i64, i64)> {
    semantic(text).or_else(|| semantic(&format!("{text}.0")))
}

fn semantic(text: &str) -> Option<(i64, i64)> {
    let (text, metadata) = text.split_once('+').unwrap_or((text, ""));
    let (text, pre_release) = text.split_once('-').unwrap_or((text, ""));
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let is_identifier = |id: &str| id.is_empty() || id.split('.').all(is_word);
    if !is_identifier(metadata) || !is_identifier(pre_release) {
        return None;
    }
    let parts: Vec<i64> = text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    match parts[..] {
        [major, minor, _] => Some((major, minor)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_go_semver_does() {
        for good in ["3.6", "3.6.0", "3.06.9", "3.6.0-rc.0", "3.6.0+m", "3.6.0-a-b+c.d", "3.6.0-"] {
            assert_eq!(parse_major_minor(good), Some((3, 6)), "{good}");
        }
        for bad in ["", "3", "v3.6", "3.6.0.0", "3.6-rc", "3.6+m", "3.6.x", "3.6.0-a..b", "3.6.0-ü"]
        {
            assert_eq!(parse_major_minor(bad), None, "{bad}");
        }
    }
}
