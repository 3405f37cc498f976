// First frames: one span for the first frame of each direction and media kind of a peer, from its join on.
import type { Span } from '../../../tracing/spans.ts';
import type { PeerMediaListener } from '../interfaces.ts';

/** `join`: the span of the join. */
export function traceFirstFrames(join: Span): NonNullable<PeerMediaListener['firstFrame']> {
  const joined = performance.now();
  const seen = new Set<string>();
  return (direction, kind) => {
    const name = `first ${kind} frame ${direction === 'send' ? 'from' : 'to'} peer`;
    if (seen.has(name)) return;
    seen.add(name);
    join.child(name, 'internal', { startedMs: performance.now() - joined, attributes: { 'mediarooms.media.kind': kind } }).end();
  };
}
