// Health page: health of the responding node, and effective configuration of any node.
import { Fragment } from 'react';
import type { Health } from '../../../server-sdk/src/generated/schemas.ts';
import { getConfig, getHealth } from '../api/health.ts';
import { FactList } from '../components/fact-list.tsx';
import { connectionStatus, ErrorAlert, PageTitle } from '../components/page-title.tsx';
import { formatDuration, formatNumber, pluralize } from '../format.ts';
import { useResource } from '../hooks/use-resource.ts';
import { ConfigSection } from './config-section.tsx';
import { Findings } from './findings-list.tsx';
import { healthIssues } from './health-issues.ts';
import './health.css';

const healthIntervalMs = 5_000;
/** Configuration changes only when files are reloaded. */
const configIntervalMs = 10_000;

export function HealthPage() {
  const health = useResource(['health'], getHealth, healthIntervalMs);
  const config = useResource(['config'], getConfig, configIntervalMs);
  // Rendered together, against layout shifts.
  const ready = config.data !== undefined || config.problem !== undefined;
  const findings = health.data && healthIssues(health.data, config.data?.warnings ?? []);
  return (
    <>
      <PageTitle title="Health" freshness={connectionStatus(health)} facts={health.data && summaryOf(health.data)} />
      <ErrorAlert problem={health.problem} />
      {ready && findings && (
        <>
          {findings.length > 0 ? (
            <Findings findings={findings} />
          ) : (
            <p className="all-well" data-testid="all-well">
              No issues found
            </p>
          )}
          {health.data && <Facts health={health.data} />}
          <ConfigSection own={config} />
        </>
      )}
    </>
  );
}

function summaryOf({ status, state, distribution }: Health): string {
  const states = { accepting: 'accepting rooms', draining: 'draining', terminating: 'shutting down' };
  const can = status === 'DEGRADED' ? 'degraded' : states[state];
  return distribution.enabled ? `${can} · one of ${pluralize(distribution.nodesInCluster, 'node')}` : `${can} · standalone`;
}

function Facts({ health }: { health: Health }) {
  const { uptime, version, gitCommit, load } = health;
  const commit = gitCommit !== 'unknown' && <code title={gitCommit}>{gitCommit.slice(0, 12)}</code>;
  return (
    <FactList
      className="health-facts"
      testId="health-facts"
      facts={[
        ['Uptime', formatDuration(uptime)],
        ['Rooms', formatNumber(load.rooms)],
        ['Participants', formatNumber(load.connectedPeers)],
        ['Forwarded tracks', formatNumber(load.forwardedTracks)],
        [
          'Version',
          <Fragment key="version">
            {version}
            {commit}
          </Fragment>,
        ],
      ]}
    />
  );
}
