// LiveKit's unmodified native client (the core of its SDKs in Rust), for the comparison of joins.
import { eventually } from '../../kit/eventually.ts';
import { NativePeer } from '../../kit/livekit/native-peer.ts';
import { ip } from '../../kit/network/namespaces.ts';
import { runCommand } from '../../kit/processes/command.ts';
import { type JoinClients, type OpenClients, readyTimeoutMs } from './client-joins.ts';
import { address, type ServerNetwork } from './servers.ts';

const frameInterval = 1000 / 30;

/** A program that publishes, and one that joins; it has its own connection to another room. */
export const openNativeClients: OpenClients = async (t, network, tokenFor): Promise<JoinClients> => {
  await addInterface(network);
  const url = `ws://${address}`;
  const start = (identity: string, token: string) => NativePeer.join(t, network, url, identity, token);
  await eventually('the server accepts connections', () => accepts(network), { within: readyTimeoutMs });
  const receiver = await start('receiver', await tokenFor('receiver', 'other'));
  return {
    publish: async (token) => {
      const publisher = await start('publisher', token);
      await publisher.do('publish', { colour: [200, 30, 30], width: 640, height: 360, interval: frameInterval, tone: 440 });
    },
    join: (token) => receiver.do('timeJoin', url, token),
  };
};

/** The client ignores loopback interfaces, and reaches the server over one once it has another one. Idempotent. */
async function addInterface({ name }: ServerNetwork): Promise<void> {
  await ip('-n', name, 'link', 'add', 'client', 'type', 'veth', 'peer', 'name', 'other').catch(() => {});
  await ip('-n', name, 'addr', 'replace', '10.99.0.1/24', 'dev', 'client');
  for (const each of ['client', 'other']) await ip('-n', name, 'link', 'set', each, 'up');
}

async function accepts({ name }: ServerNetwork): Promise<boolean> {
  const [host, port] = address.split(':');
  const connect = ['ip', 'netns', 'exec', name, 'bash', '-c', `</dev/tcp/${host}/${port}`];
  return (await runCommand(connect, { mayFail: true })).code === 0;
}
