// All operations of the REST API. The order is that of the documents, and of the routes where one path matches several.
import { named } from '../core/operation.ts';
import { clusterOperations } from './cluster.ts';
import { componentOperations } from './components.ts';
import { hlsOperations } from './hls.ts';
import { livekitOperations } from './livekit.ts';
import { nodeOperations } from './node.ts';
import { peerOperations } from './peers.ts';
import { recordingOperations, renderOperations } from './recordings.ts';
import { roomOperations } from './rooms.ts';
import { sipOperations } from './sip.ts';
import { webhookOperations } from './webhooks.ts';
import { whepOperations } from './whep.ts';
import { whipOperations } from './whip.ts';

export const operations = named({
  ...roomOperations,
  ...peerOperations,
  ...whipOperations,
  ...livekitOperations,
  ...whepOperations,
  ...componentOperations,
  ...sipOperations,
  ...hlsOperations,
  ...renderOperations,
  ...recordingOperations,
  ...clusterOperations,
  ...webhookOperations,
  ...nodeOperations,
});
