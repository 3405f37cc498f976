// Changes of a room: what backends, peers and subscriptions get of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { peerEventSchema, type Target } from '../../../api/socket/peer-events.ts';
import { peerEventOf } from '../../../node/rooms/changes/peer-events.ts';
import type { ChangeKind, RoomChange } from '../../../node/rooms/changes/room-change.ts';
import { serverEventOf } from '../../../node/rooms/changes/server-events.ts';
import { updateSubscriptions } from '../../../node/rooms/changes/subscription-changes.ts';
import { Track, type TrackOrigin } from '../../../node/rooms/track.ts';

const trackOf = (origin: TrackOrigin) =>
  new Track({
    id: 't',
    origin,
    kind: 'audio',
    metadata: { phoneNumber: '+49' },
    encoding: 'opus',
    simulcast: false,
    paused: false,
    ...('componentId' in origin && { componentType: 'sip' as const }),
  });
const track = trackOf({ peerId: 'p' });
const ofComponent = trackOf({ componentId: 'c' });
const hold = { run: (work: () => Promise<void>) => work() };
const dataTrack = { id: 'd', peerId: 'p', label: 'l', protocol: '', reliable: true, mediaId: 'd', successor: undefined, hold };
const event = { type: 'SipCallRinging' as const, call: { id: 'call', direction: 'outgoing' as const, phoneNumber: '+49' } };
const permissions = { publish: [], subscribe: true, data: true };

type Row = [peers?: string, target?: Target];
/** A change of each kind with the name and target of its peer event. */
const rows: { [Kind in ChangeKind]: [change: RoomChange & { kind: Kind }, ...Row] } = {
  roomCreated: [{ kind: 'roomCreated' }],
  roomDeleted: [{ kind: 'roomDeleted', reason: 'deleted' }],
  roomCrashed: [{ kind: 'roomCrashed', reason: 'why' }],
  roomMetadataUpdated: [{ kind: 'roomMetadataUpdated', metadata: 1 }, 'roomMetadataUpdated', {}],
  activeSpeakerChanged: [{ kind: 'activeSpeakerChanged', peerId: 'p' }, 'activeSpeaker', {}],
  dataSent: [{ kind: 'dataSent', from: 'p', label: 'l', payload: 1, to: ['q'] }, 'data', { to: ['q'], except: 'p' }],
  peerAdded: [{ kind: 'peerAdded', peerId: 'p', metadata: null }],
  peerWaiting: [{ kind: 'peerWaiting', peerId: 'p', metadata: null }],
  peerWaitingEnded: [{ kind: 'peerWaitingEnded', peerId: 'p', reason: 'admitted' }],
  peerConnected: [{ kind: 'peerConnected', peer: { id: 'p', metadata: null, tracks: [] }, hidden: false }, 'peerJoined', { except: 'p' }],
  peerDisconnected: [{ kind: 'peerDisconnected', peerId: 'p', hidden: false }, 'peerLeft', { except: 'p' }],
  peerDeleted: [{ kind: 'peerDeleted', peerId: 'p', reason: 'removed' }],
  peerCrashed: [{ kind: 'peerCrashed', peerId: 'p', reason: 'why' }],
  peerMetadataUpdated: [
    { kind: 'peerMetadataUpdated', peerId: 'p', metadata: 1, hidden: false, by: 'publisher' },
    'peerMetadataUpdated',
    { except: 'p' },
  ],
  peerAttributesUpdated: [
    { kind: 'peerAttributesUpdated', peerId: 'p', attributes: { role: 'host' }, hidden: false, by: 'server' },
    'peerAttributesUpdated',
    {},
  ],
  permissionsUpdated: [{ kind: 'permissionsUpdated', peerId: 'p', permissions }, 'permissionsUpdated', { to: ['p'] }],
  trackAdded: [{ kind: 'trackAdded', track }, 'trackAdded', { except: 'p' }],
  trackRemoved: [{ kind: 'trackRemoved', track, by: 'publisher' }, 'trackRemoved', { except: 'p' }],
  trackPaused: [{ kind: 'trackPaused', track, by: 'server' }, 'trackPaused', {}],
  trackResumed: [{ kind: 'trackResumed', track, by: 'publisher' }, 'trackResumed', { except: 'p' }],
  trackInterrupted: [{ kind: 'trackInterrupted', track }],
  trackRestored: [{ kind: 'trackRestored', track }],
  trackBackupAdded: [{ kind: 'trackBackupAdded', track }],
  trackSucceeded: [{ kind: 'trackSucceeded', track }],
  trackMetadataUpdated: [{ kind: 'trackMetadataUpdated', peerId: 'p', track }, 'trackMetadataUpdated', { except: 'p' }],
  receiversChanged: [{ kind: 'receiversChanged', peerId: 'p' }],
  dataTrackAdded: [{ kind: 'dataTrackAdded', dataTrack }],
  dataTrackRemoved: [{ kind: 'dataTrackRemoved', dataTrack }],
  componentAdded: [{ kind: 'componentAdded', component: { id: 'c', type: 'sip', state: 'starting', tracks: [] } }, 'componentAdded', {}],
  componentStarted: [{ kind: 'componentStarted', componentId: 'c' }, 'componentUpdated', {}],
  componentRemoved: [{ kind: 'componentRemoved', componentId: 'c', reason: 'removed' }, 'componentRemoved', {}],
  componentCrashed: [{ kind: 'componentCrashed', componentId: 'c', reason: 'why' }, 'componentRemoved', {}],
  componentLost: [{ kind: 'componentLost', componentId: 'c' }, 'componentRemoved', {}],
  transcriptAdded: [
    { kind: 'transcriptAdded', peerId: 'p', transcript: { id: 's', text: 'Hello', speakerId: 'q' }, to: ['q'] },
    'transcriptAdded',
    { to: ['q'], except: 'p' },
  ],
  backendEvent: [{ kind: 'backendEvent', event: { componentId: 'c', ...event } }],
};

for (const [kind, [change, peers, target]] of Object.entries(rows)) {
  test(`${kind} is reported to peers as ${peers ?? 'nothing'}`, () => {
    const targeted = peerEventOf(change);
    assert.deepEqual([targeted?.event.event, targeted?.target], [peers, target]);
    if (targeted) assert.deepEqual(peerEventSchema.parse(targeted.event), targeted.event);
  });

  test(`${kind} is reported to backends under its name, if at all`, () => {
    const reported = serverEventOf(change)?.type;
    const named = kind === 'backendEvent' ? event.type : `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
    assert.ok(reported === undefined || reported === named, reported);
  });
}

test('only backends are notified of a hidden peer, and the peer itself of what they change', () => {
  const changed = { kind: 'peerMetadataUpdated', peerId: 'p', metadata: 1, hidden: true } as const;
  assert.deepEqual(peerEventOf({ ...changed, by: 'publisher' })?.target, { to: [] });
  assert.deepEqual(peerEventOf({ ...changed, by: 'server' })?.target, { to: ['p'] });
  const change: RoomChange = { kind: 'peerConnected', peer: { id: 'p', metadata: null, tracks: [] }, hidden: true };
  assert.deepEqual(peerEventOf(change)?.target, { to: [] });
  assert.deepEqual(serverEventOf(change), { type: 'PeerConnected', peerId: 'p' });
});

test('backends get the metadata of a component track, peers only its type', () => {
  const change: RoomChange = { kind: 'trackAdded', track: ofComponent };
  assert.deepEqual(serverEventOf(change), { type: 'TrackAdded', componentId: 'c', track: ofComponent.view() });
  const shown = { ...ofComponent.view(), metadata: { source: 'sip' } };
  assert.deepEqual(peerEventOf(change)?.event, { event: 'trackAdded', data: { componentId: 'c', track: shown } });
});

test('the publisher is notified only of what the server did with its track', () => {
  assert.deepEqual(peerEventOf({ kind: 'trackRemoved', track, by: 'server' })?.target, {});
  assert.deepEqual(peerEventOf({ kind: 'trackRemoved', track: ofComponent, by: 'server' })?.target, {});
});

test('publications change the subscriptions of all but their publisher; other changes none', () => {
  const applied = (change: RoomChange) => {
    const calls: string[] = [];
    const subscriptions = {
      update: () => calls.push('update'),
      restored: ({ id }: Track) => calls.push(`restored ${id}`),
      succeeded: ({ id }: Track) => calls.push(`succeeded ${id}`),
      drop: (trackId: string) => calls.push(`drop ${trackId}`),
    };
    const data = { drop: (dataTrackId: string) => void calls.push(`dropData ${dataTrackId}`) };
    const selectedBy = ({ except }: Target) => {
      calls.push(`except ${except}`);
      const connection = { trackRestored: () => void calls.push('connection') };
      return [
        {
          session: {
            subscriptions,
            paths: { data },
            connection,
            receiversChanged: (peerId: string) => calls.push(`receivers of ${peerId}`),
          },
        },
      ];
    };
    updateSubscriptions(change, { selectedBy }, { updateReceived: () => calls.push('components') });
    return calls;
  };
  assert.deepEqual(applied({ kind: 'trackAdded', track }), ['components', 'except p', 'update']);
  assert.deepEqual(applied({ kind: 'trackRemoved', track: ofComponent, by: 'server' }), ['components', 'except undefined', 'drop t']);
  assert.deepEqual(applied({ kind: 'trackInterrupted', track }), ['components']);
  assert.deepEqual(applied({ kind: 'trackRestored', track }), ['components', 'except p', 'restored t', 'connection']);
  assert.deepEqual(applied({ kind: 'trackBackupAdded', track }), ['except p', 'update', 'connection']);
  assert.deepEqual(applied({ kind: 'trackSucceeded', track }), ['except p', 'succeeded t', 'connection']);
  assert.deepEqual(applied({ kind: 'receiversChanged', peerId: 'p' }), ['except p', 'receivers of p']);
  assert.deepEqual(applied({ kind: 'dataTrackAdded', dataTrack }), ['except p', 'update']);
  assert.deepEqual(applied({ kind: 'dataTrackRemoved', dataTrack }), ['except p', 'dropData d']);
  const other = Object.values(rows).filter(
    ([{ kind }]) =>
      !/^(?:(?:track|dataTrack)(?:Added|Removed)|track(?:Interrupted|Restored|BackupAdded|Succeeded)|receiversChanged)$/.test(kind),
  );
  assert.deepEqual(
    other.flatMap(([change]) => applied(change)),
    [],
  );
});
