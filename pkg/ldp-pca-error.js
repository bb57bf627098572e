// The class of all errors, alone: entries that must be small take no other.

export class LdpPcaError extends Error {
  constructor(code, message, details) {
    super(message, details);
    Object.assign(this, details, { code });
  }
}
// On the prototype, like the names of the built-in errors: a minifier changes the class's own.
LdpPcaError.prototype.name = "LdpPcaError";
