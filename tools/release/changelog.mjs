// Changelog of a release: reads the section of a version from CHANGELOG.md.

/**
 * @typedef {object} Change
 * @property {string} kind `added`, `changed`, `deprecated`, `removed`, `fixed` or `security`, as Artifact Hub names them
 * @property {string} description first sentence of the entry, without markup of links
 */

/**
 * @typedef {object} Section
 * @property {string} [date] of the release; undefined if it is not published
 * @property {Change[]} changes
 */

/**
 * @param {string} changelog in the format of keepachangelog.com
 * @param {string} version
 * @returns {Section | undefined} undefined if it has no heading of this version
 */
export function sectionOf(changelog, version) {
  const sections = changelog.split(/^(?=## )/m);
  const text = sections.find((section) => section.startsWith(`## [${version}]`));
  if (text === undefined) return undefined;
  const date = /^## \[[^\]]+\] - (\d{4}-\d{2}-\d{2})$/m.exec(text)?.[1];
  const changes = text.split(/^### /m).flatMap((part, at) => (at === 0 ? [] : changesIn(part)));
  return { ...(date !== undefined && { date }), changes };
}

/**
 * @param {string} part begins with the kind
 * @returns {Change[]}
 */
function changesIn(part) {
  const [kind = '', ...lines] = part.split('\n');
  const entries = lines.filter((line) => line.startsWith('- '));
  return entries.map((line) => ({ kind: kind.trim().toLowerCase(), description: summaryOf(line.slice(2)) }));
}

/** @param {string} text */
function summaryOf(text) {
  const plain = text.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1');
  return /^.+?\.(?=\s+[A-Z`])/.exec(plain)?.[0] ?? plain.trim();
}
