// Health of a custom resource in Argo CD: the script of docs/how-to/gitops.md, run by Lua 5.1 as Argo CD does.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { runCommand } from '../processes/command.ts';
import type { Kind, KubeJson } from './read-objects.ts';

const page = join(import.meta.dirname, '../../../docs/how-to/gitops.md');
const scriptsSchema = z.object({ kind: z.literal('ConfigMap'), data: z.record(z.string(), z.string()) });
const keys = {
  rooms: 'resource.customizations.health.mediarooms.dev_Room',
  mediaClusters: 'resource.customizations.health.mediarooms.dev_MediaCluster',
} as const satisfies Partial<Record<Kind, string>>;

/** @returns `Healthy`, `Progressing` or `Degraded`, and the message that Argo CD shows */
export async function argoHealthOf(kind: keyof typeof keys, object: KubeJson): Promise<{ status: string; message: string }> {
  const program = [
    `local obj = ${lua(object)}`,
    `local health = (function() ${scriptOf(kind)} end)()`,
    'io.write(health.status, "\\n", health.message)',
  ].join('\n');
  const { stdout } = await runCommand(['lua5.1', '-'], { input: program });
  const [status = '', ...message] = stdout.split('\n');
  return { status, message: message.join('\n') };
}

function scriptOf(kind: keyof typeof keys): string {
  const blocks = [...readFileSync(page, 'utf8').matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
  const manifest = scriptsSchema.parse(blocks.map((text): unknown => parse(text)).find((each) => scriptsSchema.safeParse(each).success));
  const script = manifest.data[keys[kind]];
  if (script === undefined) throw new Error(`${page} has no script ${keys[kind]}`);
  return script;
}

/** A literal of Lua. Bytes are escaped, because Lua 5.1 has no escapes of Unicode. */
function lua(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(lua).join(',')}}`;
  if (value === null || value === undefined) return 'nil';
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([key, each]) => `[${lua(key)}]=${lua(each)}`)
      .join(',')}}`;
  if (typeof value === 'string') return `"${[...Buffer.from(value)].map((byte) => `\\${String(byte).padStart(3, '0')}`).join('')}"`;
  return String(value);
}
