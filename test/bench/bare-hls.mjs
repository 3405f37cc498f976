// HLS baseline: minimal server of a live stream with blocking reload, which sends the same bytes at the pace of parts.
import { createServer } from 'node:http';

const [partTime = 0, partsPerSegment = 0, playlistBytes = 0, partBytes = 0] = process.argv.slice(2).map(Number);
const part = Buffer.alloc(partBytes, 1);
const start = Date.now();
let count = 0;
let availableAt = start;
let playlist = Buffer.alloc(0);
/** @type {{ wanted: number, answer: () => void }[]} */
let waiting = [];

function tick() {
  count += 1;
  availableAt = Date.now();
  const index = count - 1;
  const name = `part-${Math.floor(index / partsPerSegment)}.${index % partsPerSegment}.m4s`;
  playlist = Buffer.from(`#EXTM3U\n#EXT-X-PART:DURATION=${partTime / 1000},URI="${name}"\n`.padEnd(playlistBytes, '#'));
  const woken = waiting;
  waiting = woken.filter(({ wanted }) => wanted >= count);
  for (const { wanted, answer } of woken) if (wanted < count) answer();
  setTimeout(tick, Math.max(0, start + count * partTime - Date.now()));
}
tick();

const server = createServer((request, response) => {
  const url = request.url ?? '';
  if (!url.includes('.m3u8')) {
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': part.length }).end(part);
    return;
  }
  const [, msn = '0', index = '0'] = /_HLS_msn=(\d+)&_HLS_part=(\d+)/.exec(url) ?? [];
  const wanted = Number(msn) * partsPerSegment + Number(index);
  const answer = () =>
    response
      .writeHead(200, {
        'content-type': 'application/vnd.apple.mpegurl',
        'content-length': playlist.length,
        'x-available-at': availableAt,
      })
      .end(playlist);
  if (wanted < count) answer();
  else waiting.push({ wanted, answer });
});
server.listen(0, '127.0.0.1', 4096, () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  console.log(`"url":"http://127.0.0.1:${port}"`);
});
