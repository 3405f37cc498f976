// Connection test panel: tests each media path to the room before joining.
import { checkConnection, type ServerResult, type Way, type WayResult } from '@mediarooms/client';
import { useEffect, useRef, useState } from 'react';
import { socketPath } from '../../../client/src/generated/protocol.ts';
import { errorMessage } from '../api/rest.ts';
import { type CheckResult, type CheckStatus, checkSummary, pathResult, serverResult } from './check-messages.ts';

export type ConnectionPanelProps = {
  /** Token and URL for the test. */
  getAccess: () => Promise<{ token: string; url: string | null }>;
  base: string;
};

type Check =
  | { phase: 'idle' }
  | { phase: 'running' | 'done'; server: ServerResult | undefined; ways: readonly WayResult[] }
  | { phase: 'failed'; message: string };

const names: Record<Way, string> = { udp: 'Direct (UDP)', tcp: 'TCP fallback', relay: 'Relay (TURN)' };
const ways: readonly Way[] = ['udp', 'tcp', 'relay'];

export function ConnectionPanel({ getAccess, base }: ConnectionPanelProps) {
  const [check, setCheck] = useState<Check>({ phase: 'idle' });
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  const start = async () => {
    running.current?.abort();
    const control = new AbortController();
    running.current = control;
    const { signal } = control;
    setCheck({ phase: 'running', server: undefined, ways: [] });
    const learn = (change: (before: { server: ServerResult | undefined; ways: readonly WayResult[] }) => object) =>
      setCheck((before) => (signal.aborted || before.phase !== 'running' ? before : { ...before, ...change(before) }));
    try {
      const { token, url } = await getAccess();
      const own = new URL(socketPath.slice(1), base).href;
      await checkConnection({
        url: url ?? own,
        fallbackUrls: [own],
        token,
        signal,
        onServer: (server) => learn(() => ({ server })),
        onWay: (way) => learn((before) => ({ ways: [...before.ways, way] })),
      });
      learn(() => ({ phase: 'done' }));
    } catch (error) {
      if (!signal.aborted) setCheck({ phase: 'failed', message: errorMessage(error) });
    }
  };

  const busy = check.phase === 'running';
  return (
    <section className="check" aria-label="Connection test" data-testid="check" data-phase={check.phase}>
      <div className="check-head">
        <h2>Test your connection</h2>
        <button type="button" className="button" data-testid="check-start" aria-disabled={busy} onClick={() => busy || void start()}>
          {busy ? 'Testing…' : check.phase === 'idle' ? 'Test' : 'Test again'}
        </button>
      </div>
      <p className="hint">Tests each media path. Participants are not notified.</p>
      <div role="status">
        {check.phase === 'failed' && <Verdict finding={{ mark: 'bad', message: check.message }} />}
        {(check.phase === 'running' || check.phase === 'done') && <Results {...check} done={check.phase === 'done'} />}
      </div>
    </section>
  );
}

function Results({ server, ways: found, done }: { server: ServerResult | undefined; ways: readonly WayResult[]; done: boolean }) {
  if (server && server.state !== 'open') return <Verdict finding={serverResult(server)} />;
  return (
    <>
      {done && <Verdict finding={checkSummary(found)} />}
      <ul className="check-list">
        <Row name="Server" testId="check-server" finding={server && serverResult(server)} />
        {ways.map((way) => {
          const result = found.find((each) => each.way === way);
          // The severity of a failure depends on the other paths.
          const known = result && (result.state !== 'closed' || done) ? pathResult(result, found) : undefined;
          return <Row key={way} name={names[way]} testId={`check-${way}`} finding={known} />;
        })}
      </ul>
    </>
  );
}

function Verdict({ finding }: { finding: CheckResult }) {
  return (
    <p className={`verdict ${finding.mark}`} data-testid="check-verdict" data-mark={finding.mark}>
      {finding.message}
    </p>
  );
}

const marks: Record<CheckStatus, { sign: string; word: string }> = {
  good: { sign: '✓', word: 'works' },
  warning: { sign: '!', word: 'does not work' },
  bad: { sign: '✕', word: 'does not work' },
  info: { sign: '–', word: 'not configured' },
};

function Row({ name, testId, finding }: { name: string; testId: string; finding: CheckResult | undefined }) {
  const mark = finding && marks[finding.mark];
  return (
    <li className="check-row" data-testid={testId} data-mark={finding?.mark ?? 'pending'}>
      <span className={`check-mark ${finding?.mark ?? 'pending'}`} aria-hidden="true">
        {mark?.sign ?? '…'}
      </span>
      <span>
        <strong>{name}</strong>
        <span className="visually-hidden">{mark ? ` ${mark.word}: ` : ': '}</span>
        <span className="check-message">{finding?.message ?? 'Testing…'}</span>
      </span>
    </li>
  );
}
