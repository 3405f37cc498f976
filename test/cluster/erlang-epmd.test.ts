// Our name service and Erlang's epmd: either may be there first, both kinds of nodes share one, and it survives its holder.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { listNodes } from '../../node/cluster/erlang/epmd/epmd-client.ts';
import { eventually } from '../kit/eventually.ts';
import { startDistNode } from '../kit/network/dist-nodes.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { runCommand, startEpmd, startErl } from '../kit/processes/erlang-node.ts';

/** Resolves when EPMD lists exactly these. */
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
  await eventually(() => `EPMD lists ${names.join()}, and lists ${found}`, areListed, { every: 20 });
}

describe("Erlang's epmd", () => {
  test('started first is used', async (t) => {
    const port = await freePort();
    await startEpmd(t, port);
    const { node } = await startDistNode(t, 'svc', port);
    assert.equal(node.servesEpmd, false);
    const { output } = await runCommand('epmd', ['-port', String(port), '-names']);
    assert.match(output, new RegExp(`name svc at port ${node.port}`));
    const erl = await startErl(t, { name: 'erl@127.0.0.1', epmdPort: port });
    assert.equal(await erl.eval("net_adm:ping('svc@127.0.0.1')"), 'pong');
  });

  test('that is killed is replaced by ours, with which Erlang nodes register again', async (t) => {
    const port = await freePort();
    const epmd = await startEpmd(t, port);
    const { node } = await startDistNode(t, 'svc', port, { dialsErlang: true });
    await startErl(t, { name: 'erl@127.0.0.1', epmdPort: port });
    await listed(port, ['erl', 'svc']);
    await epmd.kill();
    await listed(port, ['erl', 'svc']);
    assert.ok(node.servesEpmd);
    assert.ok(await node.connect('erl@127.0.0.1'));
  });

  test('started when ours is there gives up, and ours goes on', async (t) => {
    const port = await freePort();
    await startDistNode(t, 'svc', port);
    // It ends by itself: it would stay in the foreground otherwise.
    await runCommand('epmd', ['-port', String(port)]);
    await listed(port, ['svc']);
  });

  test('takes over from ours when that ends', async (t) => {
    const port = await freePort();
    const first = await startDistNode(t, 'first', port);
    await first.node.close();
    await startEpmd(t, port);
    const { node } = await startDistNode(t, 'second', port);
    assert.equal(node.servesEpmd, false);
    await listed(port, ['second']);
  });
});

describe('our EPMD', () => {
  test('serves Erlang nodes: they register, are listed and find each other', async (t) => {
    const port = await freePort();
    const { node } = await startDistNode(t, 'svc', port);
    const one = await startErl(t, { name: 'one@127.0.0.1', epmdPort: port });
    const two = await startErl(t, { name: 'two@127.0.0.1', epmdPort: port });
    assert.equal(await one.eval("net_adm:ping('two@127.0.0.1')"), 'pong');
    const names = "{ok, Names} = erl_epmd:names('127.0.0.1'), lists:sort([Name || {Name, _} <- Names])";
    assert.equal(await one.eval(names), '["one","svc","two"]');
    const { code, output } = await runCommand('epmd', ['-port', String(port), '-names']);
    assert.equal(code, 0);
    assert.match(output, new RegExp(`epmd: up and running on port ${port} with data:`));
    assert.match(output, new RegExp(`name svc at port ${node.port}\nname one at port \\d+\nname two at port \\d+`));
    two.kill('SIGKILL');
    await two.ended;
    await listed(port, ['one', 'svc']);
  });

  test('on the address of a node alone also serves the Erlang nodes of the machine, which look at loopback', async (t) => {
    const port = await freePort();
    const { node } = await startDistNode(t, 'svc@127.0.0.2', port, { ip: '127.0.0.2' });
    const erl = await startErl(t, { name: 'erl@127.0.0.1', epmdPort: port });
    assert.equal(await erl.eval("net_adm:ping('svc@127.0.0.2')"), 'pong');
    assert.deepEqual(node.connections, ['erl@127.0.0.1']);
    // The name of a node says at which address its EPMD is asked: a second address of the machine has one of its own.
    const other = await startDistNode(t, 'svc@127.0.0.3', port, { ip: '127.0.0.3' });
    assert.ok(await other.node.connect('svc@127.0.0.2'));
    assert.ok(await node.connect('svc@127.0.0.3'));
  });

  test('is not ended by epmd -kill and -stop', async (t) => {
    const port = await freePort();
    await startDistNode(t, 'svc', port);
    const killed = await runCommand('epmd', ['-port', String(port), '-kill']);
    assert.match(killed.output, /Killing not allowed/);
    await runCommand('epmd', ['-port', String(port), '-stop', 'svc']);
    await listed(port, ['svc']);
  });
});
