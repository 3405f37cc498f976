// Manifests of the tests, from tables with the expected message of each; and the messages of kubectl.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { resources } from '../../operator/kube/objects.ts';

export const manifests = join(import.meta.dirname, 'manifests');
export const examples = join(import.meta.dirname, '../../examples/kubernetes');

type Row = { message: string; name?: string; namespace?: string; spec?: unknown };
export type Manifest = { file: string; kind: 'rooms' | 'mediaClusters'; name: string; namespace: string | undefined; message: string };

/** Writes the manifests of a table into a folder, each into a separate file, because kubectl reports errors by file. */
export function writeManifests(table: string, after: (remove: () => void) => void): { folder: string; written: Manifest[] } {
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-manifests-'));
  after(() => rmSync(folder, { recursive: true }));
  const kinds = parse(readFileSync(join(manifests, `${table}.yaml`), 'utf8')) as Record<string, Record<string, Row>>;
  const written = (['rooms', 'mediaClusters'] as const).flatMap((each) => {
    const { kind, apiVersion } = resources[each];
    return Object.entries(kinds[kind] ?? {}).map(([key, { message, name = key, namespace, spec }]) => {
      writeFileSync(join(folder, `${key}.yaml`), stringify({ apiVersion, kind, metadata: { name, namespace }, spec }));
      return { file: `${key}.yaml`, kind: each, name, namespace, message };
    });
  });
  return { folder, written };
}

/** Appended by the API server if errors prevented the evaluation of rules. */
const notAll =
  ', <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

/** Message of the API server for each file that kubectl applied, by file name. */
export function refusals(stderr: string): Map<string, string> {
  const said = stderr.matchAll(
    /error when \w+ "[^"]*\/([^"/]+)": (?:\w+\.mediarooms\.dev "[^"]+" is invalid: |\w+ in version "v1alpha\d" cannot be handled as a \w+: )(.*)$/gm,
  );
  return new Map([...said].map(([, file = '', sentence = '']) => [file, sentence.replace(/^\[(.*)\]$/, '$1').replace(notAll, '')]));
}
