//! Where functions begin, as the unwinding rules tell (`.eh_frame`), which a file keeps when it is stripped of its names.

use crate::sections::{Slice, endian};
use gimli::{BaseAddresses, EhFrame, EhFrameHdr, ParsedEhFrameHdr, UnwindSection};
use object::{Object, ObjectSection};

/// The functions of a file by address.
pub(crate) struct FunctionBounds<'d> {
    /// For a binary search.
    header: ParsedEhFrameHdr<Slice<'d>>,
    rules: EhFrame<Slice<'d>>,
    bases: BaseAddresses,
}

impl<'d> FunctionBounds<'d> {
    /// `None`: the file has no unwinding rules, or they cannot be read.
    pub(crate) fn of(file: &object::File<'d>) -> Option<Self> {
        let section = |name| {
            let section = file.section_by_name(name)?;
            Some((section.address(), section.data().ok()?))
        };
        let ((header_at, header), (rules_at, rules)) = (section(".eh_frame_hdr")?, section(".eh_frame")?);
        let bases = BaseAddresses::default().set_eh_frame_hdr(header_at).set_eh_frame(rules_at);
        let address_size = if file.is_64() { 8 } else { 4 };
        let header = EhFrameHdr::new(header, endian(file)).parse(&bases, address_size).ok()?;
        Some(FunctionBounds { header, rules: EhFrame::new(rules, endian(file)), bases })
    }

    /// The first address of the function around an address. Of a function in two parts, such as one that the compiler moved
    /// unlikely code out of, that of the part.
    pub(crate) fn start(&self, address: u64) -> Option<u64> {
        let table = self.header.table()?;
        let rules = table.fde_for_address(&self.rules, &self.bases, address, EhFrame::cie_from_offset).ok()?;
        Some(rules.initial_address())
    }
}
