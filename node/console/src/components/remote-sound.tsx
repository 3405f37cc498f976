// Plays what the others say. Browsers may refuse sound until the page was clicked: then a button asks for the click.
import { useCallback, useEffect, useRef, useState } from 'react';

export function RemoteSound({ tracks }: { tracks: readonly MediaStreamTrack[] }) {
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
        <Player key={track.id} track={track} players={players.current} onBlocked={onBlocked} />
      ))}
      {blocked && (
        <button type="button" className="button primary hear" data-testid="hear" onClick={hear}>
          Click to hear the others
        </button>
      )}
    </>
  );
}

function Player({ track, players, onBlocked }: { track: MediaStreamTrack; players: Set<HTMLAudioElement>; onBlocked: () => void }) {
  const ref = useRef<HTMLAudioElement>(null);
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
  // biome-ignore lint/a11y/useMediaCaption: nobody writes captions for people who talk
  return <audio ref={ref} data-testid="remote-audio" />;
}
