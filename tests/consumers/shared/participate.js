// What every consumer does with the package, whatever built or runs it: take part in the collection that `aggregator`
// (a URL) is for, with one report.

const RECORD = { running: 4, cycling: 5, reading: -2, plan: "paid" };

/** `api`: what the consumer imported. Returns the aggregator's answer. */
export async function participate({ init, Randomizer, Task }, aggregator) {
  await init();
  const { tasks } = await (await fetch(`${aggregator}/tasks`)).json();
  const task = Task.fromJSON(await (await fetch(`${aggregator}/tasks/${tasks[0]}`)).text());
  const response = await fetch(`${aggregator}/tasks/${task.digest}/reports`, {
    method: "POST",
    headers: { "content-type": "application/vnd.ldp-pca.reports" },
    body: new Randomizer(task).randomize(RECORD),
  });
  return response.json();
}

/** The same in a page, which is told of the aggregator in its address. Leaves the outcome in the page. */
export async function participateInPage(api) {
  const aggregator = new URLSearchParams(location.search).get("aggregator");
  const outcome = await participate(api, aggregator).catch((error) => ({ error: String(error) }));
  document.body.dataset.outcome = JSON.stringify(outcome);
}
