// How the node is that answers, in words, and the configuration in force on it or on another one.
import { useCallback, useState } from 'react';
import { listNodes } from '../api/cluster.ts';
import { type ConfigFiles, getConfig, getHealth, type Health } from '../api/health.ts';
import { ErrorNote, freshnessOf, PageHead } from '../components/page-head.tsx';
import { useConsole } from '../hooks/console-context.ts';
import { type Resource, useResource } from '../hooks/use-resource.ts';
import { count, durationWords, figure } from '../words.ts';
import { ConfigTable } from './config-table.tsx';
import { type Finding, findingsOf } from './findings.ts';
import '../styles/health.css';

const healthEvery = 5_000;
/** Files are read anew when they change, and nobody waits for that. */
const configEvery = 10_000;

export function HealthPage() {
  const { api } = useConsole();
  const [node, setNode] = useState<string>();
  const health = useResource(
    useCallback((signal: AbortSignal) => getHealth(api, signal), [api]),
    healthEvery,
  );
  const config = useResource(
    useCallback((signal: AbortSignal) => getConfig(api, node, signal), [api, node]),
    configEvery,
  );
  const nodes = useResource(
    useCallback((signal: AbortSignal) => listNodes(api, signal), [api]),
    configEvery,
  );
  const names = nodes.data?.map(({ name }) => name) ?? [];
  const other = node !== undefined && node !== names[0];
  return (
    <>
      <PageHead title="Health" freshness={freshnessOf(health)} facts={health.data && summaryOf(health.data)} />
      <ErrorNote problem={health.problem} />
      {health.data && (
        <>
          <Findings findings={findingsOf(health.data, config.data?.warnings ?? [], config.data?.config)} />
          <Facts health={health.data} />
        </>
      )}
      <section className="health-section" aria-labelledby="config-title">
        <div className="section-line">
          <h2 id="config-title">Configuration in force</h2>
          {names.length > 1 && (
            <label className="inline-field">
              <span>Node</span>
              <select data-testid="config-node" value={node ?? config.data?.node ?? ''} onChange={(event) => setNode(event.target.value)}>
                {names.map((name) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
          )}
        </div>
        {other && config.lost && <p className="quiet-text">This node does not answer.</p>}
        <Configuration config={config} />
      </section>
    </>
  );
}

function Configuration({ config }: { config: Resource<Awaited<ReturnType<typeof getConfig>>> }) {
  return (
    <>
      <ErrorNote problem={config.problem} testId="config-problem" />
      {config.data && (
        <>
          <Files files={config.data.config.files} />
          <ConfigTable values={config.data.values} />
        </>
      )}
    </>
  );
}

function summaryOf({ status, state, distribution }: Health): string {
  const can = status === 'DOWN' ? 'down' : { accepting: 'takes rooms', draining: 'draining', terminating: 'about to end' }[state];
  return distribution.enabled ? `${can} · one of ${count(distribution.nodesInCluster, 'node')}` : `${can} · alone, without a cluster`;
}

function Findings({ findings }: { findings: readonly Finding[] }) {
  if (findings.length === 0) {
    return (
      <p className="all-well" data-testid="all-well">
        Nothing needs your attention.
      </p>
    );
  }
  return (
    <ul className="findings" aria-label="What needs attention">
      {findings.map(({ tone, title, text }) => (
        <li key={title + text} className={`page-note ${tone}`} data-testid="finding" data-tone={tone}>
          <strong>{title}</strong>
          <p className="foreign">{text}</p>
        </li>
      ))}
    </ul>
  );
}

function Facts({ health }: { health: Health }) {
  const { uptime, version, gitCommit, load } = health;
  const facts: [string, string, string?][] = [
    ['Running for', durationWords(uptime)],
    ['Rooms here', figure(load.rooms)],
    ['People here', figure(load.connectedPeers)],
    ['Tracks sent on', figure(load.forwardedTracks)],
    ['Version', version, gitCommit === 'unknown' ? undefined : gitCommit.slice(0, 12)],
  ];
  return (
    <dl className="facts" data-testid="health-facts">
      {facts.map(([name, value, more]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {more && <code title={gitCommit}>{more}</code>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Files({ files }: { files: ConfigFiles['files'] }) {
  if (files.length === 0) {
    return (
      <p className="quiet-text small-text">No configuration file: everything comes from the environment, or is as it is by default.</p>
    );
  }
  return (
    <ul className="config-files" aria-label="Configuration files in force">
      {files.map(({ name, sha256 }) => (
        <li key={name} data-testid="config-file">
          <bdi className="foreign">{name}</bdi>
          <code title={`SHA-256 of the bytes in force: ${sha256}`}>{sha256.slice(0, 16)}…</code>
        </li>
      ))}
    </ul>
  );
}
