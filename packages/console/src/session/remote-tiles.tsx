// Remote tiles: one for each participant, shared screen and component with tracks.
import { type ReactNode, useCallback } from 'react';
import type { RoomSession } from './room-session.ts';
import type { RemoteComponent, RemoteParticipant, RemoteTrack, RoomSessionState } from './session-state.ts';
import { Tile, type TileProps } from './tile.tsx';

type Shown = { session: RoomSession; detailed: boolean };

/** Components without tracks have no tile. */
export const hasTile = ({ tracks }: RemoteComponent): boolean => tracks.length > 0;

/** A list, because the grid counts its children. `detailed`: tiles show the received layer and size. */
export function remoteTiles(session: RoomSession, state: RoomSessionState, detailed: boolean): ReactNode[] {
  const shown = { session, detailed };
  return [
    ...state.components.filter(hasTile).map((component) => tileOfComponent(component, shown)),
    ...state.participants.flatMap((participant) => tilesOf(participant, participant.id === state.activeSpeaker, shown)),
  ];
}

/** One tile for the participant, and one for each shared screen. */
function tilesOf({ id, name, tracks }: RemoteParticipant, speaking: boolean, shown: Shown): ReactNode[] {
  const camera = tracks.find(({ source, kind }) => kind === 'video' && source === 'camera');
  const microphone = tracks.find(({ source, kind }) => kind === 'audio' && source === 'microphone');
  const screens = tracks.filter(({ source, kind }) => kind === 'video' && source === 'screen');
  return [
    ...screens.map((track) => <RemoteTile key={track.id} name={name} video={track} screen speaking={false} muted={false} {...shown} />),
    <RemoteTile
      key={id}
      name={name}
      video={camera}
      screen={false}
      speaking={speaking}
      muted={!microphone || microphone.muted}
      {...shown}
    />,
  ];
}

/** One tile for all tracks of the component. */
function tileOfComponent({ id, name, tracks }: RemoteComponent, shown: Shown): ReactNode {
  const video = tracks.find(({ kind }) => kind === 'video');
  const muted = tracks.every((track) => track.muted);
  return <RemoteTile key={id} name={name} video={video} screen={false} component speaking={false} muted={muted} {...shown} />;
}

type RemoteTileProps = Shown & Pick<TileProps, 'name' | 'screen' | 'component' | 'speaking' | 'muted'> & { video: RemoteTrack | undefined };

function RemoteTile({ session, video, detailed, ...rest }: RemoteTileProps) {
  const id = video?.track && !video.muted ? video.id : undefined;
  const track = video?.track;
  // `track` is a dependency although attachVideo() takes the id: after a reconnect the same id may have another track.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const attach = useCallback(
    (element: HTMLVideoElement) => (id === undefined ? () => undefined : session.attachVideo(id, element)),
    [session, id, track],
  );
  return (
    <Tile {...rest} self={false} hasVideo={id !== undefined} attach={attach} received={detailed ? (video?.layers ?? null) : undefined} />
  );
}
