// Loaded into every test file's process: ends one that outlives its deadline and says what keeps it alive. node:test itself
// gives a deadline to tests only, and would wait for ever for a file that leaves a socket or timer open.

/** Environment variable that carries the deadline, in milliseconds. */
export const deadlineVariable = 'MEDIAROOMS_TEST_FILE_DEADLINE';

const deadline = Number(process.env[deadlineVariable]);

// The runner loads this too; only a file's process has a context.
if (process.env.NODE_TEST_CONTEXT && deadline > 0) {
  setTimeout(() => {
    const resources = [...new Set(process.getActiveResourcesInfo())].join(', ');
    console.error(`${process.argv[1]} was still running after ${deadline / 1000} s and was ended; open: ${resources || 'nothing'}`);
    process.exit(1);
  }, deadline).unref();
}
