"""A current ClickHouse engine behind HTTP, as memtoll speaks to a server: python clickhouse.py FOLDER PORT.

The engine is chdb, which has no server of its own. Statements come as the body of a request; of an INSERT, the body is the rows,
in gzip, and the statement is a part of the address. Settings of servers that this engine has no more are left out."""

import gzip
import http.server
import os
import re
import sys
import tempfile
import threading
import urllib.parse

from chdb import session

folder, port = sys.argv[1], int(sys.argv[2])
engine = session.Session(os.path.join(folder, "data"))
# A connection on which nothing moves holds nobody up, but the engine answers one by one.
turn = threading.Lock()


def answer(database, statement, rows):
    if database == "system" or statement.startswith("CREATE DATABASE"):
        engine.query("USE default")
    else:
        engine.query(f"USE {database}")
    insert = re.fullmatch(r"INSERT INTO (\w+) FORMAT RowBinary", statement)
    if insert is None:
        form = re.search(r" FORMAT (\w+)$", statement)
        statement = statement[: form.start()] if form else statement
        return engine.query(statement, form[1] if form else "TabSeparated").bytes() or b""
    columns = engine.query(f"DESCRIBE TABLE {insert[1]}", "TSV").bytes().decode().splitlines()
    structure = ", ".join(" ".join(line.split("\t")[:2]) for line in columns)
    # A file is not on the engine's disk, which may be full.
    with tempfile.NamedTemporaryFile() as file:
        file.write(rows)
        file.flush()
        engine.query(f"INSERT INTO {insert[1]} SELECT * FROM file('{file.name}', 'RowBinary', '{structure}')")
    return b""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        chunks = []
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
        else:
            length = int(self.headers["Content-Length"])
            chunks.append(self.rfile.read(length))
            if len(chunks[0]) < length:
                return  # the connection broke
        body = b"".join(chunks)
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        statement, rows = (query["query"], body) if "query" in query else (body.decode(), b"")
        try:
            with turn:
                status, text = 200, answer(query.get("database", "default"), statement, rows)
        except RuntimeError as error:
            status, text = 500, str(error).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
