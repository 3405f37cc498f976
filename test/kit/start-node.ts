// A whole node in this process, on free ports, ended with the test.
import './worker-bin.ts';
import type { TestContext } from 'node:test';
import { AnnouncedAddresses } from '../../node/config/announced.ts';
import { localSystem } from '../../node/config/system.ts';
import type { Environment } from '../../node/env.ts';
import { Shutdown } from '../../node/lifecycle.ts';
import { type Log, silentLog } from '../../node/log.ts';
import { MediaNode } from '../../node/node.ts';
import { testConfig } from './config.ts';

export const apiToken = 'the-api-token-of-a-test';

export type StartedNode = {
  node: MediaNode;
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  url: string;
  port: number;
  metricsUrl: string;
  token: string;
  /** `ws://…/socket/peer/websocket` */
  peerSocketUrl: string;
  serverSocketUrl: string;
  /** Ends the node before the test does. Idempotent. */
  close: () => Promise<void>;
};

/** What a test node has unless it says otherwise: free ports, one worker, no rate limits that a test could run into. */
export const testEnvironment: Environment = {
  SVC_PORT: '0',
  SVC_METRICS_PORT: '0',
  SVC_SERVER_API_TOKEN: apiToken,
  SVC_SECRET_KEY_BASE: 'the-secret-key-base-of-a-test',
  SVC_WEBRTC_WORKERS: '1',
};

export async function startNode(t: TestContext, env: Environment = {}, log: Log = silentLog()): Promise<StartedNode> {
  const { config, hot, cleanUp } = await testConfig({ ...testEnvironment, ...env });
  const announced = new AnnouncedAddresses(config.webrtc, localSystem().resolve);
  await announced.watch();
  hot.watch();
  const node = await MediaNode.start({ config, hot, announced, log });
  const shutdown = new Shutdown(node);
  const close = () => shutdown.run(0);
  t.after(async () => {
    await close();
    await cleanUp();
  });
  const socket = node.url.replace(/^http/, 'ws');
  return {
    node,
    url: node.url,
    port: node.parts.http.port,
    metricsUrl: `http://127.0.0.1:${node.parts.metrics.port}/metrics`,
    token: env.SVC_SERVER_API_TOKEN ?? apiToken,
    peerSocketUrl: `${socket}/socket/peer/websocket`,
    serverSocketUrl: `${socket}/socket/server/websocket`,
    close,
  };
}
