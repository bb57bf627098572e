import { collect, explain, resume } from "ldp-pca/collect";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";

const survey = {
  url: import.meta.env.VITE_AGGREGATOR,
  digest: import.meta.env.VITE_TASK,
  maxEpsilon: 2, // the page's limit, whatever the task asks for
  collector: "Example Club",
  purpose: "to learn which activities go together",
};

// Once for the page, in the background: what an earlier visit could not send.
void resume(survey);

function Survey() {
  const [told, setTold] = useState("");

  function takePart(event) {
    event.preventDefault();
    setTold("…");
    // The form itself: an empty field is a missing value.
    collect(survey, event.currentTarget).then(explain, explain).then(setTold);
  }

  return (
    <form onSubmit={takePart} noValidate>
      {["running", "cycling", "reading"].map((name) => (
        <p key={name}>
          <label>
            {name} <input name={name} type="number" min="-5" max="5" />
          </label>
        </p>
      ))}
      <p>
        <label>
          Your plan{" "}
          <select name="plan">
            <option>free</option>
            <option>paid</option>
          </select>
        </label>
      </p>
      <button disabled={told === "…"}>Take part</button>
      <p role="status">{told}</p>
    </form>
  );
}

createRoot(document.getElementById("root")).render(
  <StrictMode>
    <h1>How much do you like …</h1>
    <Survey />
  </StrictMode>,
);
