// Node 20 before 20.5 has no disposal symbols; compilers use the same stand-in.
const symbols: { asyncDispose?: symbol } = Symbol as never;
symbols.asyncDispose ??= Symbol.for("Symbol.asyncDispose");
