// Lifetime of a part of the kit: a test, or a whole file of tests.

/**
 * Registers cleanup functions. The context of a test is a scope; for a part that all tests of a file share, pass the hook of the file:
 * `const plane = await startControlPlane({ after })` with `after` of node:test, outside of any test.
 */
export type Scope = { after: (end: () => Promise<void>) => void };
