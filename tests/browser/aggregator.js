// The native aggregator: the real binary, on a free port, with a folder of its own.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

import { inTurn } from "../js/hooks.js";
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

/** A server of the command line, with a folder of its own. */
class Server {
  folder = mkdtempSync(join(tmpdir(), "ldp-pca-server-"));
  #process;

  /** One of these, for all tests of a file. */
  static forTests(...given) {
    const server = new this(...given);
    inTurn(() => server.start());
    after(() => server.remove());
    return server;
  }

  /** One of these, until the test `t` ends. */
  static async during(t, ...given) {
    const server = new this(...given);
    t.after(() => server.remove());
    await server.start();
    return server;
  }

  /** Runs a command, until it says that it listens at the address in the brackets of `says`: its `url`. */
  async run(parameters, says = /^listening on (http:\/\/127\.0\.0\.1:\d+)$/) {
    this.#process = spawn(binary(), parameters, { stdio: ["ignore", "pipe", "inherit"] });
    this.url = await new Promise((resolve, reject) => {
      this.#process.once("error", reject);
      const early = (code) => reject(new Error(`${parameters[0]} ended with ${code} before it listened`));
      this.#process.once("exit", early);
      createInterface({ input: this.#process.stdout }).on("line", (line) => {
        const [, url] = line.match(says) ?? [];
        if (url) resolve(url);
      });
    });
  }

  async stop() {
    if (this.#process) await ended(this.#process);
  }

  async remove() {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** For reports that make their own ids. */
export const OWN_IDS = ["--no-issued-ids"];

export class Aggregator extends Server {
  #options;

  /** For `task` (its JSON); with the folder `www`, if any, served at /, and more of its options. */
  constructor(task, www, more = []) {
    super();
    writeFileSync(join(this.folder, "task.json"), JSON.stringify(task));
    this.#options = [...(www ? ["--www", www] : []), ...more];
  }

  /** Starts it; a second time with what it had collected, on the same port. */
  start() {
    const data = ["--data", join(this.folder, "data"), "--task", join(this.folder, "task.json")];
    const { host } = new URL(this.url ?? "http://127.0.0.1:0");
    return this.run(["serve", ...data, "--listen", host, "--open-recovery", ...this.#options]);
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
    const token = readFileSync(join(this.folder, "data/admin.token"), "utf8").trim();
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(document),
    });
    if (!response.ok) throw new Error(`the aggregator answers ${response.status}: ${await response.text()}`);
    return response.json();
  }
}

/** A relay before an aggregator, with batches of this size. */
export class Relay extends Server {
  constructor(gateway, batch) {
    super();
    this.start = () => {
      const to = ["--gateway", gateway.url, "--batch", batch];
      return this.run(["relay", "--data", this.folder, ...to, "--listen", "127.0.0.1:0"]);
    };
  }
}

/** A demo with a relay, once it serves its page from the folder `www`. */
export class Demo extends Server {
  constructor(www) {
    super();
    this.start = () => {
      const options = ["--relay", "--population", "1000", "--listen", "127.0.0.1:0", "--www", www];
      return this.run(["demo", ...options], /^page ready: (http:\/\/127\.0\.0\.1:\d+)\/$/);
    };
  }
}
