// Page registry: the pages of the console and the entries of the navigation.
//
// To add a page, add a route in router.ts and an entry in `pages`. With `part` it is listed in the navigation, in the order below; without
// it is reached by links. `frame: 'none'` is for pages without the shell. A page is a named export, gets its `route` as its only property,
// uses `useSessionContext()` and `useResource()` for the rest, starts with <PageTitle> and imports its style sheet.
import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import { icon } from './components/icons.tsx';
import { hashOf, type PageName, type RouteOf, roomsHash } from './router.ts';

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
    part: {
      title: 'Rooms',
      hash: roomsHash,
      icon: icon(
        <rect key="a" x="3.5" y="4.5" width="7.5" height="6.5" rx="1.8" />,
        <rect key="b" x="13" y="4.5" width="7.5" height="6.5" rx="1.8" />,
        <rect key="c" x="3.5" y="13" width="7.5" height="6.5" rx="1.8" />,
        <rect key="d" x="13" y="13" width="7.5" height="6.5" rx="1.8" />,
      ),
    },
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
    part: {
      title: 'Recordings',
      hash: hashOf('recordings'),
      icon: icon(<circle key="ring" cx="12" cy="12" r="8.2" />, <circle key="dot" cx="12" cy="12" r="3" />),
    },
  },
  recording: {
    page: lazy(() => import('./recordings/recording-page.tsx').then(({ RecordingPage }) => ({ default: RecordingPage }))),
    title: ({ recordingId }) => recordingId,
    under: 'recordings',
  },
  webhooks: {
    page: lazy(() => import('./webhooks/webhooks-page.tsx').then(({ WebhooksPage }) => ({ default: WebhooksPage }))),
    title: () => 'Webhooks',
    part: {
      title: 'Webhooks',
      hash: hashOf('webhooks'),
      icon: icon(
        <circle key="a" cx="12" cy="6.8" r="2.8" />,
        <circle key="b" cx="6.3" cy="16.6" r="2.8" />,
        <circle key="c" cx="17.7" cy="16.6" r="2.8" />,
        <path key="arms" d="M10.7 9.3l-3 4.9M13.3 9.3l3 4.9M9.1 16.6h5.8" />,
      ),
    },
  },
  cluster: {
    page: lazy(() => import('./cluster/cluster-page.tsx').then(({ ClusterPage }) => ({ default: ClusterPage }))),
    title: () => 'Cluster',
    part: {
      title: 'Cluster',
      hash: hashOf('cluster'),
      icon: icon(
        <rect key="a" x="4" y="4.5" width="16" height="6" rx="1.8" />,
        <rect key="b" x="4" y="13.5" width="16" height="6" rx="1.8" />,
        <path key="lights" d="M7.5 7.5h.01M7.5 16.5h.01M11 7.5h5.5M11 16.5h5.5" />,
      ),
    },
  },
  health: {
    page: lazy(() => import('./health/health-page.tsx').then(({ HealthPage }) => ({ default: HealthPage }))),
    title: () => 'Health',
    part: { title: 'Health', hash: hashOf('health'), icon: icon(<path key="pulse" d="M3.5 12.5h4l2.2-6 4.6 12 2.2-6h4" />) },
  },
};
