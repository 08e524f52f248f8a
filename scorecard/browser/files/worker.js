// Runs Python in the reader's browser: loads the runtime, every file checked by its SHA-256, then the
// book's code, and runs the cells of a page. One worker, one page; the panel ends it to cancel a run.
const root = new URL(".", self.location);
const ask = self.fetch.bind(self);
const post = (kind, content = {}) => self.postMessage({ kind, ...content });
let python = null;

async function hash(content) {
  const digest = await crypto.subtle.digest("SHA-256", content);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Fetch a file and check its hash; the browser's cache spares a second download.
async function fetchChecked(address, file) {
  let reply;
  try {
    reply = await ask(address, { credentials: "omit" });
  } catch {
    throw new Error(`${address} cannot be reached`);
  }
  if (!reply.ok) throw new Error(`${address} cannot be had (${reply.status})`);
  const content = await reply.arrayBuffer();
  const found = await hash(content);
  if (found !== file.sha256) throw new Error(`${file.name} has SHA-256 ${found}, needed is ${file.sha256}: it is not used`);
  return content;
}

async function load(site, address, packages) {
  const known = new Map(site.runtime.files.map((file) => [file.name, file]));
  let loaded = 0;
  const read = async (name) => {
    const content = await fetchChecked(address + name, known.get(name));
    loaded += content.byteLength;
    post("loading", { name, loaded });
    return content;
  };
  // All that the runtime asks for goes through here: what is not in the list is refused.
  self.fetch = async (input) => {
    const asked = String(input.url || input);
    const name = asked.startsWith(address) ? decodeURIComponent(asked.slice(address.length)) : "";
    if (!known.has(name)) throw new TypeError(`${asked} is no file of the runtime`);
    const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
    return new Response(await read(name), { headers: { "Content-Type": type } });
  };
  const run = async (name) => {
    const text = new Blob([await read(name)], { type: "text/javascript" });
    return import(URL.createObjectURL(text));
  };
  await run("pyodide.asm.js");
  const { loadPyodide } = await run("pyodide.mjs");
  python = await loadPyodide({ indexURL: address, env: { HOME: "/home/book", MPLBACKEND: "agg" } });
  await python.loadPackage(packages, { messageCallback: () => {}, checkIntegrity: false }); // checked above
  const code = await fetchChecked(new URL("code.zip", root).href, { name: "code.zip", ...site.code });
  python.FS.writeFile("/tmp/code.zip", new Uint8Array(code));
  await python.runPythonAsync(`
import sys, warnings, zipfile
zipfile.ZipFile("/tmp/code.zip").extractall("/home/book")
sys.path.insert(0, "/home/book")
warnings.simplefilter("ignore")
from scorecard.browser import run
`);
}

self.onmessage = async ({ data }) => {
  try {
    if (!python) {
      await load(data.site, data.address, data.site.runtime.packages);
      post("loaded", { calibration: python.globals.get("run").calibrate() });
    }
    const answer = python.globals.get("run").answer;
    const files = data.files || {};
    Object.entries(files).forEach(([name, content]) => python.FS.writeFile(`/tmp/${name}.csv`, new Uint8Array(content)));
    const report = (name, done, all) => post("progress", { name, done, all });
    post("done", { result: JSON.parse(answer(JSON.stringify(data.request), report)) });
  } catch (error) {
    // Of a traceback of Python the reader sees what is raised last: the cell, its line and the error.
    const text = String(error.message || error).trim();
    const [, failed] = /CellFailed: ([^]{1,600})/.exec(text) || [];
    post("failed", { message: failed || text.split("\n").pop() });
  }
};
