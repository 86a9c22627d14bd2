//! What people call the `malloc` that a library exports: a C library with its version, a known allocator, or the library's own.

use crate::own_allocator::InFile;
use crate::symbol_table::without_version;
use object::{Object, ObjectSection, ObjectSymbol, SectionKind};

/// What glibc's banner has before its version.
const GLIBC_BANNER: &[u8] = b"GNU C Library ";
const GLIBC_VERSION: &[u8] = b" release version ";

/// The name of the `malloc` that a file exports; nothing if it exports none. `found`: what the file is as an allocator.
pub(crate) fn find(file: &object::File<'_>, found: &InFile) -> Option<String> {
    if !found.exports_malloc {
        return None;
    }
    if !found.is_c_library {
        let own = found.own.iter().find(|own| own.is_exported)?;
        return Some(own.family.name().to_owned());
    }
    let is_glibc = |symbol: object::Symbol<'_, '_>| {
        symbol.is_definition() && symbol.name().is_ok_and(|name| without_version(name) == "gnu_get_libc_version")
    };
    Some(match glibc_version(file) {
        Some(version) => format!("glibc {version}"),
        None if file.dynamic_symbols().any(is_glibc) => "glibc".to_owned(),
        None => "musl".to_owned(),
    })
}

fn glibc_version(file: &object::File<'_>) -> Option<String> {
    let is_constant = |section: &object::Section<'_, '_>| {
        matches!(section.kind(), SectionKind::ReadOnlyData | SectionKind::ReadOnlyString)
    };
    file.sections().filter(is_constant).find_map(|section| version_in(section.data().ok()?))
}

/// The version in glibc's banner: `GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.`
fn version_in(constants: &[u8]) -> Option<String> {
    let banner = memchr::memmem::find(constants, GLIBC_BANNER)?;
    let banner = &constants[banner..];
    let banner = &banner[..memchr::memchr(b'\n', banner)?];
    let version = &banner[memchr::memmem::find(banner, GLIBC_VERSION)? + GLIBC_VERSION.len()..];
    let length = version.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let version = std::str::from_utf8(&version[..length]).ok()?.trim_end_matches('.');
    (!version.is_empty()).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn the_version_of_glibc() {
        let banner = b"\0GNU C Library (Debian GLIBC 2.36-9+deb12u10) stable release version 2.36.\nCopyright";
        assert_eq!(version_in(banner).as_deref(), Some("2.36"));
        assert_eq!(
            version_in(b"GNU C Library (x) development release version 2.40.9000.\n").as_deref(),
            Some("2.40.9000")
        );
        assert_eq!(version_in(b"GNU C Library\n"), None);
    }
}
