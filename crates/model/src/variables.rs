//! The global variables of the files whose pages were looked at.

use crate::Recording;
use crate::load::Loader;
use memtoll_symbols::{Resolver, variables_of};
use memtoll_trace::meta::{FileVariables, Module, variables};
use memtoll_trace::reader::{BlockRef, Reader};
use memtoll_trace::unreadable::Unreadable;
use std::collections::{BTreeMap, BTreeSet};

/// Path and build id.
type File = (String, String);

impl Recording {
    /// The variables of the files that image number `index` had loaded. A recording that was cut off has none; perhaps the
    /// files are still here.
    pub fn variables(&self, index: usize) -> Result<Vec<FileVariables>, Unreadable> {
        match &self.variables {
            Some(block) => read(self.reader(), block),
            None => {
                let here = Resolver::new();
                Ok(files(&self.loaded(index)?).iter().filter_map(|file| found(&here, file)).collect())
            }
        }
    }
}

impl Loader {
    /// The variables that the recording has and those that `resolver` finds, if it finds more.
    pub(crate) fn more_variables(&self, resolver: &Resolver) -> Result<Option<Vec<FileVariables>>, Unreadable> {
        let known: Vec<FileVariables> = match &self.variables {
            Some(block) => read(&self.reader, block)?,
            None => Vec::new(),
        };
        let known = known.into_iter().map(|of| ((of.path.clone(), of.build_id.clone()), of));
        let mut all: BTreeMap<File, FileVariables> = known.collect();
        let mut is_more = false;
        let looked_at = self.images.iter().filter(|image| !image.snapshot_blocks.is_empty());
        let mut modules: Vec<Module> = Vec::new();
        for block in looked_at.flat_map(|image| &image.module_blocks) {
            modules.extend(self.reader.json::<Vec<Module>>(block)?);
        }
        for file in files(&modules) {
            let before = all.get(&file).map_or((0, 0), wealth);
            if let Some(found) = found(resolver, &file).filter(|found| wealth(found) > before) {
                all.insert(file, found);
                is_more = true;
            }
        }
        Ok(is_more.then(|| all.into_values().collect()))
    }
}

fn read(reader: &Reader, block: &BlockRef) -> Result<Vec<FileVariables>, Unreadable> {
    let mut payload = Vec::new();
    reader.payload(block, &mut payload)?;
    variables::decode(&payload).map_err(|damage| block.damaged(damage))
}

fn files<'a>(modules: impl IntoIterator<Item = &'a Module>) -> BTreeSet<File> {
    modules.into_iter().map(|module| (module.path.clone(), module.build_id.clone())).collect()
}

fn found(resolver: &Resolver, (path, build_id): &File) -> Option<FileVariables> {
    variables_of(resolver, path, build_id)
}

/// How many variables and ranges of small ones are known, and the lines of how many.
fn wealth(of: &FileVariables) -> (usize, usize) {
    let lines = of.variables.iter().filter(|variable| variable.line.is_some());
    (of.variables.len() + of.small.len(), lines.count())
}
