// Made by `ldp-pca task types`. A task never changes: make this again for another one.

/** The task, for `Task.parse`. */
export const task = {"version":4,"schema":{"columns":[
  {"type":"numeric","name":"height","offset":170.0,"scale":0.1},
  {"type":"ignored","name":"note"},
  {"type":"categorical","name":"plan \"of\" today","values":["free","paid"],"unseen":"zero"},
  {"type":"categorical","name":"device","values":["phone","other"],"unseen":"other"},
]},"bounding":{"type":"clip","radius":1.5},"mechanism":{"type":"gaussian","epsilon":1.0,"delta":1e-6,"calibration":"analytic"},"folds":2} as const;

/** Its digest, for `Task.fetch<typeof task.schema>(url, { digest })`. */
export const digest = "fe7442f65d44d61dc608de219dfcbaa5c34728d48dbb976efd67feca3475dbff";

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
