// Records a room and saves its files: `npm start -- standup 60 recordings`. Stops after the given number of seconds, or with Ctrl-C.
import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { Mediarooms } from '@mediarooms/server';

const { SVC_URL = 'http://127.0.0.1:5002', SVC_SERVER_API_TOKEN = '' } = process.env;
const [roomId = 'standup', seconds = '60', folder = 'recordings'] = process.argv.slice(2);
const mediarooms = new Mediarooms({ url: SVC_URL, token: SVC_SERVER_API_TOKEN });

const earlier = new Set((await mediarooms.recordings.list()).data);
const recorder = await mediarooms.components.add(roomId, { type: 'recording' });
console.log(`Recording ${roomId}`);

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
await setTimeout(Number(seconds) * 1000, undefined, { signal: stop.signal }).catch(() => {});
await mediarooms.components.delete(roomId, recorder.id);

const { data } = await mediarooms.recordings.list();
const id = data.find((each) => each.startsWith(`${roomId}-`) && !earlier.has(each));
if (!id) throw new Error(`Room ${roomId} has no new recording`);
const report = await mediarooms.recordings.report(id);

const target = join(folder, id);
await mkdir(target, { recursive: true });
await writeFile(join(target, 'report.json'), JSON.stringify(report, null, 2));
for (const { file, type, encoding, duration } of report.tracks) {
  if (!file) continue;
  await pipeline(mediarooms.recordings.read(id, file), createWriteStream(join(target, file)));
  console.log(`${join(target, file)}: ${type} (${encoding}), ${duration} ms`);
}
