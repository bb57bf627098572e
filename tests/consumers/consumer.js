// The npm package as others get it: packed into a tarball, and installed in a new folder outside this repository. The
// tools of a consumer (its package.json has exact versions) are kept in .tools, so that only the first run downloads.
//
// Run as a program it installs the tools of every consumer: scripts/setup.sh does.

import { execFile, execFileSync, spawn } from "node:child_process";
import {
  cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve, sep } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CONSUMERS = join(ROOT, "tests/consumers");
const SHARED = join(CONSUMERS, "shared");
const CACHE = join(ROOT, ".tools/consumers");

const NPM_INSTALL = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--no-package-lock"];
// The tools' telemetry stays off, and their output uncoloured.
const ENVIRONMENT = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NO_COLOR: "1" };

/** The package as `npm pack` makes it: `file` is the tarball, `content` what is in it; `remove` deletes it. */
export function pack() {
  const folder = mkdtempSync(join(tmpdir(), "ldp-pca-packed-"));
  const output = execFileSync("npm", ["pack", "--json", "--pack-destination", folder], {
    cwd: join(ROOT, "pkg"),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [{ filename, files }] = JSON.parse(output);
  return {
    file: join(folder, filename),
    content: files.map(({ path }) => path).sort(),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export class Consumer {
  /** The place of the installation. */
  folder;
  /** Ends its servers, which write below the folder. */
  #closing = [];

  /** `source`: the consumer's folder in the repository; `tarball`: the packed package. */
  static async install(source, tarball) {
    const consumer = new Consumer();
    consumer.folder = mkdtempSync(join(tmpdir(), `ldp-pca-${basename(source)}-`));
    try {
      cpSync(SHARED, consumer.folder, { recursive: true });
      cpSync(join(ROOT, source), consumer.folder, { recursive: true });
      const modules = join(tools(source), "node_modules");
      // cp is many times faster than Node's own copying.
      if (existsSync(modules)) execFileSync("cp", ["-a", modules, consumer.folder]);
      await npm([...NPM_INSTALL, "--offline", "--no-save", "--ignore-scripts", tarball], consumer.folder);
      return consumer;
    } catch (error) {
      await consumer.remove();
      throw error;
    }
  }

  /** Runs a script of its package.json, with more variables in its environment, and returns what it printed. */
  async run(script, args = [], environment = {}) {
    return npm(["run", "--silent", script, "--", ...args], this.folder, environment);
  }

  /**
   * Starts a server that prints its URL, one of its tools or the program at a path, with more variables in its
   * environment. Resolves to its `url` and `close`.
   */
  async serve(command, args, environment) {
    const server = spawn(resolve(this.folder, "node_modules/.bin", command), args, {
      cwd: this.folder,
      env: { ...ENVIRONMENT, ...environment },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = new Promise((resolve) => server.once("close", resolve));
    const close = async () => {
      server.kill();
      await ended;
    };
    this.#closing.push(close);
    for await (const line of createInterface({ input: server.stdout })) {
      const [url] = line.match(/http:\/\/[^/\s]+(?=\/|$)/) ?? [];
      if (url) {
        // The rest of its output is read and dropped, so that it does not wait for a reader.
        server.stdout.resume();
        return { url, close };
      }
    }
    throw new Error(`${command} ended before it printed its address`);
  }

  async remove() {
    await Promise.all(this.#closing.map((close) => close()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The folder with the installed tools of a consumer, which has no node_modules when it needs none. */
function tools(source) {
  const folder = cacheOf(source);
  const wanted = toolsOf(source);
  const stamp = join(folder, "package.json");
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) {
    throw new Error(`the tools of ${source} are not installed: run scripts/setup.sh`);
  }
  return folder;
}

function cacheOf(source) {
  return join(CACHE, source.replaceAll(sep, "-"));
}

/** A package.json with what the consumer needs beside the package under test. */
function toolsOf(source) {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, source, "package.json"), "utf8"));
  const { "ldp-pca": _, ...others } = { ...dependencies, ...devDependencies };
  return JSON.stringify({ private: true, dependencies: others });
}

async function installTools(source) {
  const folder = cacheOf(source);
  const wanted = toolsOf(source);
  const stamp = join(folder, "package.json");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  console.log(`installing the tools of ${source}`);
  const building = `${folder}.new`;
  for (const old of [building, folder]) rmSync(old, { recursive: true, force: true });
  mkdirSync(building, { recursive: true });
  writeFileSync(join(building, "package.json"), wanted);
  await npm(NPM_INSTALL, building);
  renameSync(building, folder);
}

async function npm(args, cwd, environment) {
  try {
    const env = { ...ENVIRONMENT, ...environment };
    return (await promisify(execFile)("npm", args, { cwd, env, maxBuffer: 1 << 26 })).stdout;
  } catch (error) {
    throw new Error(`npm ${args.join(" ")} failed in ${cwd}:\n${error.stdout}${error.stderr}`);
  }
}

/** The folders of all consumers, in the repository. */
export function sources() {
  const below = (folder) => readdirSync(join(ROOT, folder)).map((name) => join(folder, name));
  return [...below("tests/consumers"), ...below("examples")].filter((source) =>
    existsSync(join(ROOT, source, "package.json")),
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  for (const source of sources()) await installTools(source);
}
