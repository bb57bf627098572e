// Runs on the server: the visitor's page arrives with the checked task and with the consent text.

import { consent, init, Task } from "ldp-pca";

import Survey from "./survey.js";

// Read the environment of the running server, not that of the build.
export const dynamic = "force-dynamic";

export default async function Page() {
  const { AGGREGATOR: url, TASK: digest } = process.env;
  await init();
  const task = await Task.fetch(`${url}/tasks/${digest}`, { digest });
  return (
    <>
      <h1>How much do you like …</h1>
      <Survey url={url} document={task.toJSON()}>
        <p>{consent(task).text}</p>
      </Survey>
    </>
  );
}
