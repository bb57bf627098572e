// The one place that knows where a WebKit is and how it is started: WebKitGTK's own browser for tests, over WebDriver,
// on a display without a screen, since it cannot run headless. Run as a program it prints the driver's path.
//
// A driver has one browser, and a browser one profile: each context has its own, with what it stores in memory. They
// take long to start, so there are parts of one, too. Of Playwright's objects there is here what visits.test.js uses.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

import { ended, findExecutable, runAsProgram } from "./executable.js";

/** Paths of the driver and of the display's server; an error with a remedy when one is missing. */
export function findWebKit() {
  const find = (title, variable, name) => findExecutable({ title, variable, names: [name], apps: [] });
  return {
    driver: find("WebKitGTK driver", "WEBKIT_DRIVER_BIN", "WebKitWebDriver"),
    display: find("X server without a screen", "XVFB_BIN", "Xvfb"),
  };
}

/** Why there is no WebKit here, if there is none. */
export function withoutWebKit() {
  try {
    findWebKit();
    return false;
  } catch (error) {
    return error.message;
  }
}

/** Starts the display; the caller closes what is returned. */
export async function launchWebKit() {
  const { driver, display } = findWebKit();
  const server = spawn(display, ["-displayfd", "1", "-nolisten", "tcp"], { stdio: ["ignore", "pipe", "ignore"] });
  const [number] = await once(createInterface(server.stdout), "line");
  const environment = { ...process.env, DISPLAY: `:${number}` };
  const drivers = new Set();
  const newContext = () => Context.start(driver, environment, drivers);
  const shared = [1, 2].map(() => ({ parts: 0, context: undefined }));
  return {
    newContext,
    /** The windows of somebody who shares a profile: what is stored, and locked, is apart where origins are. */
    async newPart() {
      const place = shared[0].parts <= shared[1].parts ? shared[0] : shared[1];
      place.parts += 1;
      return new Part(await (place.context ??= newContext()), () => (place.parts -= 1));
    },
    // Those of contexts that nobody closed would keep this process from its end.
    close: () => Promise.all([...drivers, server].map(ended)),
  };
}

/** Within this time a browser starts, on a busy machine too. */
const START = 30_000;
/** Within this time a command is done. */
const DONE = 90_000;

class Context {
  #driver;
  #session;
  /** The requests to the driver: one after the other, since it has one current window. */
  #queue = Promise.resolve();
  #first;
  #drivers;

  static async start(program, env, drivers) {
    // Now and then a driver and its browser do not find each other, and the driver waits forever, or another program
    // has taken its port: both start again.
    for (let attempt = 1; ; attempt += 1) {
      const context = new Context();
      const port = await freePort();
      context.#driver = spawn(program, [`--port=${port}`], { env, stdio: "ignore" });
      context.#drivers = drivers.add(context.#driver);
      const driver = `http://127.0.0.1:${port}/session`;
      const asked = { capabilities: { alwaysMatch: { browserName: "MiniBrowser" } } };
      try {
        const { sessionId } = await retried(() => command("POST", driver, asked, START));
        context.#session = `${driver}/${sessionId}`;
        context.#first = await context.ask(undefined, "GET", "window");
        return context;
      } catch (error) {
        await context.#ended();
        if (attempt === 3 || !["TimeoutError", "TypeError"].includes(error.name)) throw error;
      }
    }
  }

  /** Sends a command for a window, or for none. */
  ask(window, method, path, body) {
    const asked = this.#queue.then(async () => {
      if (window) await command("POST", `${this.#session}/window`, { handle: window });
      return command(method, `${this.#session}/${path}`, body);
    });
    this.#queue = asked.catch(() => {});
    return asked;
  }

  async newPage() {
    // A driver whose last window is closed ends: the one that it began with is never used.
    const { handle } = await this.ask(this.#first, "POST", "window/new", { type: "window" });
    return new Page(this, handle);
  }

  async close() {
    await command("DELETE", this.#session);
    await this.#ended();
  }

  async #ended() {
    await ended(this.#driver);
    this.#drivers.delete(this.#driver);
  }
}

class Part {
  #context;
  #left;
  #pages = [];

  constructor(context, left) {
    this.#context = context;
    this.#left = left;
  }

  async newPage() {
    const page = await this.#context.newPage();
    this.#pages.push(page);
    return page;
  }

  async close() {
    for (const page of this.#pages) await page.close();
    this.#left();
  }
}

class Page {
  #context;
  #window;
  #evaluated = 0;
  #closed;

  constructor(context, window) {
    this.#context = context;
    this.#window = window;
  }

  goto = (url) => this.#ask("POST", "url", { url });
  reload = () => this.#ask("POST", "refresh", {});
  goBack = () => this.#ask("POST", "back", {});
  close = () => (this.#closed ??= this.#ask("DELETE", "window"));

  /** Runs the function in the page with an argument, and awaits what it returns. Other windows are not kept waiting. */
  async evaluate(program, argument = null) {
    this.#evaluated += 1;
    const key = `${this.#evaluated}`;
    const start = `
      const [key, argument] = arguments;
      const told = (window.evaluated ??= {});
      new Promise((resolve) => resolve((${program})(argument))).then(
        (value) => (told[key] = { value }),
        (error) => (told[key] = { error: String(error) }),
      );`;
    const look = "return window.evaluated ? window.evaluated[arguments[0]] ?? null : { error: 'the page was left' }";
    await this.#run(start, key, argument);
    for (;;) {
      const told = await this.#run(look, key);
      if (told?.error) throw new Error(told.error);
      if (told) return told.value;
      await sleep(10);
    }
  }

  #run = (script, ...args) => this.#ask("POST", "execute/sync", { script, args });
  #ask = (...command) => this.#context.ask(this.#window, ...command);
}

async function command(method, url, body, time = DONE) {
  const signal = AbortSignal.timeout(time);
  const answer = await fetch(url, { method, body: body && JSON.stringify(body), signal });
  const { value } = await answer.json();
  if (!answer.ok) throw new Error(`${value.error}: ${value.message}`);
  return value;
}

/** A driver takes a moment until it listens. */
async function retried(ask) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (attempt === 2000 || !(error instanceof TypeError)) throw error;
      await sleep(50);
    }
  }
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

runAsProgram(import.meta, () => findWebKit().driver);
