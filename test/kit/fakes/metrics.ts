// Metrics helpers: an empty registry for names and help texts, and a parser for scrapes.
import { Metrics, type MetricsSource } from '../../../node/metrics/metrics.ts';
import { emptySource } from '../../../tools/reference/metrics-page.ts';

export function emptyMetrics(source: Partial<MetricsSource> = {}): Metrics {
  return new Metrics({ ...emptySource, ...source });
}

/** The samples of a scrape: `name{labels}` verbatim, with its value. */
export function samplesOf(text: string): Map<string, number> {
  return new Map(
    [...text.matchAll(/^([a-z]\w*(?:\{(?:[^"}]|"[^"]*")*\})?) (\S+)$/gm)].map(([, sample, value]) => [sample ?? '', Number(value)]),
  );
}

export async function scrape(url: string): Promise<Map<string, number>> {
  return samplesOf(await (await fetch(url)).text());
}
