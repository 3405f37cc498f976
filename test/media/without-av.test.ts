// A node without node-av: each component type either works or is rejected with one message.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withSources } from '../kit/media/sources.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';

test('without node-av, hls, sip and rendering are rejected with one message; file and recording work', async (t) => {
  const resources = await withSources(t, 2);
  const env = { SVC_COMPONENTS_USED: 'hls sip recording file', SVC_RESOURCES_BASE_PATH: resources };
  const node = await startNodeProcess(t, env, { imports: ['no-av.ts'] });
  const { api } = node;
  await api.post('/room', { roomId: 'r' });
  const post = async (type: string, options: object = {}) => {
    const { status, body } = await api.post('/room/r/component', { type, options });
    return { status, errors: body.errors, id: body.data?.id as string | undefined };
  };
  const registrarCredentials = { address: '127.0.0.1', username: 'a', password: 'b' };
  const messageOf = (type: string) =>
    `Components of type ${type} require the optional dependency node-av, which is not installed on this node`;
  assert.deepEqual(await post('hls'), { status: 400, errors: messageOf('hls'), id: undefined });
  assert.deepEqual(await post('sip', { registrarCredentials }), { status: 400, errors: messageOf('sip'), id: undefined });
  const recorder = await post('recording');
  assert.deepEqual([recorder.status, (await post('file', { filePath: 'tone.ogg' })).status], [201, 201]);
  assert.equal((await api.delete(`/room/r/component/${recorder.id}`)).status, 204);
  const [id] = (await api.get('/recording')).body.data as string[];
  const rendered = await api.post(`/recording/${id}/render`, {});
  assert.deepEqual([rendered.status, rendered.body.errors], [503, 'Rendering requires the package node-av, which is not installed']);
  // The response with status 503 is logged as an error, sometimes before this line.
  const logged = node
    .output()
    .split('\n')
    .filter((line) => !line.includes('"status":503'));
  assert.doesNotMatch(logged.join('\n'), /ERR_MODULE_NOT_FOUND|"level":"(warn|error|fatal)"/);
});
