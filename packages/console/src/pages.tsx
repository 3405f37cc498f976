// Page registry: the pages of the console and the entries of the navigation.
//
// To add a page, add a route in router.ts and an entry in `pages`. With `part` it is listed in the navigation, in the order below; without
// it is reached by links. `frame: 'none'` is for pages without the shell. A page is a named export, gets its `route` as its only property,
// uses `useSessionContext()` for the rest, starts with <PageTitle> and imports its style sheet.
import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import { ClusterIcon, HealthIcon, RecordingIcon, RoomIcon, WebhookIcon } from './components/nav-icons.tsx';
import { clusterHash, healthHash, type PageName, type RouteOf, recordingsHash, roomsHash, webhooksHash } from './router.ts';

export type NavEntry = { title: string; hash: string; icon: ComponentType };
export type PageEntry<Name extends PageName> = {
  page: LazyExoticComponent<ComponentType<{ route: RouteOf<Name> }>>;
  /** Title of the window. */
  title: (route: RouteOf<Name>) => string;
  part?: NavEntry;
  /** The entry of the navigation that is marked; by default that of the page. */
  under?: PageName;
  frame?: 'none';
};
type ConsolePage = Exclude<PageName, 'join'>;

export const pages: { [Name in ConsolePage]?: PageEntry<Name> } = {
  rooms: {
    page: lazy(() => import('./rooms/rooms-page.tsx').then(({ RoomsPage }) => ({ default: RoomsPage }))),
    title: () => 'Rooms',
    part: { title: 'Rooms', hash: roomsHash, icon: RoomIcon },
  },
  room: {
    page: lazy(() => import('./room/room-page.tsx').then(({ RoomPage }) => ({ default: RoomPage }))),
    title: ({ roomId }) => roomId,
    under: 'rooms',
    frame: 'none',
  },
  watch: {
    page: lazy(() => import('./watch/watch-page.tsx').then(({ WatchPage }) => ({ default: WatchPage }))),
    title: ({ roomId }) => `Watch ${roomId}`,
    under: 'rooms',
  },
  recordings: {
    page: lazy(() => import('./recordings/recordings-page.tsx').then(({ RecordingsPage }) => ({ default: RecordingsPage }))),
    title: () => 'Recordings',
    part: { title: 'Recordings', hash: recordingsHash, icon: RecordingIcon },
  },
  recording: {
    page: lazy(() => import('./recordings/recording-page.tsx').then(({ RecordingPage }) => ({ default: RecordingPage }))),
    title: ({ recordingId }) => recordingId,
    under: 'recordings',
  },
  webhooks: {
    page: lazy(() => import('./webhooks/webhooks-page.tsx').then(({ WebhooksPage }) => ({ default: WebhooksPage }))),
    title: () => 'Webhooks',
    part: { title: 'Webhooks', hash: webhooksHash, icon: WebhookIcon },
  },
  cluster: {
    page: lazy(() => import('./cluster/cluster-page.tsx').then(({ ClusterPage }) => ({ default: ClusterPage }))),
    title: () => 'Cluster',
    part: { title: 'Cluster', hash: clusterHash, icon: ClusterIcon },
  },
  health: {
    page: lazy(() => import('./health/health-page.tsx').then(({ HealthPage }) => ({ default: HealthPage }))),
    title: () => 'Health',
    part: { title: 'Health', hash: healthHash, icon: HealthIcon },
  },
};
