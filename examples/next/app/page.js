// Runs on the server: the visitor's page arrives with the consent text of the checked task.

import { consent, init, Task } from "ldp-pca";

import Survey from "./survey.js";

// Read the environment of the running server, not that of the build.
export const dynamic = "force-dynamic";

export default async function Page() {
  const { AGGREGATOR: url, TASK: digest } = process.env;
  const survey = {
    url,
    digest,
    maxEpsilon: 2, // the page's limit, whatever the task asks for
    collector: "Example Club",
    purpose: "to learn which activities go together",
  };
  await init();
  const task = await Task.fetch(`${url}/tasks/${digest}`, { digest });
  return (
    <>
      <h1>How much do you like …</h1>
      <Survey survey={survey}>
        <p>{consent(task, survey).text}</p>
      </Survey>
    </>
  );
}
