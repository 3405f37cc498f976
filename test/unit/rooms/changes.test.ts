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
const dataTrack = { id: 'd', peerId: 'p', label: 'l', protocol: '' };
const event = { type: 'SipCallRinging' as const, call: { id: 'call', direction: 'outgoing' as const, phoneNumber: '+49' } };
const permissions = { publish: [], subscribe: true, data: true };

type Row = [server: string | undefined, peers: string | undefined, target?: Target];
/** A change of each kind with the type of its server event, and the name and target of its peer event. */
const rows: { [Kind in ChangeKind]: [change: RoomChange & { kind: Kind }, ...Row] } = {
  roomCreated: [{ kind: 'roomCreated' }, 'RoomCreated', undefined],
  roomDeleted: [{ kind: 'roomDeleted', reason: 'deleted' }, 'RoomDeleted', undefined],
  roomCrashed: [{ kind: 'roomCrashed', reason: 'why' }, 'RoomCrashed', undefined],
  activeSpeakerChanged: [{ kind: 'activeSpeakerChanged', peerId: 'p' }, undefined, 'activeSpeaker', {}],
  dataSent: [{ kind: 'dataSent', from: 'p', label: 'l', payload: 1, to: ['q'] }, undefined, 'data', { to: ['q'], except: 'p' }],
  peerAdded: [{ kind: 'peerAdded', peerId: 'p', metadata: null }, 'PeerAdded', undefined],
  peerConnected: [{ kind: 'peerConnected', peer: { id: 'p', metadata: null, tracks: [] } }, 'PeerConnected', 'peerJoined', { except: 'p' }],
  peerDisconnected: [{ kind: 'peerDisconnected', peerId: 'p' }, 'PeerDisconnected', 'peerLeft', { except: 'p' }],
  peerDeleted: [{ kind: 'peerDeleted', peerId: 'p', reason: 'removed' }, 'PeerDeleted', undefined],
  peerCrashed: [{ kind: 'peerCrashed', peerId: 'p', reason: 'why' }, 'PeerCrashed', undefined],
  peerMetadataUpdated: [
    { kind: 'peerMetadataUpdated', peerId: 'p', metadata: 1 },
    'PeerMetadataUpdated',
    'peerMetadataUpdated',
    { except: 'p' },
  ],
  permissionsUpdated: [{ kind: 'permissionsUpdated', peerId: 'p', permissions }, undefined, 'permissionsUpdated', { to: ['p'] }],
  trackAdded: [{ kind: 'trackAdded', track }, 'TrackAdded', 'trackAdded', { except: 'p' }],
  trackRemoved: [{ kind: 'trackRemoved', track, by: 'publisher' }, 'TrackRemoved', 'trackRemoved', { except: 'p' }],
  trackPaused: [{ kind: 'trackPaused', track, by: 'server' }, undefined, 'trackPaused', {}],
  trackResumed: [{ kind: 'trackResumed', track, by: 'publisher' }, undefined, 'trackResumed', { except: 'p' }],
  trackMetadataUpdated: [
    { kind: 'trackMetadataUpdated', peerId: 'p', track },
    'TrackMetadataUpdated',
    'trackMetadataUpdated',
    { except: 'p' },
  ],
  dataTrackAdded: [{ kind: 'dataTrackAdded', dataTrack }, undefined, undefined],
  dataTrackRemoved: [{ kind: 'dataTrackRemoved', dataTrack }, undefined, undefined],
  componentAdded: [
    { kind: 'componentAdded', component: { id: 'c', type: 'sip', state: 'starting', tracks: [] } },
    'ComponentAdded',
    'componentAdded',
    {},
  ],
  componentStarted: [{ kind: 'componentStarted', componentId: 'c' }, undefined, 'componentUpdated', {}],
  componentRemoved: [{ kind: 'componentRemoved', componentId: 'c', reason: 'removed' }, 'ComponentRemoved', 'componentRemoved', {}],
  componentCrashed: [{ kind: 'componentCrashed', componentId: 'c', reason: 'why' }, 'ComponentCrashed', 'componentRemoved', {}],
  componentLost: [{ kind: 'componentLost', componentId: 'c' }, undefined, 'componentRemoved', {}],
  backendEvent: [{ kind: 'backendEvent', event: { componentId: 'c', ...event } }, 'SipCallRinging', undefined],
};

for (const [kind, [change, server, peers, target]] of Object.entries(rows))
  test(`${kind} is reported to backends as ${server ?? 'nothing'}, to peers as ${peers ?? 'nothing'}`, () => {
    assert.equal(serverEventOf(change)?.type, server);
    const targeted = peerEventOf(change);
    assert.deepEqual([targeted?.event.event, targeted?.target], [peers, target]);
    if (targeted) assert.deepEqual(peerEventSchema.parse(targeted.event), targeted.event);
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
      drop: (trackId: string) => calls.push(`drop ${trackId}`),
      dropData: (dataTrackId: string) => calls.push(`dropData ${dataTrackId}`),
    };
    const selectedBy = ({ except }: Target) => {
      calls.push(`except ${except}`);
      return [{ session: { subscriptions } }];
    };
    updateSubscriptions(change, { selectedBy }, { updateReceived: () => calls.push('components') });
    return calls;
  };
  assert.deepEqual(applied({ kind: 'trackAdded', track }), ['components', 'except p', 'update']);
  assert.deepEqual(applied({ kind: 'trackRemoved', track: ofComponent, by: 'server' }), ['components', 'except undefined', 'drop t']);
  assert.deepEqual(applied({ kind: 'dataTrackAdded', dataTrack }), ['except p', 'update']);
  assert.deepEqual(applied({ kind: 'dataTrackRemoved', dataTrack }), ['except p', 'dropData d']);
  const other = Object.values(rows).filter(([{ kind }]) => !/^(?:track|dataTrack)(?:Added|Removed)$/.test(kind));
  assert.deepEqual(
    other.flatMap(([change]) => applied(change)),
    [],
  );
});
