// The way in of the operator: configuration, log, the task, signals.
import { ConfigError, type OperatorConfig, readConfig, usage, version } from './config.ts';
import { reconcileOnce } from './dry-run/reconcile-once.ts';
import { createLog, type Log } from './log.ts';
import { connect, Operator } from './operator.ts';
import { readToken, smoke } from './smoke/smoke.ts';
import { uninstall } from './uninstall.ts';

function configuration(): OperatorConfig {
  try {
    return readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.errors.join('\n')}\n\n${usage}`);
    process.exit(2);
  }
}

/** Ends the operator at the first signal, the process at the second. */
function bindToProcess(operator: Operator, log: Log): void {
  let asked = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (asked) process.exit(1);
      asked = true;
      log.info({ signal }, 'ending');
      operator.close();
    });
  }
}

/** @returns why it ended; undefined where it was asked to */
async function run(config: OperatorConfig, log: Log): Promise<string | undefined> {
  const operator = new Operator(config, log);
  bindToProcess(operator, log);
  return operator.run();
}

async function runUninstall({ namespaces, timeout, release, ...config }: OperatorConfig, log: Log): Promise<undefined> {
  const client = await connect({ ...config, namespaces, timeout, release }, log);
  try {
    await uninstall({ client, namespaces, timeout, release, log });
  } finally {
    await client.close();
  }
}

async function runSmoke({ smoke: { tokens, ...what }, timeout }: OperatorConfig, log: Log): Promise<undefined> {
  await smoke({ ...what, token: readToken(tokens), timeout, log });
  log.info('the media nodes work');
}

/** As `kubectl diff`: ends with 1 where something would be done, 2 where that cannot be said. */
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

const config = configuration();
const only = config.task === 'once';
// Of a diff nothing else is on its way out.
const log = createLog({ level: config.logLevel, structured: config.structuredLogging, ...(only && { to: 'stderr' }) });
log.info({ version, config }, 'operator starts');
const task = { uninstall: runUninstall, once: runOnce, smoke: runSmoke, run }[config.task];
// A lost Lease or a start that fails ends the process: Kubernetes starts it again, with nothing in its memory.
const why = await task(config, log).catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
if (why === undefined) log.info('operator ended');
else log.fatal({ reason: why }, 'operator ends');
process.exit(process.exitCode ?? (why === undefined ? 0 : 1));
