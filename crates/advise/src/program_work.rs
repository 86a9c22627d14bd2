//! The program's own work that goes with blocks: making and dropping the objects in them, formatting, copying. Plain runs
//! were sampled; the functions in which they were found tell how much it is.

use crate::range::Range;
use crate::site::Site;
use memtoll_analysis::calibration::{self, Figure};
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::library::{end_of_scope, qualified_name};
use memtoll_analysis::type_name::type_of;
use memtoll_model::Recording;
use memtoll_trace::meta::{self, Found};

/// Code of one function, with what was inlined there.
struct Code {
    functions: Vec<String>,
    /// Types whose objects are made, filled or dropped there.
    makes: Vec<String>,
    samples: u64,
}

/// Where the plain program works, outside of the kernel and the allocator.
#[derive(Default)]
pub struct OwnWork {
    code: Vec<Code>,
    /// The time for which a sample stands, ns.
    each: f64,
}

/// Beginnings of the names of member functions that make, fill or drop an object, beside constructors.
const MAKERS: &[&str] =
    &["~", "_M_", "_Vector_", "_Alloc_hider", "_S_", "drop", "new", "with_capacity", "clone", "from", "to_owned"];

impl OwnWork {
    /// Of a recording; without sampled runs, nothing is known.
    pub fn of(recording: &Recording) -> OwnWork {
        let Some(calibration) = &recording.calibration else { return OwnWork::default() };
        let Some(own) = calibration::plain(calibration).of(Figure::Part(Found::Program)) else {
            return OwnWork::default();
        };
        let samples: u64 = calibration.sampled.iter().map(|run| run.program).sum();
        OwnWork::sampled(&calibration.code, own.mean / samples.max(1) as f64)
    }

    /// Of the program's code in which it was found; each sample stands for this number of ns.
    pub fn sampled(code: &[meta::Code], each: f64) -> OwnWork {
        let code = code.iter().map(|code| Code {
            makes: code
                .functions
                .iter()
                .filter(|function| is_maker(function))
                .filter_map(|name| type_of(name))
                .collect(),
            functions: code.functions.clone(),
            samples: code.samples,
        });
        OwnWork { code: code.collect(), each }
    }

    /// Whether plain runs were sampled.
    pub fn is_known(&self) -> bool {
        !self.code.is_empty()
    }

    /// Time in functions for one of which this is true, ns. `None` without samples.
    pub fn inside(&self, is: impl Fn(&str) -> bool) -> Option<Range> {
        self.time(|code| code.functions.iter().any(|function| is(function)))
    }

    /// Time around calls from a function that nothing else calls from, ns: on the way between files, where code has no name, and a
    /// part of the function itself.
    pub fn around(&self, line: &str) -> Option<Range> {
        let way = self.inside(|function| function.contains("+0x") && !function.contains(".so"))?;
        let itself = self.inside(|function| function == line)?;
        Some(way.plus(itself.times(Range::new(0.0, 0.25, 0.6))))
    }

    /// Time in which objects of a site's type are made, filled and dropped, and in library functions on the way from its
    /// line to the allocation, ns.
    pub fn making(&self, site: &Site, line: &str) -> Option<Range> {
        let type_name = site.row.type_name.as_deref();
        let is_on_the_way = |code: &Code| {
            code.functions.iter().any(|function| function == line)
                && code.functions.iter().any(|function| site.through.contains(function))
        };
        let is_making =
            |code: &Code| code.makes.iter().any(|made| Some(made.as_str()) == type_name) || is_on_the_way(code);
        let all = self.time(is_making)?;
        // The processor blames a wait to what comes after it: of the samples in the line's function itself, as many are of
        // this as of what is inlined there.
        let has_line = |code: &Code| code.functions.iter().any(|function| function == line);
        let is_itself = |code: &Code| code.functions.first().is_some_and(|function| function == line);
        let samples = |is: &dyn Fn(&Code) -> bool| self.samples(is) as f64;
        let (itself, inlined) = (samples(&is_itself), samples(&|code| has_line(code) && !is_itself(code)));
        let making = samples(&|code| has_line(code) && !is_itself(code) && is_making(code));
        let blamed = if inlined > 0.0 { itself * making / inlined * self.each } else { 0.0 };
        Some(all.plus(Range::new(0.0, blamed, blamed * 1.5)))
    }

    fn samples(&self, is: &dyn Fn(&Code) -> bool) -> u64 {
        self.code.iter().filter(|code| is(code)).map(|code| code.samples).sum()
    }

    fn time(&self, is: impl Fn(&Code) -> bool) -> Option<Range> {
        if self.code.is_empty() {
            return None;
        }
        Some(Estimate::of_samples(self.samples(&is), self.each).into())
    }
}

/// Whether a member function makes, fills or drops an object of this type.
pub fn makes(function: &str, type_name: &str) -> bool {
    is_maker(function) && type_of(function).as_deref() == Some(type_name)
}

/// Whether a member function makes, fills or drops an object of its class.
fn is_maker(function: &str) -> bool {
    let (class, member) = split(qualified_name(function));
    let plain = class.split('<').next().unwrap_or(class).rsplit("::").next().unwrap_or(class);
    MAKERS.iter().any(|start| member.starts_with(start)) || (!plain.is_empty() && member == plain)
}

/// The class and the member of a qualified name.
fn split(name: &str) -> (&str, &str) {
    let (class, member) = end_of_scope(name).map_or(("", name), |at| (&name[..at], &name[at + 2..]));
    (class, member.split('<').next().unwrap_or(member))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Made, site_of};

    #[test]
    fn makers_are_told_from_users() {
        for (function, makes) in [
            ("std::vector<int, std::allocator<int> >::vector(unsigned long)", true),
            ("std::vector<int, std::allocator<int> >::~vector()", true),
            ("std::vector<std::string>::operator[](unsigned long)", false),
            ("std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)", true),
            ("std::__cxx11::basic_string<char>::size() const", false),
            ("alloc::boxed::Box<T>::new", true),
            ("look_up", false),
        ] {
            assert_eq!(is_maker(function), makes, "{function}");
        }
    }

    /// Functions, the innermost one first, and how often the program was found there; a sample is a microsecond.
    fn sampled(code: &[(&[&str], u64)]) -> OwnWork {
        let code = code.iter().map(|(functions, samples)| meta::Code {
            functions: functions.iter().map(|&function| function.to_owned()).collect(),
            samples: *samples,
        });
        OwnWork::sampled(&code.collect::<Vec<_>>(), 1e3)
    }

    #[test]
    fn time_inside_functions_is_that_of_their_samples() {
        let own = sampled(&[(&["format", "print_all"], 40), (&["print_all"], 60), (&["other"], 900)]);
        let inside = |name: &str| own.inside(|function| function == name).unwrap();
        assert_eq!((inside("print_all").likely, inside("format").likely), (100e3, 40e3));
        // Chance alone: of 100 samples, a fifth either way in 95 % of runs.
        assert!((75e3..85e3).contains(&inside("print_all").low), "{:?}", inside("print_all"));
        assert_eq!(inside("nowhere").likely, 0.0);
        assert!(inside("nowhere").high > 0.0, "what was not met can be rare");
        assert_eq!(OwnWork::default().inside(|_| true), None, "no samples");
    }

    #[test]
    fn the_way_to_another_file_goes_with_calls() {
        let own = sampled(&[(&["program+0x1040"], 50), (&["libz.so.1+0x99"], 400), (&["fill"], 100)]);
        let around = own.around("fill").unwrap();
        assert_eq!(around.likely, 75e3, "code without a name, and a quarter of the function");
    }

    #[test]
    fn objects_of_a_type_are_made_in_its_own_functions_and_on_the_way_to_the_allocation() {
        let made = Made { type_name: "std::vector<int>", through: vec!["grow_by"], ..Made::default() };
        let own = sampled(&[
            (&["std::vector<int, std::allocator<int> >::~vector()", "elsewhere"], 30),
            (&["grow_by", "fill"], 20),
            (&["look_up", "fill"], 60),
            (&["fill"], 40),
            (&["std::vector<char, std::allocator<char> >::~vector()"], 500),
        ]);
        let making = site_of(made, |site| own.making(site, "fill").unwrap());
        // 30 and 20, and of the function's own 40 as many as of what is inlined there: 20 of 80.
        assert_eq!(making.likely, 60e3);
        assert!(making.low < 50e3 && making.high > 65e3, "{making:?}");
    }
}
