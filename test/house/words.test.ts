// One idea, one word: words that no identifier, file name, log line or error message has, each with the word to use instead.
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { describe, it } from 'node:test';
import { sourceFiles } from './source-files.ts';

/** In names of files and of what is declared. */
const inNames: readonly (readonly [words: RegExp, instead: string])[] = [
  [/^(?:most|longest)(?=[A-Z])/, 'max…'],
  [/^(?:least(?!Loaded)|shortest)(?=[A-Z])/, 'min…'],
  [/(?<=[a-z])Every$/, '…IntervalMs'],
  [/[pP]atience/, '…TimeoutMs'],
  [/(?<=[a-z])Deadline$/, '…TimeoutMs; a deadline is a point in time'],
  [/[sS]urroundings/, '…Context'],
  [/World$/, '…Deps'],
  [/Wish(?:es|ed)?(?=[A-Z]|$)|^wish(?:es|ed)?$/, 'desired… or …Preferences'],
  [/^sentences?$|(?<=[a-z])Sentence/, 'message, …Message'],
  [/[tT]elephone(?!Event|-event)/, 'user agent, or phone'],
  [/^[dD]oubt(?:s|ed|ing)?(?=[A-Z]|$)/, 'suspect; failure detector, probe'],
  [/[rR]ehears/, 'dryRun…'],
  [/^figures$|Figures/, '…Stats or …Counters'],
  [/[lL]eftover|^Left(?=[A-Z])/, 'Orphaned…'],
  [/[mM]istake/, 'error'],
  [/^(?:un)?told(?=[A-Z]|$)|Told(?=[A-Z]|$)/, 'reported, notified'],
  [/(?<!In)[pP]icture(?!Loss|Id|InPicture)/, 'frame, video or image'],
  [/[nN]obody|[sS]omebody|[wW]hoever/, 'the thing that is meant: empty, unknown, unprivileged'],
  [/[sS]tranger/, 'attacker, untrusted, foreign'],
  [/^anew|Anew(?=[A-Z]|$)/, 're…'],
  [/^rivals?(?=[A-Z]|$)|Rival/, 'conflict, challenger'],
  [/^fate(?=[A-Z]|$)|Fate/, 'location, state, reason'],
  [/^mend(?:s|ed)?(?=[A-Z]|$)|Mended/, 'repair, restore, recovered'],
  [/^beside(?=[A-Z]|$)/, 'neighbors, sibling'],
  [/^empt(?:ied|ies)(?=[A-Z]|$)|Emptied/, 'drained'],
  [/^goesOn|comesTo(?=[A-Z])/, 'resumes; eventually…'],
  [/^look(?:At)?$/, 'check…, scan…'],
  [/^kindName$|[uU]sedKinds?$/, 'typeName, enabledTypes: components and events have a type'],
  [/inForce$/, 'effective'],
  [/^gone$|Gone$/, 'closed, ended, deleted, removed or lost'],
  [/^sounds?(?=[A-Z]|$)|(?<!screen)Sounds?(?=[A-Z]|$)/, 'audio'],
  [/^letGo$|^toGo$/, 'remove…, …ToRemove'],
  [/^setStage$|^standsStill$/, 'start…Fixture; waitUntil…'],
];
/** Names that REST, the SDK and the wire have for ever. */
const publicNames = new Set(['LinkFigures', 'PublishedFigures', 'ReceivedFigures', 'defaultDeadline']);
/** Field of an upload job on the disk: the next version reads it. */
const storedNames = new Set(['node/storage/uploads/job-file.ts: told', 'node/storage/uploads/s3-uploads.ts: told']);

/** In the text of log lines, errors and test names. */
const inTexts: readonly (readonly [words: RegExp, instead: string])[] = [
  [/\b(?:whoever|whichever way)\b/i, 'the client, the caller'],
  [/\banew\b/i, 'again, or re-'],
  [/\b(?:nobody|somebody)\b/i, 'no client, no peer; or the passive'],
  [/\b(?:un)?told\b/i, 'notified, reported'],
  [/\bpictures?\b(?! (?:loss|ids?|parameter))/i, 'frame, video or image'],
  [/\bstrangers?\b/i, 'hostile client; foreign object'],
  [/\btelephones?\b(?!-event)/i, 'user agent, phone'],
  [/\bwish(?:es|ed)?\b/i, 'desired; request'],
  [/\brivals?\b/i, 'conflict'],
  [/\bdoubt(?:s|ed)?\b/i, 'suspect'],
  [/\bmend(?:s|ed)?\b/i, 'fix, recover'],
  [/\bbeside\b/i, 'in addition to, next to'],
  [/\bempt(?:ied|ies)\b/i, 'drained'],
  [/\bby itself\b/i, 'automatically'],
  [/\bgiven up\b/i, 'failed permanently'],
  [/\bfar side\b/i, 'remote'],
  [/\bcalled back\b/i, 'cancelled'],
  [/\bno sign of life\b/i, 'no heartbeat'],
];

const declaration =
  /(?:^|[\s({,;])(?:const|let|function\*?|class|type|interface)\s+([A-Za-z_$][\w$]*)|^\s+(?:readonly |static |async |get |set )*(#?[A-Za-z_$][\w$]*)\??(?:\(|: | = |;)/gm;
const text =
  /(?:\blog\.(?:trace|debug|info|warn|error|fatal)\((?:\{[^}]*\},\s*)?|\b(?:new [A-Z]\w*Error\((?:'[a-z_]+',\s*)?)|\b(?:describe|it|test)\(\s*)(['`])((?:(?!\1)[^\\\n])*)\1/g;

const files = sourceFiles().filter(({ path }) => !path.includes('/generated/') && path !== 'test/house/words.test.ts');

function namesIn(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');
  return [...new Set([...code.matchAll(declaration)].map(([, declared, member]) => (declared ?? member ?? '').replace('#', '')))];
}

function camel(path: string): string {
  return basename(path)
    .replace(/\.(?:test\.|bench\.)?\w+$/, '')
    .replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function violations(path: string, source: string): string[] {
  const named = [camel(path), ...namesIn(source)].flatMap((name) =>
    publicNames.has(name) || storedNames.has(`${path}: ${name}`)
      ? []
      : inNames.flatMap(([words, instead]) => (words.test(name) ? [`${path}: ${name}: say ${instead}`] : [])),
  );
  const texts = [...source.matchAll(text)].flatMap(([, , message = '']) =>
    inTexts.flatMap(([words, instead]) => (words.test(message) ? [`${path}: "${message}": say ${instead}`] : [])),
  );
  return [...named, ...texts];
}

describe('The words of the glossary', () => {
  it('are used in names, log lines, errors and test names', () => {
    assert.deepEqual(
      files.flatMap(({ path, text: source }) => violations(path, source)),
      [],
    );
  });

  it('are named for each word that is not used', () => {
    const bad =
      "const mostTries = 3;\nclass A {\n  #retryPatience = 1;\n  trackWishes(): void {}\n}\nlog.warn({ id }, 'nobody came');\nnew ServiceError('x', `It is given up`);";
    assert.deepEqual(violations('node/left-over-world.ts', bad).length, 6);
    assert.deepEqual(violations('node/max.ts', "const maxTries = 3;\nlog.warn('could not write render state');"), []);
  });
});
