// The packed archive of the client library: what someone gets who installs it, in Node.js and under TypeScript.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { nodeModules, root } from '../../node/setup/paths.mjs';
import { apiClient } from '../kit/api-client.ts';
import { startNode } from '../kit/start-node.ts';

const run = promisify(execFile);
const deadline = 60_000;

/** An empty project with the packed library installed. Its dependency is the one of this checkout, so that no registry is needed. */
async function project(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mediarooms-package-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await run(process.execPath, [join(root, 'node/setup/build-package.mjs'), 'node/client'], { timeout: deadline });
  await run('npm', ['pack', '--pack-destination', folder, '--silent'], { cwd: join(root, 'node/client'), timeout: deadline });
  const archive = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  assert.ok(archive, 'npm pack made no archive');
  const dependency = `file:${join(nodeModules, 'mediasoup-client')}`;
  const manifest = { name: 'empty', private: true, type: 'module', overrides: { 'mediasoup-client': dependency } };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', '--install-links=false', `./${archive}`], {
    cwd: folder,
    timeout: deadline,
  });
  return folder;
}

test('the packed library is imported in Node.js, and a program with it gets messages of a room', async (t) => {
  const [folder, node] = await Promise.all([project(t), startNode(t)]);
  const files = await readdir(join(folder, 'node_modules/@mediarooms/client'), { recursive: true });
  assert.ok(files.includes('dist/index.js') && files.includes('dist/index.d.ts') && files.includes('README.md'));
  assert.ok(!files.some((name) => name.startsWith('src')), 'the sources are not packed');
  const api = apiClient(node.url, node.token);
  const roomId: string = (await api.post('/room', {})).body.data.room.id;
  const { token } = (await api.post(`/room/${roomId}/peer`, { type: 'webrtc', options: {} })).body.data;
  const program = `
    import { RoomClient } from '@mediarooms/client';
    const room = new RoomClient({ url: process.argv[2], token: process.argv[3], metadata: { name: 'program' } });
    room.on('data', async ({ label, payload }) => {
      console.log(label, payload, room.state, room.canReceiveMedia);
      await room.leave();
    });
    await room.join();
    console.log('joined');
  `;
  await writeFile(join(folder, 'program.js'), program);
  const running = run(process.execPath, ['program.js', node.peerSocketUrl, token], { cwd: folder, timeout: deadline });
  running.child.stdout?.once('data', () => void api.post(`/room/${roomId}/data`, { label: 'chat', payload: 'hello' }));
  const { stdout, stderr } = await running;
  assert.equal(stdout, 'joined\nchat hello joined false\n');
  assert.equal(stderr, '');
});

test('the types of the packed library hold under strict TypeScript, with or without types of the DOM', async (t) => {
  const folder = await project(t);
  const source = `
    import { RoomClient, RequestError, type LocalTrack, type RoomState } from '@mediarooms/client';
    const room = new RoomClient({ url: 'wss://host/socket/peer/websocket', token: 'token' });
    room.on('trackSubscribed', ({ track, trackId, peerId }) => { const kind: string = track.kind + trackId + (peerId ?? ''); console.log(kind); });
    room.on('closed', ({ reason }) => { const left: boolean = reason === 'left'; console.log(left); });
    // @ts-expect-error there is no such event
    room.on('nothing', () => {});
    // @ts-expect-error a state is one of five
    const state: RoomState = 'anything';
    export async function send(media: MediaStreamTrack): Promise<LocalTrack> {
      await room.join();
      try { return await room.publish(media, { metadata: { source: 'camera' } }); }
      catch (error) { if (error instanceof RequestError) console.log(error.code, state); throw error; }
    }
  `;
  await writeFile(join(folder, 'app.ts'), source);
  await symlink(join(nodeModules, 'typescript'), join(folder, 'node_modules/typescript'));
  for (const lib of ['es2022', 'es2022,dom']) {
    const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--types', '', '--lib', lib, 'app.ts'];
    await run(join(nodeModules, '.bin/tsc'), options, { cwd: folder, timeout: deadline }).catch((error: { stdout: string }) => {
      assert.fail(`with --lib ${lib}: ${error.stdout}`);
    });
  }
});
