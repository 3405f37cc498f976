// Generated part of docs/explanation/benchmarks.md: a table for each section of the results.
import { type BenchResult, type Results, type Row, type Section, withUnit } from './report.ts';
import { formatValues, ratios } from './statistics.ts';

const begin = '<!-- Generated from test/bench/results.json by npm run bench. Do not edit until the end mark. -->';
const end = '<!-- End of the generated part -->';

/** The page with the tables of these results. @throws if it has no marks */
export function withResults(page: string, results: Results): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error('the page of the benchmarks has no marks of the generated part');
  const text = Object.values(results).map(benchText).join('\n');
  return `${page.slice(0, from)}${begin}\n\n${text}\n${page.slice(to)}`;
}

function benchText({ date, machine, software, note, sections }: BenchResult): string {
  const about = [`Measured ${date} on ${machine}: ${software}.`, ...(note ? [note] : [])].join(' ');
  return sections.map(({ title, rows }, index) => `### ${title}\n\n${index === 0 ? `${about}\n\n` : ''}${tableOf(rows)}\n`).join('\n');
}

type Column = { title: string; text: (row: Row) => string };

/** Columns that are empty in every row are omitted. */
function tableOf(rows: Section['rows']): string {
  const baselines = new Set(rows.flatMap(({ baseline }) => (baseline ? [baseline.what] : [])));
  const [only] = baselines.size === 1 ? baselines : [];
  const columns: Column[] = [
    { title: 'what', text: ({ what }) => what },
    { title: only === undefined ? 'result' : 'Mediarooms', text: ({ value, unit }) => withUnit(formatValues(value), unit) },
    { title: only ?? 'baseline', text: ({ baseline, unit }) => baselineText(baseline, unit, only === undefined) },
    { title: 'ratio', text: ({ value, baseline }) => formatValues((baseline && ratios(value, baseline.value)) ?? []) },
    { title: 'goal', text: ({ goal = '' }) => goal },
  ];
  const filled = columns.filter(({ text }) => rows.some((row) => text(row) !== ''));
  const line = (cells: readonly string[]) => `|${cells.map((cell) => ` ${cell.replaceAll('|', '\\|')} `.replace(/^ +$/, ' ')).join('|')}|`;
  return [
    line(filled.map(({ title }) => title)),
    `|${'---|'.repeat(filled.length)}`,
    ...rows.map((row) => line(filled.map(({ text }) => text(row)))),
  ].join('\n');
}

function baselineText(baseline: Row['baseline'], unit: string, isNamed: boolean): string {
  if (!baseline) return '';
  const text = withUnit(formatValues(baseline.value), unit);
  return isNamed ? `${baseline.what}: ${text}` : text;
}
