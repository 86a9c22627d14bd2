//! Why there is no patch.

use std::borrow::Cow;
use std::fmt;

/// Why a change is not made: a statement for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(Cow<'static, str>);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl From<&'static str> for Refusal {
    fn from(why: &'static str) -> Refusal {
        Refusal(why.into())
    }
}

impl From<String> for Refusal {
    fn from(why: String) -> Refusal {
        Refusal(why.into())
    }
}

/// A name of the source gives no expression.
impl From<regex::Error> for Refusal {
    fn from(error: regex::Error) -> Refusal {
        error.to_string().into()
    }
}
