// Nothing but where things are: what webpack does with the package is its default.
export default { entry: "./main.js" };
