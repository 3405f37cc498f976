// Route table: paths that are not listed here are neither served nor documented.
import { clusterRoutes } from './cluster-routes.ts';
import { componentRoutes } from './component-routes.ts';
import { contentRoutes } from './content-routes.ts';
import { hlsRoutes } from './hls-routes.ts';
import { nodeRoutes } from './node-routes.ts';
import { peerRoutes } from './peer-routes.ts';
import { renderRoutes } from './render-routes.ts';
import { roomRoutes } from './room-routes.ts';
import type { Route } from './route.ts';
import { sipRoutes } from './sip-routes.ts';
import { webhookRoutes } from './webhook-routes.ts';

export const routes: readonly Route[] = [
  ...roomRoutes,
  ...peerRoutes,
  ...componentRoutes,
  ...sipRoutes,
  ...hlsRoutes,
  // Must precede the routes of files, because these are none.
  ...renderRoutes,
  ...contentRoutes,
  ...clusterRoutes,
  ...webhookRoutes,
  ...nodeRoutes,
];
