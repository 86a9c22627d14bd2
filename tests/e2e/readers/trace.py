"""Reads a trace by Perfetto's published definitions, and prints its sums as JSON."""

import collections
import json
import sys

from definitions import check
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

trace = Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
functions, frames, stacks, tracks = {}, {}, {}, {}
heap, functions_of, counters, slices = collections.Counter(), collections.Counter(), {}, collections.Counter()
depth, profiles = collections.Counter(), 0
last = None
for packet in trace.packet:
    check(packet)
    data = packet.interned_data
    functions.update((name.iid, name.str.decode()) for name in data.function_names)
    frames.update((frame.iid, functions[frame.function_name_id]) for frame in data.frames)
    stacks.update((stack.iid, [frames[frame] for frame in stack.frame_ids]) for stack in data.callstacks)
    if packet.HasField("profile_packet"):
        assert packet.profile_packet.index == profiles
        profiles += 1
        for dump in packet.profile_packet.process_dumps:
            for sample in dump.samples:
                heap["bytes"] += sample.self_allocated
                heap["allocations"] += sample.alloc_count
                heap["live_bytes"] += sample.self_allocated - sample.self_freed
                heap["live_blocks"] += sample.alloc_count - sample.free_count
                for function in set(stacks[sample.callstack_id]):
                    functions_of[function] += sample.alloc_count
        last = packet.profile_packet.continued
    if packet.HasField("track_descriptor"):
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor
    if packet.HasField("track_event"):
        event = packet.track_event
        track = tracks[event.track_uuid]
        if event.type == TrackEvent.TYPE_COUNTER and event.HasField("counter_value"):
            most = max(event.counter_value, counters.get(event.track_uuid, (0, 0))[1])
            counters[event.track_uuid] = (event.counter_value, most)
        elif event.type == TrackEvent.TYPE_SLICE_BEGIN:
            slices[event.name] += 1
            depth[event.track_uuid] += 1
        elif event.type == TrackEvent.TYPE_SLICE_END:
            depth[event.track_uuid] -= 1
            assert depth[event.track_uuid] >= 0, track
        elif event.type == TrackEvent.TYPE_INSTANT:
            slices[event.name] += 1
assert last is False, "the last profile is not finished"
sums, highest = collections.Counter(), collections.Counter()
for uuid, (value, most) in counters.items():
    sums[tracks[uuid].name] += value
    highest[tracks[uuid].name] += most
print(json.dumps({
    "heap": heap, "functions": functions_of, "counters": sums, "highest": highest, "slices": slices,
    "threads": sorted(track.thread.thread_name for track in tracks.values() if track.HasField("thread")),
    "processes": sorted(track.process.process_name for track in tracks.values() if track.HasField("process")),
}))
