// The font that names are drawn with.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

/** DejaVu Sans: of the npm package, else where Debian's fonts-dejavu-core has it. */
const packaged = 'dejavu-fonts-ttf/ttf/DejaVuSans.ttf';
const installed = '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf';

/** Its path; undefined where there is none, so that no names can be drawn. */
export function findFont(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(packaged);
  } catch {
    return existsSync(installed) ? installed : undefined;
  }
}
