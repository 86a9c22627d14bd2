//! Pointers that a process has given to epoll: a server may keep its connections nowhere else.

use std::fs;

/// The data of all events that a process waits for (epoll_ctl(2)).
pub fn data(pid: u32) -> Vec<u64> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let is_epoll = |target: std::path::PathBuf| target.as_os_str() == "anon_inode:[eventpoll]";
    let sets = descriptors.filter(|descriptor| fs::read_link(descriptor.path()).is_ok_and(is_epoll));
    let about = |set: fs::DirEntry| {
        let number = set.file_name();
        fs::read_to_string(format!("/proc/{pid}/fdinfo/{}", number.to_string_lossy())).unwrap_or_default()
    };
    sets.flat_map(|set| words(&about(set))).collect()
}

/// From lines such as `tfd: 5 events: 19 data: 7f0012 pos:0 ino:61af sdev:7` (Documentation/filesystems/proc.rst).
fn words(text: &str) -> Vec<u64> {
    let data = |line: &str| u64::from_str_radix(line.split_once("data:")?.1.split_whitespace().next()?, 16).ok();
    text.lines().filter_map(data).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::epoll;

    #[test]
    fn the_kernel_tells_what_it_was_given() {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let (read, _write) = rustix::pipe::pipe().unwrap();
        let given = 0x7f12_3456_789a_bcd0;
        epoll::add(&set, &read, epoll::EventData::new_u64(given), epoll::EventFlags::IN).unwrap();
        assert!(data(std::process::id()).contains(&given));
    }

    #[test]
    fn other_lines_have_no_data() {
        assert_eq!(
            words("pos:\t0\nflags:\t02\ntfd:        5 events:       19 data:      7f0012  pos:0 ino:61af sdev:7\n"),
            [0x7f0012]
        );
        assert!(words("").is_empty());
    }
}
