//! What belongs to loaded files.

/// Something of each module. Numbers of modules are small and leave no gaps, so they are places in a list.
#[derive(Debug)]
pub struct ByModule<T>(Vec<T>);

impl<T> Default for ByModule<T> {
    fn default() -> Self {
        ByModule(Vec::new())
    }
}

impl<T: Default> ByModule<T> {
    /// That of the module with this number, if there is one of it or of a later module.
    pub fn get(&self, module: u16) -> Option<&T> {
        self.0.get(usize::from(module))
    }

    /// That of the module with this number, to be changed.
    pub fn of(&mut self, module: u16) -> &mut T {
        let place = usize::from(module);
        if self.0.len() <= place {
            self.0.resize_with(place + 1, T::default);
        }
        &mut self.0[place]
    }

    /// All, with the numbers of their modules.
    pub fn into_all(self) -> impl Iterator<Item = (u16, T)> {
        (0..=u16::MAX).zip(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_module_has_its_own() {
        let mut by_module: ByModule<u64> = ByModule::default();
        assert_eq!(by_module.get(0), None);
        *by_module.of(3) += 7;
        *by_module.of(u16::MAX) += 9;
        *by_module.of(3) += 1;
        assert_eq!([0, 3, u16::MAX].map(|module| by_module.get(module).copied()), [Some(0), Some(8), Some(9)]);
        let all: Vec<(u16, u64)> = by_module.into_all().filter(|(_, has)| *has > 0).collect();
        assert_eq!(all, [(3, 8), (u16::MAX, 9)]);
    }
}
