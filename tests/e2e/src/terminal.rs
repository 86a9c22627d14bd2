//! Programs on a terminal, with somebody who types when a prompt has come.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A terminal with a program in it.
pub struct Terminal {
    screen: File,
    child: Child,
    shown: String,
    /// Bytes that were shown when the last line was typed: the prompt before it is no prompt for the next one.
    answered: usize,
}

/// Longer than anything here takes.
const TIME_LIMIT: Duration = Duration::from_secs(60);

impl Terminal {
    /// Starts a shell's command line on a new terminal of 80 columns.
    pub fn start(line: &str) -> Terminal {
        let (mut screen, mut inside) = (-1, -1);
        let size = libc::winsize { ws_row: 25, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let null = std::ptr::null_mut();
        // SAFETY: the pointers are to live variables; name and modes may be null.
        let made = unsafe { libc::openpty(&mut screen, &mut inside, null, null.cast(), &size) };
        assert_eq!(made, 0, "openpty: {}", std::io::Error::last_os_error());
        // SAFETY: openpty has just made both, and nobody else has them.
        let (screen, inside) = unsafe { (File::from_raw_fd(screen), OwnedFd::from_raw_fd(inside)) };
        let mut command = Command::new("sh");
        let end = || inside.try_clone().expect("a descriptor");
        command.args(["-c", line]).stdin(end()).stdout(end()).stderr(end());
        // Tests may run where there is no terminal; without a name, this one would be too dumb for progress.
        command.env("TERM", "xterm");
        let (outer, inner) = (screen.as_raw_fd(), inside.as_raw_fd());
        // SAFETY: only system calls are made between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                libc::close(outer);
                libc::close(inner);
                Ok(())
            })
        };
        let child = command.spawn().expect("a shell");
        Terminal { screen, child, shown: String::new(), answered: 0 }
    }

    /// Reads what comes until `enough` or, if that never holds, the end.
    fn read_until(&mut self, enough: impl Fn(&str) -> bool) {
        let began = Instant::now();
        let mut bytes = [0; 4096];
        while !enough(&self.shown) {
            let mut ready = libc::pollfd { fd: self.screen.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one structure, which lives.
            unsafe { libc::poll(&mut ready, 1, 1000) };
            assert!(began.elapsed() < TIME_LIMIT, "nothing more after {:?}", self.shown);
            if ready.revents == 0 {
                continue;
            }
            match self.screen.read(&mut bytes) {
                Ok(length) if length > 0 => self.shown += &String::from_utf8_lossy(&bytes[..length]),
                _ => return, // no program is left on the terminal
            }
        }
    }

    /// Types a line once `prompt` stands at the end of what is shown since the last one was typed.
    #[track_caller]
    pub fn answer(mut self, prompt: &str, line: &str) -> Terminal {
        let answered = self.answered;
        self.read_until(|shown| shown[answered..].ends_with(prompt));
        assert!(self.shown[answered..].ends_with(prompt), "no {prompt:?}: {:?}", self.shown);
        self.answered = self.shown.len();
        writeln!(self.screen, "{line}").expect("a terminal that can be typed at");
        self
    }

    /// Waits until `text` is shown.
    #[track_caller]
    pub fn wait_for(mut self, text: &str) -> Terminal {
        self.read_until(|shown| shown.contains(text));
        assert!(self.shown.contains(text), "no {text:?}: {:?}", self.shown);
        self
    }

    /// Presses keys.
    #[track_caller]
    pub fn press(mut self, keys: &str) -> Terminal {
        self.screen.write_all(keys.as_bytes()).expect("a terminal that can be typed at");
        self
    }

    /// The terminal goes away, as when a connection breaks or its window is closed. Waits for the shell.
    pub fn hang_up(mut self) {
        drop(self.screen);
        self.child.wait().expect("the shell can be waited for");
    }

    /// All that was shown, when everything is over.
    pub fn finish(mut self) -> String {
        self.read_until(|_| false);
        self.child.wait().expect("the shell can be waited for");
        self.shown
    }
}
