// Limits of workers of agents and their jobs; times in milliseconds, sizes in bytes.
import { availabilityTimeoutMs, maxAgentWorkers } from '../../../api/operations/agent-rpcs.ts';
import { livekitLimits } from '../limits.ts';

export const agentLimits = {
  ...livekitLimits,
  /** Maximum workers of a node; others are rejected. */
  workers: maxAgentWorkers,
  messageBytes: 64 * 1024,
  firstMessageBytes: 64 * 1024,
  /** Messages per second of a worker, and seconds of burst. */
  messagesPerSecond: 50,
  burst: 4,
  /** Offered and assigned jobs of a worker. */
  jobs: 1_000,
  /** Until a new socket has registered its worker. */
  registrationTimeout: 10_000,
  availabilityTimeout: availabilityTimeoutMs,
  /** A worker without pongs is lost. */
  pongTimeout: 15_000,
} as const;
export type AgentLimits = { [Name in keyof typeof agentLimits]: number };
