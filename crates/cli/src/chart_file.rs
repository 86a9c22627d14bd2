//! A chart to come. What can be wrong with its file shows before the work, and an old chart stays until there is a new one.

use crate::exit::{Code, Failure};
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::NamedTempFile;

pub struct ChartFile<'a> {
    path: &'a Path,
}

impl ChartFile<'_> {
    /// A file that can be written.
    pub fn check(path: &Path) -> Result<ChartFile<'_>, Failure> {
        let file = ChartFile { path };
        if path.is_dir() {
            return Err(file.failed("it is a directory"));
        }
        if !file.folder().is_dir() {
            return Err(file.failed(format!("there is no directory {}", file.folder().display())));
        }
        // The draft's own name tells a user nothing.
        match file.draft() {
            Ok(_) => Ok(file),
            Err(error) => Err(file.failed(io::Error::from(error.kind()))),
        }
    }

    fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// A file in the same folder, which goes when it is dropped.
    fn draft(&self) -> io::Result<NamedTempFile> {
        tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(self.folder())
    }

    pub fn write(&self, content: &[u8]) -> Result<(), Failure> {
        let mut draft = self.draft().map_err(|error| self.failed(error))?;
        draft.write_all(content).map_err(|error| self.failed(error))?;
        draft.persist(self.path).map(drop).map_err(|error| self.failed(error.error))
    }

    pub fn failed(&self, why: impl std::fmt::Display) -> Failure {
        let path = self.path.display();
        Code::Failed.because(format!("cannot write the chart {path}: {why}; choose another place with --chart FILE"))
    }
}
