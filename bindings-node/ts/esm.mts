// One instance for both module systems: classes and open runtimes are the same however the package was loaded.
export * from "./index.js";
