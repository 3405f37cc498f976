// Protocol types of the client library and the server are mutually assignable, checked by tsc.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { z } from 'zod';
import type { Permissions } from '../../api/peer.ts';
import { peerSocketPath } from '../../api/peer.ts';
import { type Method, type ResponseData, requestSchemas, type SocketResponse, type serverFrameSchema } from '../../api/socket/peer.ts';
import { type PeerEvent, peerEventSchema, type RemoteComponent, type RemotePeer } from '../../api/socket/peer-events.ts';
import type { TrackView } from '../../api/track.ts';
import { defaultLimits } from '../../node/signaling/limits.ts';
import {
  type ComponentView as ClientComponentView,
  type PeerView as ClientPeerView,
  type Permissions as ClientPermissions,
  type TrackView as ClientTrackView,
  type EventData,
  maxMessageBytes,
  type Requests,
  type ResponseFrame,
  type Responses,
  type ServerEvent,
  type ServerFrame,
  socketPath,
} from '../../packages/client/src/protocol.ts';

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
/** `Empty` in the client and the empty object of zod are equal on the wire, but as types they are not mutually assignable. */
type Plain<T> = T extends Record<string, never> ? object : T;
type ServerRequests = { [M in Method]: Plain<z.input<(typeof requestSchemas)[M]>> };
type ClientRequests = { [M in keyof Requests]: Plain<Requests[M]> };
type ServerAnswers = { [M in Method]: Plain<ResponseData<M>> };
type ClientAnswers = { [M in keyof Responses]: Plain<Responses[M]> };
type ServerEventData = { [E in PeerEvent as E['event']]: E['data'] };
type EventNames = keyof EventData;

const proof: {
  methods: Same<keyof Requests, Method>;
  requests: { [M in Method]: Same<ClientRequests[M], ServerRequests[M]> };
  answers: { [M in Method]: Same<ClientAnswers[M], ServerAnswers[M]> };
  eventNames: Same<EventNames, keyof ServerEventData>;
  events: { [Name in EventNames]: Same<EventData[Name], ServerEventData[Name]> };
  serverEvent: Same<ServerEvent, PeerEvent>;
  answerFrame: Same<ResponseFrame, SocketResponse>;
  serverFrame: Same<ServerFrame, z.infer<typeof serverFrameSchema>>;
  peer: Same<ClientPeerView, RemotePeer>;
  component: Same<ClientComponentView, RemoteComponent>;
  track: Same<ClientTrackView, TrackView>;
  permissions: Same<ClientPermissions, Permissions>;
} = {
  methods: true,
  requests: allTrue<Method>(Object.keys(requestSchemas) as Method[]),
  answers: allTrue<Method>(Object.keys(requestSchemas) as Method[]),
  eventNames: true,
  events: allTrue<EventNames>(peerEventSchema.options.map(({ shape }) => shape.event.value)),
  serverEvent: true,
  answerFrame: true,
  serverFrame: true,
  peer: true,
  component: true,
  track: true,
  permissions: true,
};

function allTrue<Name extends string>(names: Name[]): { [N in Name]: true } {
  return Object.fromEntries(names.map((name) => [name, true])) as { [N in Name]: true };
}

test('types of the client library equal those of the server, method by method and event by event', () => {
  // Compiling is the proof (`npm run types`). The number of names shows that it covers all of them.
  assert.equal(Object.keys(proof.requests).length, Object.keys(requestSchemas).length);
  assert.equal(Object.keys(proof.events).length, peerEventSchema.options.length);
});

test('path and size limit of messages equal those of the server', () => {
  assert.equal(socketPath, peerSocketPath);
  assert.equal(maxMessageBytes, defaultLimits.messageBytes);
});
