// Entry point of the operator: configuration, log, task and signals.
import { setFlagsFromString } from 'node:v8';
import { ConfigError, type OperatorConfig, readConfig, usage, version } from './config.ts';
import { reconcileOnce } from './dry-run/reconcile-once.ts';
import { messageOf } from './error-message.ts';
import { createLog, type Log } from './log.ts';
import { connect, Operator } from './operator.ts';
import { readToken, smoke } from './smoke/smoke.ts';
import { uninstall } from './uninstall.ts';

/** By default V8 lets a heap grow to up to four times of what is in use before it collects the garbage of its old generation. */
const heapGrowthPercent = 50;

function configuration(): OperatorConfig {
  try {
    return readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.errors.join('\n')}\n\n${usage}`);
    process.exit(2);
  }
}

/** Stops the operator at the first signal, and exits at the second. */
function bindToProcess(operator: Operator, log: Log): void {
  let ending = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (ending) process.exit(1);
      ending = true;
      log.info({ signal }, 'ending');
      operator.close();
    });
  }
}

/** @returns why the operator ended; undefined after a requested shutdown */
async function run(config: OperatorConfig, log: Log): Promise<string | undefined> {
  const operator = new Operator(config, log);
  bindToProcess(operator, log);
  return operator.run();
}

async function runUninstall(config: OperatorConfig, log: Log): Promise<undefined> {
  const client = await connect(config, log);
  const { namespace, namespaces, timeout, release, deleteResources, deleteClaims } = config;
  try {
    await uninstall({ client, namespace, namespaces, timeout, release, deleteResources, deleteClaims, log });
  } finally {
    await client.close();
  }
}

async function runSmoke({ smoke: { tokens, ...what }, timeout }: OperatorConfig, log: Log): Promise<undefined> {
  await smoke({ ...what, token: readToken(tokens), timeout, log });
  log.info('smoke test passed');
}

/** Exit codes of `kubectl diff`: 1 if there are changes, 2 if they cannot be determined. */
async function runOnce(config: OperatorConfig, log: Log): Promise<undefined> {
  process.exitCode = 2;
  const client = await connect(config, log);
  try {
    const text = await reconcileOnce(client, config, log);
    await new Promise((resolve) => process.stdout.write(text, resolve));
    process.exitCode = text === '' ? 0 : 1;
  } finally {
    await client.close();
  }
}

setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);
const config = configuration();
const only = config.task === 'once';
// With --once only the diff is written to stdout.
const log = createLog({ level: config.logLevel, structured: config.structuredLogging, ...(only && { to: 'stderr' }) });
log.info({ version, config }, 'operator started');
const task = { uninstall: runUninstall, once: runOnce, smoke: runSmoke, run }[config.task];
// A lost Lease or a failed start ends the process; Kubernetes restarts it with empty memory.
const why = await task(config, log).catch(messageOf);
if (why === undefined) log.info('operator ended');
else log.fatal({ reason: why }, 'operator failed');
process.exit(process.exitCode ?? (why === undefined ? 0 : 1));
