// What a part of the kit lives in: a test, or a whole file of tests.

/**
 * Runs what ends a part. A test's context is one; for a part that all tests of a file share, give the hook of the file:
 * `const plane = await startControlPlane({ after })` with `after` of node:test, outside of any test.
 */
export type Scope = { after: (end: () => Promise<void>) => void };
