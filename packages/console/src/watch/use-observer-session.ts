// useObserverSession: joins the room as an observer while enabled, and joins again after the room is recreated.
import { useEffect, useRef, useState } from 'react';
import type { OperationRequest } from '../api/operation-request.ts';
import { type Api, errorMessage } from '../api/rest.ts';
import { useSessionContext } from '../hooks/console-context.ts';
import { runSerially } from '../hooks/serialize.ts';
import { LocalMedia } from '../session/local-media.ts';
import { RoomSession } from '../session/room-session.ts';

type Visit = { session: RoomSession; leave: () => Promise<void> };

export type VisitOptions = {
  roomId: string;
  /** Undefined while the room does not exist. */
  incarnation: string | undefined;
  /** Name of the peer. */
  name: string;
  /** Adds the peer. */
  request: OperationRequest<'addPeer'>;
};

export type ObserverSession = {
  session: RoomSession | undefined;
  /** True if the room is observed, or will be once it exists. */
  wanted: boolean;
  /** Why it is not observed. */
  problem: string | undefined;
  start: () => void;
  stop: () => void;
};

/** Why one incarnation of the room is no longer observed. */
type Over = { incarnation: string | undefined; message: string };

export function useObserverSession({ roomId, incarnation, name, request }: VisitOptions): ObserverSession {
  const { api } = useSessionContext();
  const [wanted, setWanted] = useState(false);
  const [over, setOver] = useState<Over>();
  const [session, setSession] = useState<RoomSession>();
  const isOver = over !== undefined && over.incarnation === incarnation;
  const active = wanted && incarnation !== undefined && !isOver;
  const how = useRef({ request, name });
  how.current = { request, name };

  useEffect(() => {
    if (!active) return undefined;
    let stopped = false;
    let visit: Visit | undefined;
    // Serialized, because a join before the peer is deleted would get the deleted peer.
    const turn = `watching peer of ${roomId}`;
    const join = async () => {
      if (stopped) return;
      const made = await enter(api, roomId, how.current);
      if (stopped) return made.leave();
      visit = made;
      setSession(made.session);
      made.session.subscribe(() => {
        const { ending } = made.session.state;
        if (!ending || stopped) return;
        // A removed or replaced observer does not rejoin automatically.
        if (ending.reason === 'removed' || ending.reason === 'denied' || ending.reason === 'takenOver') setWanted(false);
        setOver({ incarnation, message: ending.message });
      });
    };
    runSerially(turn, join).catch((error: unknown) => {
      if (!stopped) setOver({ incarnation, message: errorMessage(error) });
    });
    return () => {
      stopped = true;
      setSession(undefined);
      if (visit) void runSerially(turn, visit.leave);
    };
  }, [active, api, roomId, incarnation]);

  return {
    session,
    wanted: wanted && !isOver,
    problem: isOver ? over.message : undefined,
    start: () => {
      setOver(undefined);
      setWanted(true);
    },
    stop: () => {
      setOver(undefined);
      setWanted(false);
    },
  };
}

async function enter(api: Api, roomId: string, { request, name }: Pick<VisitOptions, 'request' | 'name'>): Promise<Visit> {
  const { data } = await api.send(request);
  const { peer, token, peer_websocket_url: url } = data;
  // Opens no devices, because start() and open() are never called.
  const media = new LocalMedia();
  const session = new RoomSession({ url, token, base: api.base, name, media });
  const leave = () => {
    session.close();
    media.close();
    return api.deletePeer(roomId, peer.id).catch(() => undefined);
  };
  return { session, leave };
}
