// The way in of the operator: configuration, log, the task, signals.
import { ConfigError, type OperatorConfig, readConfig, usage, version } from './config.ts';
import { createLog, type Log } from './log.ts';
import { connect, Operator } from './operator.ts';
import { uninstall } from './uninstall.ts';

function configuration(): OperatorConfig {
  try {
    return readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.mistakes.join('\n')}\n\n${usage}`);
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

async function runUninstall({ namespaces, timeout, ...config }: OperatorConfig, log: Log): Promise<undefined> {
  const client = await connect({ ...config, namespaces, timeout }, log);
  try {
    await uninstall({ client, namespaces, timeout, log });
  } finally {
    await client.close();
  }
}

const config = configuration();
const log = createLog({ level: config.logLevel, structured: config.structuredLogging });
log.info({ version, config }, 'operator starts');
const task = config.task === 'uninstall' ? runUninstall : run;
// A lost Lease or a start that fails ends the process: Kubernetes starts it again, with nothing in its memory.
const why = await task(config, log).catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
if (why === undefined) log.info('operator ended');
else log.fatal({ reason: why }, 'operator ends');
process.exit(why === undefined ? 0 : 1);
