// Remote audio: plays the audio of other participants. If the browser blocks autoplay, a button asks for a click.
import { useCallback, useEffect, useRef, useState } from 'react';
import { canChooseSpeaker } from './local-media.ts';

export function RemoteAudio({ tracks, speaker }: { tracks: readonly MediaStreamTrack[]; speaker: string | undefined }) {
  const [blocked, setBlocked] = useState(false);
  const players = useRef(new Set<HTMLAudioElement>());
  const onBlocked = useCallback(() => setBlocked(true), []);
  const hear = () => {
    setBlocked(false);
    for (const player of players.current) player.play().catch(onBlocked);
  };
  return (
    <>
      {tracks.map((track) => (
        <Player key={track.id} track={track} speaker={speaker} players={players.current} onBlocked={onBlocked} />
      ))}
      {blocked && (
        <button type="button" className="button primary hear" data-testid="hear" onClick={hear}>
          Click to enable audio
        </button>
      )}
    </>
  );
}

type PlayerProps = {
  track: MediaStreamTrack;
  speaker: string | undefined;
  players: Set<HTMLAudioElement>;
  onBlocked: () => void;
};

function Player({ track, speaker, players, onBlocked }: PlayerProps) {
  const ref = useRef<HTMLAudioElement>(null);
  useEffect(() => {
    // If the speaker does not exist, the output does not change.
    if (canChooseSpeaker && speaker !== undefined) ref.current?.setSinkId(speaker).catch(() => undefined);
  }, [speaker]);
  useEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    players.add(element);
    element.srcObject = new MediaStream([track]);
    element.play().catch((error: unknown) => {
      if (error instanceof DOMException && error.name === 'NotAllowedError') onBlocked();
    });
    return () => {
      players.delete(element);
      element.srcObject = null;
    };
  }, [track, players, onBlocked]);
  // biome-ignore lint/a11y/useMediaCaption: live speech has no captions
  return <audio ref={ref} data-testid="remote-audio" />;
}
