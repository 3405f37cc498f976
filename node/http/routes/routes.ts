// The table of all routes: what is not here is not answered and not documented.
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
  // Before files: these are none.
  ...renderRoutes,
  ...contentRoutes,
  ...clusterRoutes,
  ...webhookRoutes,
  ...nodeRoutes,
];
