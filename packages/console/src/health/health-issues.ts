// What of a node's health and configuration somebody should look at, in sentences, the most urgent first.
import type { Health, NodeState } from '../../../server-sdk/src/generated/schemas.ts';
import type { ConfigFiles } from '../api/health.ts';

const tones = ['danger', 'warning', 'info'] as const;

export type Finding = { tone: (typeof tones)[number]; title: string; text: string };

const states: Record<Exclude<NodeState, 'accepting'>, Finding> = {
  draining: {
    tone: 'warning',
    title: 'This node is draining',
    text: 'It takes no new rooms, and can be taken away when the last one has ended. The part Cluster calls it back.',
  },
  terminating: {
    tone: 'warning',
    title: 'This node is about to end',
    text: 'It got its signal and waits for its rooms, its uploads and its webhooks. That cannot be called back.',
  },
};

/** `warnings`: what the node said when it started. */
export function healthIssues(health: Health, warnings: readonly string[]): Finding[] {
  const found = [...nodeFindings(health), ...configIssues(health.config, warnings)];
  return tones.flatMap((wanted) => found.filter(({ tone }) => tone === wanted));
}

function nodeFindings({ distribution, state, status, reason }: Health): Finding[] {
  const found: Finding[] = [];
  if (status === 'DEGRADED') found.push({ tone: 'danger', title: 'This node does not do all its work', text: sentence(reason ?? '') });
  if (status === 'STARTING') found.push({ tone: 'info', title: 'This node is starting', text: sentence(reason ?? '') });
  if (distribution.enabled && distribution.nodeStatus === 'DOWN') {
    found.push({
      tone: 'danger',
      title: 'This node has no way to the others',
      text: 'The cluster is switched on, and this node does not take part: it sees its own rooms only.',
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
      title: 'The configuration files are refused',
      text: `${sentence(error)} What was in force before stays in force until they are mended.`,
    });
  }
  for (const warning of warnings) found.push({ tone: 'warning', title: 'Said at the start', text: sentence(warning) });
  for (const name of shadowed) {
    found.push({
      tone: 'info',
      title: `${name} of the files has no effect`,
      text: 'A variable of the environment says something else, and the environment wins. Take it out of one of both.',
    });
  }
  return found;
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
