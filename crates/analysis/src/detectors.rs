//! What is a fact of a recording, each with its one threshold: findings of the report and the viewer, rules of the advice and
//! budgets ask here, so that none of them complains of what another one calls nothing.

mod hardly_touched;
mod heap_thrash;
mod never_freed;
mod null_frees;
mod stays_resident;
mod temporary;
mod waiting;

pub use hardly_touched::{HardlyTouched, hardly_touched, unseen};
pub use heap_thrash::{HeapThrash, heap_thrash};
pub use never_freed::{keeps_much, loses_much};
pub use null_frees::are_many_null_frees;
pub use stays_resident::stays_resident;
pub use temporary::{are_rarely_temporary, are_temporary};
pub use waiting::is_much_waiting;
