// Command `npm run render -- <recording>`: renders a recording to one MP4.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { z } from 'zod';
import { layouts } from '../api/component/hls.ts';
import { validationMessage } from '../api/derive/validation-messages.ts';
import { ServiceError } from '../api/errors.ts';
import { fileNameSchema, recordingIdSchema } from '../api/recording.ts';
import { createLog } from './common/log.ts';
import { render } from './components/render/render-runner.ts';
import { ConfigReader } from './config/reader.ts';
import { processEnvironment } from './env.ts';
import { reportName } from './storage/report-file.ts';

const usage = `Usage: npm run render -- <folder or id of a recording> [--output <file>.mp4] [--width 1280] [--height 720]
         [--framerate 24] [--layout ${layouts.join('|')}] [--resources <path>]`;
const options = {
  output: { type: 'string' },
  width: { type: 'string' },
  height: { type: 'string' },
  framerate: { type: 'string' },
  layout: { type: 'string' },
  resources: { type: 'string' },
} as const satisfies ParseArgsConfig['options'];

const integer = (least: number, most: number, more = '') => {
  const rule = `to be an integer from ${least} to ${most}${more}`;
  return z.coerce.number().int(rule).min(least, rule).max(most, rule);
};
const even = (most: number) => integer(16, most, ', even').multipleOf(2, `to be an integer from 16 to ${most}, even`);
const wantedSchema = z.object({
  output: z.string().endsWith('.mp4', 'to end with .mp4').optional(),
  width: even(3840).default(1280),
  height: even(2160).default(720),
  framerate: integer(1, 60).default(24),
  layout: z.enum(layouts).default('grid'),
  resources: z.string().optional(),
});

/** Invalid command line arguments. */
class UsageError extends Error {}

const environment = processEnvironment();
/** Working directory of the user: npm changes it. */
const here = environment.INIT_CWD ?? process.cwd();

/** @throws UsageError */
function read(args: readonly string[]) {
  const { values, positionals } = parse(args);
  const parsed = wantedSchema.safeParse(values);
  if (!parsed.success) throw new UsageError(validationMessage(parsed.error, values, 'the options'));
  const [recording, ...rest] = positionals;
  if (recording === undefined || rest.length > 0) throw new UsageError('Expected exactly one recording');
  const { output, resources, ...video } = parsed.data;
  const folder = folderOf(recording, resources);
  const name = folder.split('/').findLast((part) => fileNameSchema.safeParse(part).success) ?? 'recording';
  return { ...video, folder, output: resolve(here, output ?? `${name}.mp4`) };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** The given folder, else the recording with that id. @throws UsageError */
function folderOf(recording: string, resources: string | undefined): string {
  const folder = resolve(here, recording);
  if (existsSync(join(folder, reportName))) return folder;
  const base = resources === undefined ? resolve(new ConfigReader(environment).read('RESOURCES_BASE_PATH')) : resolve(here, resources);
  const named = join(base, 'recordings', recording);
  if (recordingIdSchema.safeParse(recording).success && existsSync(join(named, reportName))) return named;
  throw new UsageError(
    `Recording ${recording} does not exist: neither a folder with a ${reportName}, nor a folder of that name in ${base}/recordings`,
  );
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

/** Minimum interval between progress lines outside a terminal, in milliseconds. */
const lineInterval = 10_000;
/** Restarts the current line (ECMA-48, EL). */
const clearLine = process.stderr.isTTY ? '\r\u001b[K' : '';
let printedAt = Number.NEGATIVE_INFINITY;

function say(line: string): void {
  process.stderr.write(`${clearLine}${line}\n`);
}

/** Progress: one updated line on a terminal, else a line per interval. */
function sayProgress(time: number, length: number | null): void {
  const text = `${seconds(time)}${length === null ? '' : ` of ${seconds(length)}`}`;
  if (clearLine) process.stderr.write(`${clearLine}${text}`);
  else if (performance.now() - printedAt >= lineInterval) {
    printedAt = performance.now();
    say(text);
  }
}

async function run(): Promise<number> {
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ending.abort());
  try {
    const wanted = read(process.argv.slice(2));
    const began = performance.now();
    const duration = await render({
      ...wanted,
      log: await createLog({ level: 'warning', structured: false }),
      signal: ending.signal,
      onProblem: say,
      onProgress: sayProgress,
    });
    say(`Rendered ${seconds(duration)} in ${seconds(performance.now() - began)}`);
    process.stdout.write(`${wanted.output}\n`);
    return 0;
  } catch (error) {
    if (ending.signal.aborted) {
      say('Rendering interrupted; partial output deleted');
      return 130;
    }
    if (error instanceof UsageError) {
      say(`${error.message}\n${usage}`);
      return 2;
    }
    say(error instanceof ServiceError ? error.message : String(error));
    return 1;
  }
}

process.exitCode = await run();
