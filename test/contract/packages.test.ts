// Packed archives of both packages, installed and used in Node.js 20 and 24, Deno, Bun, TypeScript and Vite.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { clientLibrary, ensureBuilds, serverSdk } from '../../tools/builds.mjs';
import { nodeModules, pinnedNode, root } from '../../tools/paths.mjs';
import { findRuntime } from '../../tools/test-runner/runtimes.mjs';
import { runCommand } from '../kit/processes/command.ts';
import { startNode } from '../kit/processes/start-node.ts';

/** An empty project with both packages installed. Dependencies are those of this checkout, so no registry is needed. */
const folder = mkdtempSync(join(tmpdir(), 'mediarooms-packages-'));
after(() => rm(folder, { recursive: true, force: true }));

before(async () => {
  for (const [name, path] of [
    [clientLibrary, 'packages/client'],
    [serverSdk, 'packages/server-sdk'],
  ] as const) {
    await ensureBuilds(name);
    await runCommand(['npm', 'pack', '--pack-destination', folder, '--silent'], { cwd: join(root, path) });
  }
  const archives = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  assert.equal(archives.length, 2, archives.join());
  const overrides = { 'mediasoup-client': `file:${join(nodeModules, 'mediasoup-client')}` };
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'empty', private: true, type: 'module', overrides }));
  const options = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts', '--install-links=false'];
  await runCommand(['npm', 'install', ...options, ...archives.map((name) => `./${name}`)], { cwd: folder });
  await mkdir(join(folder, 'node_modules/@types'));
  for (const name of ['ws', 'react', 'react-dom', '@types/node', '@types/react', '@types/react-dom', '@types/ws'])
    await symlink(join(nodeModules, name), join(folder, 'node_modules', name));
});

test('archives contain the build and its types, and no sources', async () => {
  for (const [name, wanted] of [
    ['client', ['dist/index.js', 'dist/index.d.ts', 'dist/react/index.js', 'dist/react/index.d.ts', 'README.md']],
    ['server', ['dist/index.js', 'dist/index.d.ts', 'dist/generated/schemas.d.ts', 'README.md']],
  ] as const) {
    const files = await readdir(join(folder, 'node_modules/@mediarooms', name), { recursive: true });
    assert.deepEqual(
      wanted.filter((file) => !files.includes(file)),
      [],
    );
    assert.ok(!files.some((file) => file.startsWith('src')), name);
  }
});

/** Uses both packages like a backend and a guest, then exits. */
const program = `
  import { Mediarooms, MediaroomsError, WebhookVerifier } from '@mediarooms/server';
  import { RoomClient } from '@mediarooms/client';
  const [, , url, apiToken] = process.argv;
  const webSocket = globalThis.WebSocket ?? (await import('ws')).WebSocket;
  const mediarooms = new Mediarooms({ url, token: apiToken, webSocket });
  const events = mediarooms.events({ cursor: {} });
  const { room } = await mediarooms.rooms.create();
  const { token, peer_websocket_url } = await mediarooms.peers.add(room.id);
  const client = new RoomClient({ url: peer_websocket_url, token, webSocket, metadata: { name: 'program' } });
  client.on('data', async ({ label, payload }) => {
    console.log(label, payload, client.state, client.canReceiveMedia);
    await client.leave();
  });
  await client.join();
  await mediarooms.rooms.sendData(room.id, 'chat', 'hello');
  for await (const event of events) {
    console.log(event.type);
    if (event.type === 'PeerDisconnected') break;
  }
  await mediarooms.rooms.get('nowhere').catch((error) => console.log(error instanceof MediaroomsError, error.code));
  const verifier = new WebhookVerifier({ secrets: 'whsec_' + btoa('x'.repeat(24)) });
  await verifier.verify('{}', {}).catch((error) => console.log(error.code));
`;

const said = `chat hello joined false
RoomCreated
PeerAdded
PeerConnected
PeerMetadataUpdated
PeerDisconnected
true room_not_found
invalid_webhook
`;

/** Executables named node on PATH and the pinned one, by major version. */
function nodesByMajor(): Map<number, string> {
  const places = [pinnedNode, ...(process.env.PATH ?? '').split(delimiter).map((place) => join(place, 'node'))];
  return new Map(
    places.filter(existsSync).map((path) => {
      const version = execFileSync(path, ['--version'], { encoding: 'utf8', timeout: 60_000 });
      return [Number(/^v(\d+)/.exec(version)?.[1]), path];
    }),
  );
}

for (const major of [20, 24]) {
  const node = nodesByMajor().get(major);
  const skip = node === undefined && `there is no Node.js ${major} on PATH`;
  test(`a program with both packages runs in Node.js ${major}`, { skip }, async (t) => {
    const { url, token } = await startNode(t);
    await writeFile(join(folder, 'program.js'), program);
    const { stdout, stderr } = await runCommand([node ?? '', 'program.js', url, token], { cwd: folder });
    assert.deepEqual(stdout.split('\n').sort(), said.split('\n').sort());
    assert.equal(stderr, '');
  });
}

for (const [name, args] of [
  ['deno', ['run', '--no-prompt', '--allow-net', '--allow-read', '--allow-env']],
  ['bun', []],
] as const) {
  const runtime = findRuntime(name);
  test(`the same program runs in ${name}`, { skip: runtime === undefined && `${name} could not be downloaded` }, async (t) => {
    const { url, token } = await startNode(t);
    await writeFile(join(folder, 'program.js'), program);
    const { stdout } = await runCommand([runtime ?? '', ...args, 'program.js', url, token], { cwd: folder });
    assert.deepEqual(stdout.split('\n').sort(), said.split('\n').sort());
  });
}

const clientSource = `
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

const serverSource = `
  import { Mediarooms, MediaroomsError, type RoomEvent, WebhookVerifier } from '@mediarooms/server';
  const mediarooms = new Mediarooms({ url: 'http://host', token: async () => 'token' });
  export function tell(event: RoomEvent): string {
    switch (event.type) {
      case 'TrackAdded': return event.track.type + event.seq.toFixed();
      case 'SipDigitReceived': return event.digit + event.call.phoneNumber;
      // @ts-expect-error a room that crashed may have no seq
      case 'RoomCrashed': return event.seq.toFixed();
      // @ts-expect-error there is no such kind
      case 'Nothing': return '';
      default: return event.roomId;
    }
  }
  export async function use(): Promise<string> {
    const { room } = await mediarooms.rooms.create({ maxPeers: 2 });
    // @ts-expect-error no room has such an option
    await mediarooms.rooms.create({ maxPeople: 2 });
    await mediarooms.components.add(room.id, { type: 'file', options: { filePath: 'a.ogg' } });
    // @ts-expect-error a file has a path
    await mediarooms.components.add(room.id, { type: 'file', options: {} });
    const { event } = await new WebhookVerifier({ secrets: ['a'] }).verify('', new Headers());
    for await (const next of mediarooms.events({ types: ['PeerAdded'], cursor: {} })) tell(next);
    try { return tell(event); } catch (error) { return error instanceof MediaroomsError ? error.code : ''; }
  }
`;

const pageSource = `
  import { RoomProvider, useConnectionState, useLocalMedia, useTrack, useTracks } from '@mediarooms/client/react';
  import { createRoot } from 'react-dom/client';
  function Track({ id }: { id: string }) { return <video ref={useTrack(id)} autoPlay />; }
  function Room() {
    const { state } = useConnectionState();
    const { camera, setCamera } = useLocalMedia({ audio: false });
    // @ts-expect-error tracks are audio or video
    useTracks({ kind: 'smell' });
    return <button type="button" onClick={() => setCamera(!camera)}>{state}{useTracks({ kind: 'video' }).map(({ id }) => <Track key={id} id={id} />)}</button>;
  }
  createRoot(document.body).render(<RoomProvider url="wss://host" token="t"><Room /></RoomProvider>);
`;

test('types compile under strict TypeScript, also as library check, with and without DOM types', async () => {
  const files = { 'client.ts': clientSource, 'server.ts': serverSource, 'page.tsx': pageSource };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const common = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--jsx', 'react-jsx'];
  const runs = [
    ['--types', '', '--lib', 'es2022', 'client.ts'],
    ['--types', '', '--lib', 'es2022,dom,dom.iterable', 'client.ts', 'page.tsx', 'server.ts'],
    ['--types', 'node', '--lib', 'es2022', 'server.ts'],
  ];
  for (const options of runs) await runCommand([join(nodeModules, '.bin/tsc'), ...common, ...options], { cwd: folder });
});

test('Vite bundles a page with the client, and React only for pages that use hooks', async () => {
  await writeFile(join(folder, 'page.tsx'), pageSource);
  await writeFile(
    join(folder, 'strip-undefined.ts'),
    `import { RoomClient } from '@mediarooms/client';\nnew RoomClient({ url: 'wss://host', token: 't' });\n`,
  );
  const bundle = async (entry: string): Promise<string> => {
    await writeFile(join(folder, 'index.html'), `<!doctype html><script type="module" src="/${entry}"></script>`);
    const args = [join(nodeModules, 'vite/bin/vite.js'), 'build', '--outDir', `out-${entry}`, '--logLevel', 'error'];
    await runCommand([pinnedNode, ...args], { cwd: folder });
    const assets = join(folder, `out-${entry}`, 'assets');
    const scripts = (await readdir(assets)).filter((name) => name.endsWith('.js'));
    return (await Promise.all(scripts.map((name) => readFile(join(assets, name), 'utf8')))).join('\n');
  };
  const has = (text: string) => [
    text.includes('The peer was removed from the room'),
    text.includes('This hook requires a RoomProvider'),
    text.includes('react.transitional.element'),
    /from\s*["']@mediarooms/.test(text),
  ];
  assert.deepEqual(has(await bundle('strip-undefined.ts')), [true, false, false, false]);
  assert.deepEqual(has(await bundle('page.tsx')), [true, true, true, false]);
});
