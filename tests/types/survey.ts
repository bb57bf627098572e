// Made by `ldp-pca task types`. A task never changes: make this again for another one.

/** The task, for `Task.parse`. */
export const task = {"version":1,"schema":{"columns":[
  {"type":"numeric","name":"height","offset":170.0,"scale":0.1},
  {"type":"ignored","name":"note"},
  {"type":"categorical","name":"plan \"of\" today","values":["free","paid"],"unseen":"zero"},
  {"type":"categorical","name":"device","values":["phone","other"],"unseen":"other"},
]},"bounding":{"type":"clip","radius":1.5},"mechanism":{"type":"gaussian","epsilon":1.0,"delta":1e-6,"calibration":"analytic"},"folds":2} as const;

/** Its digest, for `Task.fetch<typeof task.schema>(url, { digest })`. */
export const digest = "8ba77b3eaaedd75b3ad31e571daca196a8250af13646480d9a3fe36de3c1545f";

/** A record: a value for every column, or none where a question was skipped. */
export interface TaskRecord {
  readonly "height": number | null | undefined;
  readonly "plan \"of\" today": "free" | "paid" | null | undefined;
  readonly "device": string | null | undefined;
}

/** The values that categorical columns list. */
export const labels = {
  "plan \"of\" today": ["free","paid"],
  "device": ["phone","other"],
} as const;
