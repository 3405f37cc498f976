// Page state: what the pages of a browser show, receive and send, for the message of a failed wait.
import { setTimeout } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';

/** What the kit needs of a page: those of Firefox have no context. */
export type ScriptedPage = Pick<Page, 'evaluate'> & Partial<Pick<Page, 'context'>>;

/** Milliseconds for one page: a page that does not respond must not hide the state of the others. */
const answerTimeoutMs = 5_000;
const maxPages = 8;
/** Characters for one page. */
const maxState = 4_000;

/**
 * Finds the latest connections of a page, also those that a library creates. They are not kept alive: a closed connection uses its tracks until
 * it is collected.
 */
const findConnections = `(() => {
  const Connection = globalThis.RTCPeerConnection;
  if (!Connection) return;
  const kept = (globalThis.__connections = []);
  globalThis.RTCPeerConnection = class extends Connection {
    constructor(...given) {
      super(...given);
      kept.push(new WeakRef(this));
      if (kept.length > 10) kept.shift();
    }
  };
})()`;

/** WebRTC stats that show where media stops: at the source, the encoder, the path, the server or the decoder. */
const shownStats = {
  'media-source': ['kind', 'frames', 'framesPerSecond', 'totalAudioEnergy'],
  'outbound-rtp': [
    ...['kind', 'rid', 'active', 'framesEncoded', 'keyFramesEncoded', 'framesSent', 'packetsSent'],
    ...['pliCount', 'nackCount', 'targetBitrate', 'qualityLimitationReason'],
  ],
  'remote-inbound-rtp': ['kind', 'packetsLost', 'roundTripTimeMeasurements'],
  'inbound-rtp': ['kind', 'packetsReceived', 'packetsLost', 'framesReceived', 'framesDecoded', 'keyFramesDecoded', 'pliCount'],
  transport: ['iceState', 'dtlsState', 'packetsSent', 'packetsReceived', 'selectedCandidatePairChanges'],
};

const connectionsOf = `(async () => {
  const shown = ${JSON.stringify(shownStats)};
  const statsOf = (report) =>
    [...report.values()].flatMap((stats) => {
      const names = shown[stats.type];
      return names ? [[stats.type, ...names.map((name) => (stats[name] === undefined ? '' : name + ' ' + stats[name])).filter(Boolean)].join(', ')] : [];
    });
  const made = (globalThis.__connections ?? []).flatMap((each) => each.deref() ?? []);
  const open = made.filter(({ connectionState }) => connectionState !== 'closed');
  return Promise.all(
    open.map(async (connection) => ({
      state: connection.connectionState,
      ice: connection.iceConnectionState,
      signaling: connection.signalingState,
      stats: statsOf(await connection.getStats()),
    })),
  );
})()`;

const stateOf = `(async () => ({
  page: location.pathname + location.hash.split('?')[0],
  connections: await ${connectionsOf},
  videos: [...document.querySelectorAll('video')].map((video) => [
    video.closest('[data-name]')?.dataset.name,
    video.videoWidth, video.videoHeight, video.readyState, video.paused, video.currentTime,
    video.srcObject?.getTracks().map(({ kind, readyState, muted, enabled }) => [kind, readyState, muted, enabled]),
  ]),
  text: document.body.innerText.slice(0, 2_000),
}))()`;

/** Makes the connections of all pages of a context visible to stateOfPages(); before its first page. */
export function findConnectionsOf(context: BrowserContext): void {
  // Fails only if the context is already closed.
  context.addInitScript({ content: findConnections }).catch(() => {});
}

/**
 * Text of the page, size, state, time and tracks of its videos, and the state and stats of its WebRTC connections; then the same of the other
 * pages of its browser, because the cause may be the page that sends.
 */
export async function stateOfPages(page: ScriptedPage): Promise<string> {
  const context = page.context?.();
  const all = context?.browser()?.contexts() ?? (context ? [context] : []);
  const others = all.flatMap((each) => each.pages()).filter((other) => other !== page);
  const states = await Promise.all([page, ...others].slice(0, maxPages).map(stateOfPage));
  return states.join('\nanother page: ');
}

async function stateOfPage(page: ScriptedPage): Promise<string> {
  const ended = new AbortController();
  const state = page.evaluate<unknown>(stateOf).then(
    (value) => JSON.stringify(value),
    (error: unknown) => String(error),
  );
  const late = setTimeout(answerTimeoutMs, 'does not respond', { signal: ended.signal }).catch(() => '');
  try {
    return (await Promise.race([state, late])).slice(0, maxState);
  } finally {
    ended.abort();
  }
}
