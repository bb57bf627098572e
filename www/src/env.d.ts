/** The address of the worker's module: see vite.config.ts. */
declare module "worker-url" {
  const url: string;
  export default url;
}
