// The manifests beside the tests: what each is expected to come to stands in its first line; and what kubectl said of each.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const manifests = join(import.meta.dirname, 'manifests');
export const examples = join(import.meta.dirname, '../../examples/kubernetes');

/** What the first line of each file of a folder says behind `# <word>: `, by the name of the file. */
export function expectations(folder: string, word: string): Map<string, string> {
  return new Map(
    readdirSync(folder).map((file) => {
      const [first = ''] = readFileSync(join(folder, file), 'utf8').split('\n', 1);
      if (!first.startsWith(`# ${word}: `)) throw new Error(`${file} does not begin with "# ${word}: "`);
      return [file, first.slice(`# ${word}: `.length)];
    }),
  );
}

/** The API server says it after mistakes for which it does not go on to the rules. */
const notAll =
  ', <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

/** The API server's sentence about each file of a folder that kubectl was given, by the name of the file. */
export function refusals(stderr: string): Map<string, string> {
  const said = stderr.matchAll(
    /error when \w+ "[^"]*\/([^"/]+)": (?:\w+\.mediarooms\.dev "[^"]+" is invalid: |\w+ in version "v1alpha1" cannot be handled as a \w+: )(.*)$/gm,
  );
  return new Map([...said].map(([, file = '', sentence = '']) => [file, sentence.replace(/^\[(.*)\]$/, '$1').replace(notAll, '')]));
}
