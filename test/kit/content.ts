// The content of a node without streams and uploads, from a resources directory.
import { LocalContent } from '../../node/storage/local-content.ts';
import { NodeContent } from '../../node/storage/node-content.ts';

export function makeContent(resources: string): NodeContent {
  return new NodeContent({ resources, local: new LocalContent(resources), uploads: { discard: () => {} } });
}
