// The native aggregator: the real binary, on a free port, with a folder of its own.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { ended } from "./executable.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The binary that LDP_PCA_BIN names, or built if need be. */
export const binary = () => process.env.LDP_PCA_BIN || built("ldp-pca-cli");

/** The program with the methods of papers, which LDP_PCA_RESEARCH_BIN names. */
export const researchBinary = () => process.env.LDP_PCA_RESEARCH_BIN || built("ldp-pca-research");

/** The binary of a package. Only cargo knows where it is. */
function built(name) {
  const messages = execFileSync("cargo", ["build", "--quiet", "--package", name, "--message-format=json"], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  const executables = messages.split("\n").filter(Boolean).map((line) => JSON.parse(line).executable);
  return executables.filter(Boolean).at(-1);
}

/** What a server says when it listens, with its port. */
const LISTENS = /^listening on http:\/\/127\.0\.0\.1:(\d+)$/;

/** The process, and what is in the brackets of `says`, once it has said so. */
function listening(what, program, parameters, says = LISTENS) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, parameters, { stdio: ["ignore", "pipe", "inherit"] });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the ${what} ended with ${code} before it listened`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      const [, where] = line.match(says) ?? [];
      if (where) resolve([child, where]);
    });
  });
}

/** For reports that make their own ids. */
export const OWN_IDS = ["--no-issued-ids"];

export class Aggregator {
  #binary = binary();
  #folder = mkdtempSync(join(tmpdir(), "ldp-pca-aggregator-"));
  #process;
  #www;
  #more;
  #port = 0;

  /** For `task` (its JSON); with the folder `www`, if any, served at /, and more of its options. */
  constructor(task, www, more = []) {
    writeFileSync(join(this.#folder, "task.json"), JSON.stringify(task));
    this.#www = www;
    this.#more = more;
  }

  /** One that is started, until the test `t` ends. */
  static async during(t, ...given) {
    const aggregator = new Aggregator(...given);
    t.after(() => aggregator.remove());
    await aggregator.start();
    return aggregator;
  }

  get url() {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Starts it; a second time with what it had collected, on the same port. */
  async start() {
    const data = ["--data", join(this.#folder, "data"), "--task", join(this.#folder, "task.json")];
    const open = ["--open-recovery", ...(this.#www ? ["--www", this.#www] : []), ...this.#more];
    const parameters = ["serve", ...data, "--listen", `127.0.0.1:${this.#port}`, ...open];
    [this.#process, this.#port] = await listening("aggregator", this.#binary, parameters);
  }

  /** The answer of `GET path`, parsed. */
  async get(path) {
    return (await fetch(this.url + path)).json();
  }

  /** How many reports of a task count: of the first one, if no digest is given. */
  async records(digest) {
    digest ??= (await this.get("/tasks")).tasks[0];
    return (await this.get(`/tasks/${digest}/status`)).records;
  }

  /** Gives the task other settings. */
  async configure(digest, settings) {
    await this.put(digest, await this.get(`/tasks/${digest}`), settings);
  }

  /** Adds a task, or gives it other settings. */
  async put(digest, task, settings) {
    await this.#administer("PUT", `/tasks/${digest}`, { task, settings });
  }

  /** Deletes a task and its reports. */
  async delete(digest) {
    await this.#administer("DELETE", `/tasks/${digest}?now=true`);
  }

  /** Ids for so many reports of the task. */
  async ids(digest, count) {
    return (await this.#administer("POST", `/tasks/${digest}/seeds`, { count })).ids;
  }

  async #administer(method, path, document) {
    const token = readFileSync(join(this.#folder, "data/admin.token"), "utf8").trim();
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(document),
    });
    if (!response.ok) throw new Error(`the aggregator answers ${response.status}: ${await response.text()}`);
    return response.status === 204 ? undefined : response.json();
  }

  async stop() {
    if (this.#process) await ended(this.#process);
  }

  async remove() {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A relay before an aggregator, with batches of this size. */
export class Relay {
  #folder = mkdtempSync(join(tmpdir(), "ldp-pca-relay-"));
  #process;
  #port = 0;

  get url() {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(gateway, batch) {
    const parameters = ["--data", this.#folder, "--gateway", gateway, "--batch", batch, "--listen", "127.0.0.1:0"];
    [this.#process, this.#port] = await listening("relay", binary(), ["relay", ...parameters]);
  }

  async remove() {
    if (this.#process) await ended(this.#process);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A demo with a relay, once it serves its page from the folder `www`. */
export class Demo {
  #process;

  async start(www) {
    const options = ["--relay", "--population", "1000", "--listen", "127.0.0.1:0", "--www", www];
    const says = /^page ready: (http:\/\/127\.0\.0\.1:\d+)\/$/;
    [this.#process, this.url] = await listening("demo", binary(), ["demo", ...options], says);
  }

  async remove() {
    if (this.#process) await ended(this.#process);
  }
}
