// Manifests of the tests: the expected result is in the first line of each; and the messages of kubectl.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const manifests = join(import.meta.dirname, 'manifests');
export const examples = join(import.meta.dirname, '../../examples/kubernetes');

/** The rest of the first line after `# <word>: ` of each file of a folder, by file name. */
export function expectations(folder: string, word: string): Map<string, string> {
  return new Map(
    readdirSync(folder).map((file) => {
      const [first = ''] = readFileSync(join(folder, file), 'utf8').split('\n', 1);
      if (!first.startsWith(`# ${word}: `)) throw new Error(`${file} does not begin with "# ${word}: "`);
      return [file, first.slice(`# ${word}: `.length)];
    }),
  );
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
