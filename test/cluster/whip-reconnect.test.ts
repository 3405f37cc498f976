// Reconnect of encoders and players: if the owning node of their room is lost, they offer again at another node.
import { join } from 'node:path';
import { test } from 'node:test';
import { goWhep, goWhip } from '../../tools/test-runner/go-programs.mjs';
import { accessKeysText, signAccessToken } from '../kit/access-tokens.ts';
import { makeTracks } from '../kit/media/media-files.ts';
import { waitForMesh } from '../kit/processes/node-pair.ts';
import { type NodeProcess, startNodeProcess } from '../kit/processes/node-process.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { assertPlayed, startProgram, untilSize } from '../media/whip-kit.ts';

const losses = {
  // The media workers end the DTLS connections.
  'a drain': (node: NodeProcess) => node.kill('SIGTERM'),
  // Encoders and players receive nothing more.
  'a crash': async (node: NodeProcess) => {
    for (const pid of await node.children()) process.kill(pid, 'SIGKILL');
    node.kill('SIGKILL');
  },
};

for (const [name, lose] of Object.entries(losses)) {
  test(`Pion publishes and plays again at another node after ${name} of the owning node`, async (t) => {
    const folder = await makeResources(t);
    const files = { video: join(folder, 'video.ivf'), audio: join(folder, 'audio.ogg') };
    await makeTracks(files.video, files.audio, 660);
    const dist = (node: string) => ({
      SVC_DIST_ENABLED: 'true',
      SVC_DIST_NODE_NAME: `${node}${process.pid}@localhost`,
      SVC_DIST_NODES: `owner${process.pid}@localhost`,
      SVC_ACCESS_KEYS: accessKeysText,
      SVC_DRAIN_TIMEOUT: '1',
      SVC_SHUTDOWN_DELAY: '0',
    });
    const owner = await startNodeProcess(t, dist('owner'));
    await owner.api.post('/room', { roomId: 'r' });
    const other = await startNodeProcess(t, dist('other'));
    await waitForMesh([owner.api, other.api]);
    const tokenOf = (identity: string) => signAccessToken({ identity, room: 'r', video: { roomCreate: true } });
    const argsOf = (path: string, { video, audio }: typeof files) => ['-url', `${other.url}/${path}/r`, '-video', video, '-audio', audio];
    const encoder = startProgram(t, goWhip, argsOf('whip', files), 'SIGINT', { ...process.env, WHIP_TOKEN: await tokenOf('camera') });
    const played = { video: join(folder, 'played.ivf'), audio: join(folder, 'played.ogg') };
    const player = startProgram(t, goWhep, argsOf('whep', played), 'SIGINT', { ...process.env, WHEP_TOKEN: await tokenOf('screen') });
    await untilSize(played.video, 40_000, [encoder, player]);

    await lose(owner);
    const again = { video: join(folder, 'played-2.ivf'), audio: join(folder, 'played-2.ogg') };
    await untilSize(again.video, 40_000, [encoder, player]);
    await Promise.all([encoder.stop(), player.stop()]);
    for (const session of [played, again]) await assertPlayed(session, 660);
  });
}
