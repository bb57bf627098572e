import { collect, explain, resume } from "ldp-pca/collect";

const survey = {
  url: import.meta.env.VITE_AGGREGATOR,
  digest: import.meta.env.VITE_TASK,
  maxEpsilon: 2, // the page's limit, whatever the task asks for
  collector: "Example Club",
  purpose: "to learn which activities go together",
};
const form = document.querySelector("form");
const status = document.querySelector("[role=status]");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  status.textContent = "…";
  // It asks in a dialog. The report is stored before it is sent: a reload or a second click sends the same one.
  status.textContent = await collect(survey, form).then(explain, explain);
});

// Send in the background what an earlier visit could not send.
void resume(survey);
