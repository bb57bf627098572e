// The work of every consumer with the package, whatever built or runs it: take part in the collection that `aggregator`
// (a URL) is for, with one report.

const RECORD = { running: 4, cycling: 5, reading: -2, plan: "paid" };

/** `api`: what the consumer imported, of whichever entry. Returns what became of the report. */
export async function participate({ compare, init, issuedId, loadMethods, Randomizer, submit, Task }, aggregator) {
  await init();
  if (loadMethods) await compareOne(loadMethods, compare);
  const { tasks } = await (await fetch(`${aggregator}/tasks`)).json();
  const task = await Task.fetch(`${aggregator}/tasks/${tasks[0]}`, { digest: tasks[0] });
  // In the worker's entry it is a promise.
  const id = await issuedId(task, { url: aggregator });
  const report = await new Randomizer(task, { maxEpsilon: 2 }).randomize(RECORD, { id });
  return submit(report, { url: aggregator });
}

/** That the lab has a method of its second module, which takes part in nothing: it only has to be found and to run. */
async function compareOne(loadMethods, compare) {
  await loadMethods();
  const asked = { dimension: 4, rank: 1, epsilon: 1, count: 500, drawn: "records", methods: ["dps-pca"] };
  const [{ refusal, trials }] = compare(asked).methods;
  if (!(trials[0]?.sinThetaSquared < 1)) throw new Error(`no estimate by DPS-PCA: ${refusal}`);
}

/**
 * Takes part in a page, by several entries in turn. Its address names the aggregator; `data-outcomes` is what came of
 * it.
 */
export async function participateInPage(...apis) {
  const aggregator = new URLSearchParams(location.search).get("aggregator");
  const outcomes = [];
  for (const api of apis) {
    outcomes.push(await participate(api, aggregator).catch((error) => ({ error: String(error) })));
  }
  document.body.dataset.outcomes = JSON.stringify(outcomes);
}
