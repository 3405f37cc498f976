// Font of drawn names.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

/** DejaVu Sans of the npm package, or of Debian's fonts-dejavu-core. */
const packaged = 'dejavu-fonts-ttf/ttf/DejaVuSans.ttf';
const installed = '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf';

/** Path of the font; undefined if it is not installed, so that names cannot be drawn. */
export function findFont(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(packaged);
  } catch {
    return existsSync(installed) ? installed : undefined;
  }
}
