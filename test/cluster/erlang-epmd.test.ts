// Our EPMD and that of Erlang: either can start first, both types of nodes share it, and it is replaced after a loss.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { listNodes } from '../../node/cluster/erlang/epmd/epmd-client.ts';
import { eventually } from '../kit/eventually.ts';
import { startDistNode } from '../kit/network/dist-nodes.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { runCommand } from '../kit/processes/command.ts';
import { startEpmd, startErl } from '../kit/processes/erlang-node.ts';

async function epmd(port: number, ...args: string[]): Promise<{ code: number; output: string }> {
  const { code, stdout, stderr } = await runCommand(['epmd', '-port', String(port), ...args], { mayFail: true });
  return { code, output: stdout + stderr };
}

/** Resolves when EPMD lists exactly these nodes. */
async function listed(port: number, names: readonly string[]): Promise<void> {
  let found = '';
  const areListed = async () => {
    const entries = await listNodes({ host: '127.0.0.1', port }).catch(() => []);
    found = entries
      .map(({ name }) => name)
      .sort()
      .join();
    return found === names.toSorted().join();
  };
  await eventually(() => `EPMD lists ${names.join()} (now ${found})`, areListed, { every: 20 });
}

describe('the EPMD of Erlang', () => {
  test('is used if it was started first', async (t) => {
    const port = await freePort();
    await startEpmd(t, port);
    const { node, record } = await startDistNode(t, 'svc', port);
    assert.equal((await record.logged('registered with EPMD')).own, false);
    const { output } = await epmd(port, '-names');
    assert.match(output, new RegExp(`name svc at port ${node.port}`));
    const erl = await startErl(t, { name: 'erl@127.0.0.1', epmdPort: port });
    assert.equal(await erl.eval("net_adm:ping('svc@127.0.0.1')"), 'pong');
  });

  test('is replaced by ours after kill -9, and Erlang nodes register again', async (t) => {
    const port = await freePort();
    const epmd = await startEpmd(t, port);
    const { node, record } = await startDistNode(t, 'svc', port, { dialsErlang: true });
    await startErl(t, { name: 'erl@127.0.0.1', epmdPort: port });
    await listed(port, ['erl', 'svc']);
    await epmd.kill();
    await listed(port, ['erl', 'svc']);
    await eventually('the node serves EPMD', () => record.find('registered with EPMD').at(-1)?.own === true);
    assert.ok(await node.connect('erl@127.0.0.1'));
  });

  test('exits if ours is running, and ours continues', async (t) => {
    const port = await freePort();
    await startDistNode(t, 'svc', port);
    // It exits, because it would stay in the foreground otherwise.
    await epmd(port);
    await listed(port, ['svc']);
  });

  test('takes over from ours when that ends', async (t) => {
    const port = await freePort();
    const first = await startDistNode(t, 'first', port);
    await first.node.close();
    await startEpmd(t, port);
    const { record } = await startDistNode(t, 'second', port);
    assert.equal((await record.logged('registered with EPMD')).own, false);
    await listed(port, ['second']);
  });
});

describe('our EPMD', () => {
  test('serves Erlang nodes, which register, are listed and find each other', async (t) => {
    const port = await freePort();
    const { node } = await startDistNode(t, 'svc', port);
    const one = await startErl(t, { name: 'one@127.0.0.1', epmdPort: port });
    const two = await startErl(t, { name: 'two@127.0.0.1', epmdPort: port });
    assert.equal(await one.eval("net_adm:ping('two@127.0.0.1')"), 'pong');
    const names = "{ok, Names} = erl_epmd:names('127.0.0.1'), lists:sort([Name || {Name, _} <- Names])";
    assert.equal(await one.eval(names), '["one","svc","two"]');
    const { code, output } = await epmd(port, '-names');
    assert.equal(code, 0);
    assert.match(output, new RegExp(`epmd: up and running on port ${port} with data:`));
    assert.match(output, new RegExp(`name svc at port ${node.port}\nname one at port \\d+\nname two at port \\d+`));
    two.kill('SIGKILL');
    await two.ended;
    await listed(port, ['one', 'svc']);
  });

  test('also serves local Erlang nodes at loopback if it listens on the address of a node only', async (t) => {
    const port = await freePort();
    const { node } = await startDistNode(t, 'svc@127.0.0.2', port, { ip: '127.0.0.2' });
    const erl = await startErl(t, { name: 'erl@127.0.0.1', epmdPort: port });
    assert.equal(await erl.eval("net_adm:ping('svc@127.0.0.2')"), 'pong');
    assert.deepEqual(node.connections, ['erl@127.0.0.1']);
    // The node name determines the address of its EPMD: a second address of the host has a separate EPMD.
    const other = await startDistNode(t, 'svc@127.0.0.3', port, { ip: '127.0.0.3' });
    assert.ok(await other.node.connect('svc@127.0.0.2'));
    assert.ok(await node.connect('svc@127.0.0.3'));
  });

  test('is not stopped by epmd -kill and -stop', async (t) => {
    const port = await freePort();
    await startDistNode(t, 'svc', port);
    const killed = await epmd(port, '-kill');
    assert.match(killed.output, /Killing not allowed/);
    await epmd(port, '-stop', 'svc');
    await listed(port, ['svc']);
  });
});
