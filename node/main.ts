// Entry point: reads the configuration, starts the node and handles signals.

import { giveBackMemoryWhenCalm } from './calm-memory.ts';
import { createLog, type Log } from './common/log.ts';
import { AnnouncedAddresses } from './config/announced.ts';
import { describeConfig } from './config/describe.ts';
import { ConfigError } from './config/reader.ts';
import { localSystem } from './config/system.ts';
import { type LoadedConfig, loadConfig } from './config.ts';
import { processEnvironment } from './env.ts';
import { MediaNode } from './media-node.ts';
import { deferSignals, installSignalHandlers } from './shutdown.ts';
import { version } from './version.ts';

/** Prints all configuration errors, one per line, and exits on failure. */
async function readConfiguration(): Promise<LoadedConfig> {
  try {
    return await loadConfig(processEnvironment());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.errors.map((message) => `${message}\n`).join('')}`);
    process.exit(1);
  }
}

async function start(loaded: LoadedConfig, log: Log): Promise<MediaNode> {
  const { config, hot, warnings } = loaded;
  for (const warning of warnings) log.warn(warning);
  log.info({ version, config: describeConfig(config, hot) }, 'configuration');
  const announced = new AnnouncedAddresses(config.webrtc, localSystem().resolve);
  await announced.watch();
  await hot.watch({
    reloaded: () => log.info({ files: hot.files() }, 'configuration files reloaded'),
    refused: (error) => log.error({ reason: error }, 'invalid configuration files, keeping previous configuration'),
  });
  try {
    return await MediaNode.start({ config, hot, announced, log, warnings });
  } catch (error) {
    log.fatal({ reason: error instanceof Error ? error.message : String(error) }, 'could not start node');
    process.exit(1);
  }
}

const releaseSignals = deferSignals();
const loaded = await readConfiguration();
const log = await createLog({ level: loaded.hot.current.logLevel, structured: loaded.config.structuredLogging });
const node = await start(loaded, log);
installSignalHandlers(node);
giveBackMemoryWhenCalm();
releaseSignals();
log.info({ url: node.url, host: node.host }, 'node started');
const token = loaded.hot.developmentToken;
if (token !== undefined) {
  process.stdout.write(
    `\n  Mediarooms ${version} in development mode\n  Console: ${node.url}/\n  API token (changes at each start):\n  export SVC_SERVER_API_TOKEN=${token}\n\n`,
  );
}
