// Composer with a hanging encoder: its process ends itself, and the stream continues with another.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ServiceError } from '../../api/errors.ts';
import { createHlsRunner } from '../../node/components/hls/hls-runner.ts';
import { HlsStreams } from '../../node/components/hls/hls-streams.ts';
import { parseOptions } from '../../node/components/hls/options.ts';
import { Admission } from '../../node/components/process/admission.ts';
import { eventually } from '../kit/eventually.ts';
import { noUploads } from '../kit/fakes/component-registry.ts';
import { hostFacts } from '../kit/fakes/fake-components.ts';
import { isAlive } from '../kit/processes/alive.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { recordedLog } from '../kit/recorded-log.ts';
import { engineFor, openRoom } from './kit.ts';

/** Node.js has four threads for native work (UV_THREADPOOL_SIZE); opening a pipe without a writer blocks one forever. */
const threads = 4;

/** Wraps the composer in a process that loses all threads for native work at SIGUSR2. */
async function losingItsThreads(folder: string): Promise<string> {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const path = join(folder, 'composer.mjs');
  const main = new URL('../../node/components/process/main.ts', import.meta.url);
  const hang = `for (let count = 0; count < ${threads}; count += 1) open(${JSON.stringify(pipe)}, () => {});`;
  await writeFile(path, `import { open } from 'node:fs';\nimport ${JSON.stringify(main)};\nprocess.on('SIGUSR2', () => { ${hang} });\n`);
  return path;
}

// Sum of the timeouts below.
test('a composer with a hanging encoder ends, and the stream continues with another after a discontinuity', {
  timeout: 200_000,
}, async (t) => {
  const [room, resources] = [openRoom(await engineFor(t)), await makeResources(t)];
  const { log, of } = recordedLog();
  const admission = new Admission(() => ({ budget: 1.5, cores: 2, busy: 0 }));
  const streams = new HlsStreams({ log, resources, node: 'svc@test', uploads: noUploads, admission });
  const crashes: string[] = [];
  const runner = createHlsRunner({
    host: {
      ...hostFacts,
      log,
      openOutput: () => room.openOutput(),
      crashed: (reason) => crashes.push(reason),
    },
    streams,
    forwardsH264: true,
    options: parseOptions({ width: 320, height: 180, segmentDuration: 1 }, false),
    module: await losingItsThreads(resources),
  });
  t.after(async () => {
    await runner.close();
    await streams.close();
  });
  await runner.start();
  const composers = () => of('info').flatMap(({ msg, pid }) => (msg === 'composer started' && typeof pid === 'number' ? [pid] : []));
  const playlist = async () => {
    const asked = { kind: 'hls', folder: 'r', file: 'stream.m3u8', method: 'GET', range: undefined, ifRange: undefined } as const;
    const answer = await streams
      .open({ ...asked, client: '::1', forwarded: false, signal: AbortSignal.timeout(30_000) })
      // On a busy machine the first segment may take longer than a blocking request; it is requested again.
      .catch((error: unknown) => assert.ok(error instanceof ServiceError && error.code === 'unavailable', String(error)));
    return answer?.bytes?.toString() ?? '';
  };
  const segments = (text = '') => text.match(/^segment-\d+\.m4s/gm)?.length ?? 0;
  await eventually('it streams', async () => segments(await playlist()) >= 2, { within: 60_000 });
  const [stuck = 0] = composers();
  process.kill(stuck, 'SIGUSR2');
  await eventually('it continues', async () => segments((await playlist()).split('#EXT-X-DISCONTINUITY\n')[1]) >= 2, { within: 120_000 });
  assert.equal(isAlive(stuck), false);
  assert.equal(composers().length, 2);
  const crash = of('warn').find(({ msg }) => msg === 'composer crashed, restarting');
  assert.equal(crash?.reason, 'The process was ended by SIGALRM');
  assert.ok(of('warn').some(({ line, pid }) => line === 'No frame was produced for 10 s' && pid === stuck));
  assert.deepEqual(crashes, []);
});
