// Metrics of nothing, for their names and helps, and what scrapes hold.
import { Metrics, type MetricsSource } from '../../node/metrics/metrics.ts';

const nothing: MetricsSource = {
  rooms: () => ({ rooms: 0, peers: 0, tracks: { audio: 0, video: 0 }, components: {} }),
  forwardedTracks: () => 0,
  workers: () => [],
  clusterNodes: () => 1,
  mediaTraffic: async () => ({ received: 0, sent: 0 }),
  httpTraffic: () => ({ received: 0, sent: 0 }),
  webhooks: () => ({ delivered: 0, retries: 0, dead: 0, pending: 0, pendingBytes: 0, spoolErrors: 0, spoolBytes: 0 }),
  uploads: () => ({ pending: 0, bytes: 0, done: 0, failures: 0, givenUp: 0 }),
};

export function emptyMetrics(source: Partial<MetricsSource> = {}): Metrics {
  return new Metrics({ ...nothing, ...source });
}

/** The samples of a scrape: `name{labels}` as it is written, with its value. */
export function samplesOf(text: string): Map<string, number> {
  return new Map(
    [...text.matchAll(/^([a-z]\w*(?:\{(?:[^"}]|"[^"]*")*\})?) (\S+)$/gm)].map(([, sample, value]) => [sample ?? '', Number(value)]),
  );
}

export async function scrape(url: string): Promise<Map<string, number>> {
  return samplesOf(await (await fetch(url)).text());
}
