// The place of a browser, and the end of a program that a test has started.

import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * The path of a browser: what the environment variable `variable` says, or the first of `names` on PATH, or of `apps`.
 * Throws an error with a remedy when there is none.
 */
export function findExecutable({ variable, names, apps, title }) {
  if (process.env[variable]) return process.env[variable];
  const folders = (process.env.PATH ?? "").split(delimiter);
  const candidates = [...names.flatMap((name) => folders.map((folder) => join(folder, name))), ...apps];
  const found = candidates.find(isExecutable);
  if (!found) throw new Error(`no ${title} found: run scripts/setup.sh, or set ${variable} to its executable`);
  return found;
}

/** When `module` (its `import.meta`) is run as a program: prints what `text` makes of the arguments, or its error. */
export function runAsProgram(module, text) {
  if (module.url !== pathToFileURL(process.argv[1] ?? "").href) return;
  try {
    console.log(text(process.argv.slice(2)));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}

/** Ends a process, unless it has ended. */
export async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill();
  await gone;
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
