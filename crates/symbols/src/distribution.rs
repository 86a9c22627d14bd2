//! What a system offers to those who look for names.

use std::fs;

/// A system: a distribution of Linux.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// What it is called in `/etc/os-release`, and then what it is like: `ubuntu`, `debian`. Lower case.
    pub names: Vec<String>,
}

/// What a distribution has for those who look for names.
struct Offer {
    name: &'static str,
    server: &'static str,
    /// Installs the debug package that belongs to FILE.
    install: Option<&'static str>,
}

/// Asks the servers of all distributions.
const ANY: &str = "https://debuginfod.elfutils.org";

const OFFERS: [Offer; 7] = [
    Offer {
        name: "ubuntu",
        server: "https://debuginfod.ubuntu.com",
        install: Some("sudo apt install $(dpkg-query -S FILE | cut -d: -f1)-dbgsym"),
    },
    Offer {
        name: "debian",
        server: "https://debuginfod.debian.net",
        install: Some("sudo apt install $(dpkg-query -S FILE | cut -d: -f1)-dbgsym"),
    },
    Offer {
        name: "fedora",
        server: "https://debuginfod.fedoraproject.org",
        install: Some("sudo dnf debuginfo-install $(rpm -qf FILE)"),
    },
    Offer { name: "rhel", server: ANY, install: Some("sudo dnf debuginfo-install $(rpm -qf FILE)") },
    Offer {
        name: "suse",
        server: "https://debuginfod.opensuse.org",
        install: Some("sudo zypper install $(rpm -q --qf '%{name}' -f FILE)-debuginfo"),
    },
    Offer { name: "arch", server: "https://debuginfod.archlinux.org", install: None },
    Offer { name: "", server: ANY, install: None },
];

impl System {
    /// The system that this process runs on.
    pub fn here() -> System {
        let text = fs::read_to_string("/etc/os-release").or_else(|_| fs::read_to_string("/usr/lib/os-release"));
        System::parse(&text.unwrap_or_default())
    }

    /// The name of this machine.
    pub fn host() -> String {
        fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
    }

    fn parse(os_release: &str) -> System {
        let value = |name: &str| {
            let line = os_release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            line.unwrap_or_default().trim().trim_matches(['"', '\'']).to_lowercase()
        };
        let names = format!("{} {}", value("ID"), value("ID_LIKE"));
        System { names: names.split_whitespace().map(str::to_owned).collect() }
    }

    /// Server that has the debug files of the distribution's packages; that of an unknown distribution asks all
    /// others.
    pub fn server(&self) -> &'static str {
        self.offer().server
    }

    /// Command that installs the debug package of a file of the distribution.
    pub fn install(&self, path: &str) -> Option<String> {
        Some(self.offer().install?.replace("FILE", path))
    }

    fn offer(&self) -> &'static Offer {
        let known = self.names.iter().find_map(|name| OFFERS.iter().find(|offer| offer.name == name));
        known.unwrap_or(&OFFERS[OFFERS.len() - 1])
    }
}

/// Whether a file belongs to the distribution, as far as its path tells.
pub fn is_of_distribution(path: &str) -> bool {
    let folders = ["/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/"];
    folders.iter().any(|folder| path.starts_with(folder)) && !path.starts_with("/usr/local/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_known_by_their_names_or_those_of_their_like() {
        let server = |text: &str| System::parse(text).server();
        assert_eq!(server("NAME=\"Debian\"\nID=debian\nVERSION_ID=\"12\"\n"), "https://debuginfod.debian.net");
        assert_eq!(server("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"), "https://debuginfod.ubuntu.com");
        assert_eq!(server("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n"), "https://debuginfod.elfutils.org");
        assert_eq!(server("ID=fedora\n"), "https://debuginfod.fedoraproject.org");
        assert_eq!(server("ID='opensuse-leap'\nID_LIKE='suse opensuse'\n"), "https://debuginfod.opensuse.org");
        assert_eq!(server("ID=arch\n"), "https://debuginfod.archlinux.org");
        assert_eq!(server("ID=void\n"), "https://debuginfod.elfutils.org");
        assert_eq!(server(""), "https://debuginfod.elfutils.org");
        let install = System::parse("ID=fedora").install("/usr/bin/git");
        assert_eq!(install.as_deref(), Some("sudo dnf debuginfo-install $(rpm -qf /usr/bin/git)"));
        assert_eq!(System::parse("ID=arch").install("/usr/bin/git"), None);
    }

    #[test]
    fn files_of_the_distribution_are_known_by_their_paths() {
        assert!(is_of_distribution("/usr/bin/git") && is_of_distribution("/lib/libz.so.1"));
        assert!(!is_of_distribution("/usr/local/bin/git") && !is_of_distribution("/home/me/git"));
    }
}
