// Metrics helpers: a parser for scrapes.

/** The samples of a scrape: `name{labels}` verbatim, with its value. */
export function samplesOf(text: string): Map<string, number> {
  return new Map(
    [...text.matchAll(/^([a-z]\w*(?:\{(?:[^"}]|"[^"]*")*\})?) (\S+)$/gm)].map(([, sample, value]) => [sample ?? '', Number(value)]),
  );
}

export async function scrape(url: string): Promise<Map<string, number>> {
  return samplesOf(await (await fetch(url)).text());
}
