// One device's part in a collection.
//
// usage: node main.js AGGREGATOR TASK   (a URL, and the digest of the task that you looked at)
//   ldp-pca serve --data collected --task examples/app-task.json --listen 127.0.0.1:8080
//   node main.js http://127.0.0.1:8080 f42cbf3be11ffc0248245e011283b370ed4f218f55b75d597d355a160772aaee

import { consent, init, issuedId, Randomizer, submit, Task } from "ldp-pca";

const [url, digest] = process.argv.slice(2);
const record = { running: 4, cycling: 5, reading: -2, plan: "paid" };

await init();
const task = await Task.fetch(`${url}/tasks/${digest}`, { digest });
console.error(consent(task).text);

// The aggregator accepts only reports with ids that it issued.
const id = await issuedId(task, { url });
const report = new Randomizer(task, { maxEpsilon: 2 }).randomize(record, { id });
console.log(JSON.stringify(await submit(report, { url })));
