//! Every decoder, on any bytes.

use memtoll_fuzz::{duration, in_time, limit_memory};
use memtoll_trace::events::{Decoder, MAX_EVENTS, read_header};
use memtoll_trace::frame::{HEADER_BYTES, Header};
use memtoll_trace::{chapter, costs, inherited, nodes, parts, summary, symbols::Symbols};

#[test]
fn payloads() {
    limit_memory();
    bolero::check!().with_test_time(duration()).with_max_len(2048).for_each(|bytes: &[u8]| {
        in_time(|| {
            let mut events = Vec::new();
            if Decoder::new().decode(bytes, &mut events).is_ok() {
                assert!(read_header(bytes).is_ok_and(|header| header.count == events.len()));
            }
            assert!(events.len() <= MAX_EVENTS);
            let packed = zstd::bulk::compress(bytes, 1).unwrap_or_default();
            for payload in [bytes, &packed] {
                let _ = nodes::decode(payload);
                let _ = inherited::decode(payload);
                let _ = summary::decode(payload);
                let _ = chapter::decode(payload, chapter::Wanted::All);
                let _ = parts::decode(payload);
                assert!(costs::decode(payload).map_or(0, |costs| costs.len()) <= costs::MAX_COSTS);
                let _ = Symbols::decode(payload);
            }
            if let Some(header) = bytes.first_chunk::<HEADER_BYTES>()
                && let Some(parsed) = Header::parse(header)
            {
                assert_eq!(parsed.bytes(), *header);
            }
        });
    });
}
