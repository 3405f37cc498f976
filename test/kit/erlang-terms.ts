// Terms of the Erlang distribution as single buffers.
import { type TermLimits, TermReader } from '../../node/cluster/erlang/terms/term-reader.ts';
import { TermWriter } from '../../node/cluster/erlang/terms/term-writer.ts';
import type { Term } from '../../node/cluster/erlang/terms/terms.ts';
import { WireError } from '../../node/cluster/erlang/wire-error.ts';

/** A term with its version byte. */
export function encodeTerm(term: Term): Buffer {
  const writer = new TermWriter();
  writer.write(term);
  return writer.take();
}

/** @throws WireError also for extra bytes */
export function decodeTerm(bytes: Buffer, limits?: TermLimits): Term {
  const reader = new TermReader(bytes, 0, limits);
  const term = reader.read();
  if (!reader.done) throw new WireError('extra bytes after the term');
  return term;
}
