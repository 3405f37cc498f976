// Node in the test process, on free ports; closed with the test.
import './worker-bin.ts';
import { randomBytes } from 'node:crypto';
import type { Log } from '../../../node/common/log.ts';
import { AnnouncedAddresses } from '../../../node/config/announced.ts';
import { localSystem } from '../../../node/config/system.ts';
import type { Environment } from '../../../node/env.ts';
import { MediaNode } from '../../../node/media-node.ts';
import { assertDocumented } from '../answers/answer-check.ts';
import { type ApiClient, apiClient } from '../answers/api-client.ts';
import { checkLast } from '../check-last.ts';
import { testConfig } from '../fakes/config.ts';
import type { Scope } from '../kube/scope.ts';
import { LastLines } from '../last-lines.ts';
import { freePort } from '../network/free-ports.ts';
import { assertNothingFound, searchedLog, startSearch } from '../secret-search.ts';

/** A random token that cannot appear by coincidence: all output is scanned for it. */
export const apiToken = `api-token-${randomBytes(16).toString('hex')}`;

export type NodeAccess = {
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  url: string;
  port: number;
  token: string;
  /** REST with the token. */
  api: ApiClient;
  /** `ws://…/socket/peer/websocket` */
  peerSocketUrl: string;
  serverSocketUrl: string;
};

export type StartedNode = NodeAccess & {
  node: MediaNode;
  metricsUrl: string;
  /** Closes the node before the end of the test. Idempotent. */
  close: () => Promise<void>;
};

/** A node has two workers, and splits each room that has two tracks. */
export const splitRooms = { SVC_WEBRTC_WORKERS: '2', SVC_WORKER_MAX_TRACKS: '1' } satisfies Environment;

/** Each room is at one worker, and ends with it. */
export const wholeRooms = { SVC_WEBRTC_WORKERS: '1', SVC_WORKER_MAX_TRACKS: '' } satisfies Environment;

/** With `TEST_WORKER_MAX_TRACKS=1` in the environment, nodes have two workers and split each room that has two tracks. */
const maxTracks = process.env.TEST_WORKER_MAX_TRACKS;

/** Defaults of a test node: free ports, one worker, no rate limits that a test could exceed. */
export const testEnvironment: Environment = {
  SVC_PORT: '0',
  SVC_METRICS_PORT: '0',
  SVC_SERVER_API_TOKEN: apiToken,
  SVC_SECRET_KEY_BASE: `secret-key-${randomBytes(24).toString('hex')}`,
  SVC_WEBRTC_WORKERS: '1',
  ...(maxTracks !== undefined && { ...splitRooms, SVC_WORKER_MAX_TRACKS: maxTracks }),
};

/**
 * Without a log of the test, the log of the node is scanned for its secrets, the test fails if it contains one, and a test that failed shows
 * its last lines.
 */
export async function startNode(scope: Scope, env: Environment = {}, ownLog?: Log): Promise<StartedNode> {
  // A fixed free port, because another node on the machine could otherwise take the port of a worker while it is replaced.
  const whole = { ...testEnvironment, SVC_WEBRTC_BASE_PORT: String(await freePort()), ...env };
  const { config, hot, warnings, cleanUp } = await testConfig(whole);
  const announced = new AnnouncedAddresses(config.webrtc, localSystem().resolve);
  await announced.watch();
  hot.watch();
  const search = startSearch(whole);
  // Nodes of a cluster run in a separate network (tools/test-runner/layers.mjs). The others would share the EPMD of the computer, which may
  // belong to a stopped process.
  const epmdPort = config.dist.enabled ? undefined : await freePort();
  const lastLines = new LastLines();
  lastLines.showIfFailed(scope);
  const log = ownLog ?? searchedLog(search, (line) => lastLines.add(line));
  const node = await MediaNode.start({ config, hot, announced, warnings, log, ...(epmdPort !== undefined && { epmdPort }) });
  const access = accessTo(node.url, env);
  const close = () => node.close(0);
  scope.after(async () => {
    await close();
    await cleanUp();
  });
  checkLast(scope, () => {
    assertNothingFound(search);
    assertDocumented(access.port);
  });
  return { ...access, node, metricsUrl: `http://127.0.0.1:${node.parts.metrics.port}/metrics`, close };
}

/** `env`: that of the node. */
export function accessTo(url: string, { SVC_SERVER_API_TOKEN: token = apiToken }: Environment): NodeAccess {
  const socket = `${url.replace(/^http/, 'ws')}/socket`;
  return {
    url,
    port: Number(new URL(url).port),
    token,
    api: apiClient(url, token),
    peerSocketUrl: `${socket}/peer/websocket`,
    serverSocketUrl: `${socket}/server/websocket`,
  };
}
