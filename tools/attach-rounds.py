#!/usr/bin/env python3
"""Attaches memtoll to programs under load again and again, kills it at random instants, and says what the programs noticed.

  tools/attach-rounds.py MEMTOLL [--rounds N] [--only NAME]

Prints a table. Ends with 1 if a program ended, answered wrongly, or has an error in its log.
"""
import argparse
import http.client
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "bench" / "programs"
UNITS = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}
# The columns of times, and what stands before each in memtoll's last line.
TIMES = {
    "stop at begin": "stood still for",
    "stop at end": "when the recording began,",
    "calls wait": "waited for up to",
    "one thread prepares": "prepared it for",
}


class Load:
    """Clients that compare each answer with what it must be."""

    def __init__(self, clients, ask):
        self.wrong, self.right, self.over = [], 0, False
        self.threads = [threading.Thread(target=self.run, args=(ask, i), daemon=True) for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self, ask, number):
        try:
            for right in ask(number):
                if self.over:
                    return
                self.right += right
                if not right:
                    self.wrong.append("a wrong answer")
        except (OSError, http.client.HTTPException) as error:
            self.wrong.append(repr(error))

    def end(self):
        self.over = True
        for thread in self.threads:
            thread.join(5)
        return self.wrong, f"{self.right:,} answers right"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for_port(port):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
    sys.exit(f"nothing listens on port {port}")


class Program:
    """A program under load. `end` returns what went wrong, and what it said."""

    def __init__(self, folder):
        self.folder = folder


class Redis(Program):
    name = "redis-server under redis-benchmark"

    def start(self):
        port = free_port()
        self.log = self.folder / "redis.log"
        self.process = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--logfile", str(self.log)],
                                        cwd=self.folder, stdout=subprocess.DEVNULL)
        wait_for_port(port)
        self.pid = self.process.pid
        self.benchmark = subprocess.Popen(
            ["redis-benchmark", "-q", "-p", str(port), "-t", "set,get,lpush,lrange_100", "-n", "100000000", "-c", "8",
             "-r", "100000"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

        def ask(number):
            with socket.create_connection(("127.0.0.1", port), 10) as one:
                file = one.makefile("rb")
                for i in range(10**9):
                    value = f"{number} {i}".encode() * 20
                    one.sendall(b"SET own%d %b\r\nGET own%d\r\n" % (number, b'"' + value + b'"', number))
                    set_, length = file.readline(), file.readline()
                    yield set_ == b"+OK\r\n" and length == b"$%d\r\n" % len(value) and file.readline() == value + b"\r\n"
        self.load = Load(2, ask)

    def end(self):
        wrong, said = self.load.end()
        if self.benchmark.poll() is not None:
            wrong.append(f"redis-benchmark ended: {self.benchmark.stderr.read()}")
        self.benchmark.kill()
        self.process.terminate()
        wrong += [] if self.process.wait(20) == 0 else ["it did not end by itself"]
        wrong += [line for line in self.log.read_text().splitlines() if "BUG" in line or "crash" in line.lower()]
        return wrong, said


class Nginx(Program):
    name = "nginx, a worker under load"

    def start(self):
        port = free_port()
        self.log = self.folder / "error.log"
        page = "".join(f"<p>{i}</p>" for i in range(2000))
        (self.folder / "index.html").write_text(page)
        (self.folder / "nginx.conf").write_text(f"""
            daemon off; worker_processes 1; pid {self.folder}/pid; error_log {self.log} warn;
            user {"root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")};
            events {{ worker_connections 64; }}
            http {{ access_log off; gzip on; gzip_types text/html; root {self.folder};
              client_body_temp_path {self.folder}/b; proxy_temp_path {self.folder}/p; fastcgi_temp_path {self.folder}/f;
              uwsgi_temp_path {self.folder}/u; scgi_temp_path {self.folder}/s;
              server {{ listen 127.0.0.1:{port}; }} }}""")
        self.process = subprocess.Popen(["nginx", "-c", str(self.folder / "nginx.conf"), "-p", str(self.folder)],
                                        stderr=subprocess.DEVNULL, env=os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin"})
        wait_for_port(port)
        self.pid = int(pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])

        def ask(number):
            while True:
                one = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                for _ in range(50):
                    one.request("GET", "/", headers={"Accept-Encoding": "gzip"} if number % 2 else {})
                    answer = one.getresponse()
                    body = answer.read()
                    yield answer.status == 200 and (number % 2 == 1 or body.decode() == page)
                one.close()
        self.load = Load(4, ask)

    def end(self):
        wrong, said = self.load.end()
        self.process.terminate()
        self.process.wait(20)
        return wrong + self.log.read_text().splitlines(), said


class Python(Program):
    name = "python3, 50 threads"
    script = """
import sys, threading, time
over, wrong, done = threading.Event(), [], [0]
def work(number):
    while not over.is_set():
        blocks = [bytes([number]) * (1000 + i) for i in range(50)]
        if any(block[-1] != number for block in blocks): wrong.append(number)
        done[0] += 1
        time.sleep(0.005)
threads = [threading.Thread(target=work, args=(i,)) for i in range(50)]
for thread in threads: thread.start()
print('ready', flush=True)
sys.stdin.read()
over.set()
for thread in threads: thread.join()
print(f'broken {len(wrong)} rounds {done[0]}')
"""

    def command(self):
        return ["python3", "-c", self.script]

    def start(self):
        self.process = subprocess.Popen(self.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid

    def end(self):
        try:
            said, _ = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            return ["it does not end"], ""
        wrong = [] if self.process.returncode == 0 and said.startswith("broken 0") else [f"{self.process.returncode}: {said}"]
        return wrong, said.strip().removeprefix("broken 0 ")


class Crowd(Python):
    name = "C++, 1,000 threads"

    def command(self):
        program = self.folder / "attach_crowd"
        subprocess.run(["c++", "-O2", "-g", "-pthread", PROGRAMS / "attach_crowd.cpp", "-o", program], check=True)
        return [program, "1000"]


class RustServer(Program):
    name = "Rust server under load"

    def start(self):
        program = self.folder / "attach_server"
        subprocess.run(["rustc", "-O", "--edition", "2021", PROGRAMS / "attach_server.rs", "-o", program], check=True)
        self.process = subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.pid, port = self.process.pid, int(self.process.stdout.readline())

        def ask(number):
            while True:
                with socket.create_connection(("127.0.0.1", port), 10) as one:
                    file = one.makefile("r")
                    for i in range(200):
                        one.sendall(f"{i} words of client {number}\n".encode())
                        yield file.readline() == f"{number} client of words {i}\n"
        self.load = Load(4, ask)

    def end(self):
        wrong, said = self.load.end()
        self.process.kill()
        return wrong + self.process.stderr.read().splitlines(), said


def is_alive(program):
    try:
        return pathlib.Path(f"/proc/{program.pid}/stat").read_text().rsplit(") ")[1][0] not in "ZX"
    except OSError:
        return False


def attached(memtoll, program, seconds):
    file = program.folder / "a.memtoll"
    command = [memtoll, "attach", str(program.pid), "-o", file, "--force", "--for", f"{round(seconds * 1000)}ms"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def of(times):
    times = sorted(times)
    if not times:
        return "-"
    at = lambda part: times[min(len(times) - 1, int(len(times) * part))]
    return f"{at(0.5):.1f} / {at(0.95):.1f} / {times[-1]:.1f}"


def rounds(memtoll, program, count):
    """The row of the table, and what went wrong."""
    program.start()
    threads = len(os.listdir(f"/proc/{program.pid}/task"))
    times, refused, wrong = {what: [] for what in TIMES}, [], []
    for _ in range(count):
        _, said = attached(memtoll, program, 0.05).communicate()
        found = {what: re.search(words + r" ([\d.]+)(ns|µs|ms|s)\b", said) for what, words in TIMES.items()}
        if not is_alive(program):
            wrong.append(f"it ended; memtoll said: {said}")
            break
        if all(found.values()):
            for what, found_time in found.items():
                times[what].append(float(found_time[1]) * UNITS[found_time[2]])
        else:
            refused.append(said.strip().splitlines()[-1] if said else "nothing")
    killed = 0
    while killed < count and not wrong:
        memtoll_process = attached(memtoll, program, 0.05)
        time.sleep(random.random() * 0.5)
        memtoll_process.kill()
        memtoll_process.communicate()
        killed += 1
        if not is_alive(program):
            wrong.append("it ended when memtoll was killed")
    # The next memtoll finds it in order.
    if not wrong:
        _, said = attached(memtoll, program, 0.2).communicate()
        if "stood still" not in said:
            wrong.append(f"not after a killed one: {said}")
    problems, says = program.end()
    wrong += problems
    for why in sorted(set(refused)):
        print(f"  {program.name}: {refused.count(why)} times: {why}", file=sys.stderr)
    attached_count = len(next(iter(times.values())))
    row = [program.name, f"{threads:,}", f"{attached_count} of {count}", str(killed), *map(of, times.values()), says]
    return row, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("memtoll")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--only", default="", help="programs whose name contains this")
    arguments = parser.parse_args()
    processor = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    print(f"{processor[1] if processor else 'unknown processor'}, {os.cpu_count()} cores, Linux {os.uname().release}\n")
    print(f"| program | threads | attached | killed | {' | '.join(f'{what}, ms' for what in TIMES)} | says |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|---|", flush=True)
    is_good = True
    for kind in [Redis, Nginx, Python, RustServer, Crowd]:
        if arguments.only not in kind.name:
            continue
        if kind in (Redis, Nginx) and not (shutil.which(kind.name.split(",")[0].split(" ")[0], path=os.environ["PATH"] + ":/usr/sbin")):
            sys.exit(f"{kind.name} is not installed")
        with tempfile.TemporaryDirectory() as folder:
            row, wrong = rounds(arguments.memtoll, kind(pathlib.Path(folder)), arguments.rounds)
        print("| " + " | ".join(row) + " |", flush=True)
        for why in wrong:
            print(f"  {kind.name}: {why}", file=sys.stderr)
        is_good &= not wrong
    sys.exit(0 if is_good else 1)


main()
