// Configuration section: effective configuration of the responding node, or of a selected one.
import { useState } from 'react';
import { listNodes } from '../api/cluster.ts';
import { type ConfigFiles, getConfig, type NodeConfig } from '../api/health.ts';
import { ErrorAlert } from '../components/page-title.tsx';
import { type Resource, useResource } from '../hooks/use-resource.ts';
import { ConfigTable } from './config-table.tsx';
import { Findings } from './findings-list.tsx';
import { configIssues } from './health-issues.ts';

const pollIntervalMs = 10_000;

/** `own`: configuration of the responding node. */
export function ConfigSection({ own }: { own: Resource<NodeConfig> }) {
  const [chosen, setChosen] = useState<string>();
  const nodes = useResource(['nodes'], listNodes, pollIntervalMs);
  const names = nodes.data?.map(({ name }) => name) ?? [];
  const other = chosen !== undefined && chosen !== own.data?.node ? chosen : undefined;
  return (
    <section className="page-part" aria-labelledby="config-title">
      <div className="part-head">
        <h2 id="config-title">Effective configuration</h2>
        {names.length > 1 && (
          <label className="inline-field">
            <span>Node</span>
            <select data-testid="config-node" value={other ?? own.data?.node} onChange={(event) => setChosen(event.target.value)}>
              {names.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {other === undefined ? <Configuration config={own} /> : <OtherNode key={other} node={other} />}
    </section>
  );
}

function OtherNode({ node }: { node: string }) {
  const config = useResource(['config', node], (api, signal) => getConfig(api, signal, node), pollIntervalMs);
  return (
    <>
      {config.data && <Findings findings={configIssues(config.data.config, config.data.warnings)} />}
      <Configuration config={config} />
    </>
  );
}

function Configuration({ config: { data, problem } }: { config: Resource<NodeConfig> }) {
  return (
    <>
      <ErrorAlert problem={problem} testId="config-problem" />
      {data && (
        <>
          <Files files={data.config.files} />
          <ConfigTable values={data.values} />
        </>
      )}
    </>
  );
}

function Files({ files }: { files: ConfigFiles['files'] }) {
  if (files.length === 0) {
    return <p className="quiet-text small-text">No configuration file: values come from the environment and defaults.</p>;
  }
  return (
    <ul className="config-files" aria-label="Active configuration files">
      {files.map(({ name, sha256 }) => (
        <li key={name} data-testid="config-file">
          <bdi className="foreign">{name}</bdi>
          <code title={`SHA-256 of the active content: ${sha256}`}>{sha256.slice(0, 16)}…</code>
        </li>
      ))}
    </ul>
  );
}
