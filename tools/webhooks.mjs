// `npm run webhooks [dead|replay] [room]`: shows the webhooks of a running cluster and replays dead letters.

const [what = 'status', roomId] = process.argv.slice(2);

/** @returns {{ method: string, path: string, body?: object } | undefined} */
function requestOf() {
  if (what === 'status') return { method: 'GET', path: '/webhooks' };
  if (what === 'dead') return { method: 'GET', path: `/webhooks/dead${roomId ? `?${new URLSearchParams({ roomId })}` : ''}` };
  return what === 'replay' ? { method: 'POST', path: '/webhooks/dead/replay', body: roomId ? { roomId } : {} } : undefined;
}

/** @param {NonNullable<ReturnType<typeof requestOf>>} request */
async function call({ method, path, body }) {
  const base = (process.env.SVC_URL || 'http://127.0.0.1:5002').replace(/\/$/, '');
  const response = await fetch(base + path, {
    method,
    headers: { authorization: `Bearer ${process.env.SVC_SERVER_API_TOKEN ?? ''}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const answer = /** @type {{ data?: unknown, errors?: string, incomplete?: string[] }} */ (await response.json());
  if (!response.ok) throw new Error(answer.errors ?? `the node responded with status ${response.status}`);
  if (answer.incomplete?.length) process.stderr.write(`No response from nodes: ${answer.incomplete.join(', ')}\n`);
  return answer.data;
}

const request = requestOf();
if (!request) {
  process.stderr.write('Usage: npm run webhooks [dead|replay] [room]\n');
  process.exitCode = 2;
} else {
  try {
    process.stdout.write(`${JSON.stringify(await call(request), null, 2)}\n`);
  } catch (error) {
    const { cause, message } = /** @type {Error} */ (error);
    process.stderr.write(`${cause instanceof Error ? cause.message : message}\n`);
    process.exitCode = 1;
  }
}
