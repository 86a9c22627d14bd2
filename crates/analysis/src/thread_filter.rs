//! Selects processes and threads by name or number.

use memtoll_model::{Image, Recording};
use memtoll_tally::Threads;
use memtoll_text::shell;
use memtoll_trace::ids::ThreadNo;
use memtoll_trace::meta::Thread;
use memtoll_trace::path::last_part;
use std::collections::BTreeSet;

/// The selected processes and threads; sums leave out the others.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ThreadFilter {
    /// By index in [`Recording::images`]; `None` there: nothing of the image. `None`: all that there is.
    images: Option<Vec<Option<Threads>>>,
}

/// The requested name that the recording lacks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoMatch {
    /// No process has this name.
    Process(String),
    /// No thread of the selected processes has this name.
    Thread(String),
}

impl ThreadFilter {
    /// Those of a recording that are called so. A process is called by its number, its [`process_id`], its program's name, its title, or a word of
    /// its command line; a thread by its number or its name, the first one of a process also by the program's name. Without
    /// names, all of them count.
    pub fn select(recording: &Recording, processes: &[String], threads: &[String]) -> Result<ThreadFilter, NoMatch> {
        if processes.is_empty() && threads.is_empty() {
            return Ok(ThreadFilter::default());
        }
        let is_process = |index: usize, name: &str| is_process(recording, index, name);
        let missing = |name: &&String| !(0..recording.images.len()).any(|index| is_process(index, name));
        if let Some(name) = processes.iter().find(missing) {
            return Err(NoMatch::Process(name.clone()));
        }
        let counts = |index: usize| processes.is_empty() || processes.iter().any(|name| is_process(index, name));
        let mut images: Vec<Option<Threads>> =
            (0..recording.images.len()).map(|index| counts(index).then_some(Threads::All)).collect();
        if !threads.is_empty() {
            let mut found = BTreeSet::new();
            for (image, counts) in recording.images.iter().zip(&mut images).filter(|(_, counts)| counts.is_some()) {
                let mut numbers = BTreeSet::new();
                for thread in &image.threads {
                    for name in threads.iter().filter(|name| is_thread(image, thread, name)) {
                        numbers.insert(thread.number);
                        found.insert(name);
                    }
                }
                *counts = (!numbers.is_empty()).then_some(Threads::Only(numbers));
            }
            if let Some(name) = threads.iter().find(|name| !found.contains(name)) {
                return Err(NoMatch::Thread(name.clone()));
            }
        }
        Ok(ThreadFilter { images: Some(images) })
    }

    pub fn only(&self, recording: &Recording, image: usize) -> ThreadFilter {
        let threads = |index: usize| self.of(index).filter(|_| index == image).cloned();
        ThreadFilter { images: Some((0..recording.images.len()).map(threads).collect()) }
    }

    /// Whole images, by index in [`Recording::images`]: those for which `counts` says so.
    pub fn images(recording: &Recording, counts: impl Fn(usize) -> bool) -> ThreadFilter {
        let threads = |index: usize| counts(index).then_some(Threads::All);
        ThreadFilter { images: Some((0..recording.images.len()).map(threads).collect()) }
    }

    /// The threads of an image that count; `None`: nothing of it.
    pub fn of(&self, image: usize) -> Option<&Threads> {
        match &self.images {
            None => Some(&Threads::All),
            Some(images) => images.get(image)?.as_ref(),
        }
    }

    /// Whether a thread of an image counts; `None`: an unknown one.
    pub fn admit(&self, image: usize, thread: impl Into<Option<ThreadNo>>) -> bool {
        self.of(image).is_some_and(|threads| threads.admit(thread))
    }

    /// Whether everything counts.
    pub fn are_all(&self) -> bool {
        self.images.is_none()
    }

    /// Whether of some process only some threads count. The kernel counts whole processes, so much is unknown of single threads.
    pub fn are_threads(&self) -> bool {
        self.images.iter().flatten().flatten().any(|threads| *threads != Threads::All)
    }
}

/// The name of the program that an image runs, as it was started.
pub fn program(image: &Image) -> &str {
    &image.about.name
}

/// What the process showed in the place of its command line, if it changed that.
pub fn title(image: &Image) -> Option<&str> {
    image.end.as_ref()?.title.as_deref()
}

/// The command line, and the title beside it.
pub fn command(image: &Image) -> String {
    let command = shell::line(&image.about.command);
    match title(image) {
        Some(title) => format!("{command} (title: {title})"),
        None => command,
    }
}

/// A thread's name or, of a process's first one, what that runs.
pub fn thread_name<'a>(image: &'a Image, thread: &'a Thread) -> Option<&'a str> {
    let first = || (thread.tid == image.about.pid).then(|| program(image));
    thread.name.as_deref().or_else(first)
}

/// What selects the process of an image and no other: its number and, where the system used that again, which of its processes it is,
/// as in `4711.2`.
pub fn process_id(recording: &Recording, image: usize) -> String {
    let Image { about, process, shares_id, .. } = &recording.images[image];
    let is_one = |(index, of): &(usize, &Image)| of.about.pid == about.pid && of.process == *index;
    match shares_id {
        true => {
            format!("{}.{}", about.pid, recording.images.iter().enumerate().take(process + 1).filter(is_one).count())
        }
        false => about.pid.to_string(),
    }
}

fn is_process(recording: &Recording, index: usize, name: &str) -> bool {
    let image = &recording.images[index];
    let about = &image.about;
    // Of words with spaces, which are text, no part is a name.
    let is_word = |word: &String| word == name || !word.contains(' ') && last_part(word) == name;
    name.parse() == Ok(about.pid)
        || image.shares_id && name == process_id(recording, index)
        || [program(image), last_part(&about.executable)].contains(&name)
        || title(image) == Some(name)
        || about.command.iter().any(is_word)
}

fn is_thread(image: &Image, thread: &Thread, name: &str) -> bool {
    name.parse() == Ok(thread.tid) || thread_name(image, thread) == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::golden;

    #[test]
    fn processes_that_share_an_id_are_selected_one_by_one() {
        let mut recording = golden("forks");
        let selected = |recording: &Recording, name: &str| -> Vec<usize> {
            let filter = ThreadFilter::select(recording, &[name.to_owned()], &[]).unwrap();
            (0..recording.images.len()).filter(|index| filter.of(*index).is_some()).collect()
        };
        let alone = process_id(&recording, 1);
        assert_eq!((alone.clone(), selected(&recording, &alone)), (recording.images[1].about.pid.to_string(), vec![1]));
        recording.images.iter_mut().for_each(|image| (image.about.pid, image.shares_id) = (7, true));
        assert_eq!([0, 1].map(|index| process_id(&recording, index)), ["7.1", "7.2"]);
        assert_eq!(selected(&recording, "7.2"), [1]);
        assert_eq!(selected(&recording, "7").len(), recording.images.len(), "all that had it");
        assert!(ThreadFilter::select(&recording, &["7.99".to_owned()], &[]).is_err());
        // What a process executes is the process that it was.
        recording.images[1].process = 0;
        assert_eq!(selected(&recording, "7.1"), [0, 1]);
    }
}
