// Health issues: derives findings from health and configuration of a node, the most urgent first.
import type { Health, NodeState } from '../../../server-sdk/src/generated/schemas.ts';
import type { ConfigFiles } from '../api/health.ts';

const tones = ['danger', 'warning', 'info'] as const;

export type Finding = { tone: (typeof tones)[number]; title: string; text: string };

const states: Record<Exclude<NodeState, 'accepting'>, Finding> = {
  draining: {
    tone: 'warning',
    title: 'This node is draining',
    text: 'It accepts no new rooms and can be removed when the last one has ended. Cancel the drain on the Cluster page.',
  },
  terminating: {
    tone: 'warning',
    title: 'This node is shutting down',
    text: 'It is waiting for rooms, uploads and webhooks to finish. This cannot be cancelled.',
  },
};

/** `warnings`: startup warnings of the node. */
export function healthIssues(health: Health, warnings: readonly string[]): Finding[] {
  const found = [...nodeFindings(health), ...configIssues(health.config, warnings)];
  return tones.flatMap((wanted) => found.filter(({ tone }) => tone === wanted));
}

function nodeFindings({ distribution, state, status, reason }: Health): Finding[] {
  const found: Finding[] = [];
  if (status === 'DEGRADED') found.push({ tone: 'danger', title: 'This node is degraded', text: message(reason ?? '') });
  if (status === 'STARTING') found.push({ tone: 'info', title: 'This node is starting', text: message(reason ?? '') });
  if (distribution.enabled && distribution.nodeStatus === 'DOWN') {
    found.push({
      tone: 'danger',
      title: 'This node is not connected to the cluster',
      text: 'Clustering is enabled, but this node has not joined: it only knows its own rooms.',
    });
  }
  if (state !== 'accepting') found.push(states[state]);
  return found;
}

export function configIssues({ error, shadowed }: ConfigFiles, warnings: readonly string[]): Finding[] {
  const found: Finding[] = [];
  if (error !== null) {
    found.push({
      tone: 'danger',
      title: 'Invalid configuration files',
      text: `${message(error)} The previous configuration stays active until the files are fixed.`,
    });
  }
  for (const warning of warnings) found.push({ tone: 'warning', title: 'Startup warning', text: message(warning) });
  for (const name of shadowed) {
    found.push({
      tone: 'info',
      title: `${name} in the configuration files has no effect`,
      text: 'An environment variable overrides it. Remove it from one of the two.',
    });
  }
  return found;
}

function message(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
