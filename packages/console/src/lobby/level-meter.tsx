// How loud the microphone is: a bar that moves while one is heard.
import { useEffect, useRef, useState } from 'react';
import { AudioLevelMeter } from './audio-level.ts';

export type LevelMeterProps = { track: MediaStreamTrack | undefined; on: boolean };

/** From here on somebody speaks, of 0 to 1; a quiet room stays below. */
const audible = 0.12;

export function LevelMeter({ track, on }: LevelMeterProps) {
  const bar = useRef<HTMLDivElement>(null);
  const [heard, setHeard] = useState<MediaStreamTrack>();
  useEffect(() => {
    const element = bar.current;
    if (!track || !on || !element) return undefined;
    const level = new AudioLevelMeter(track, (value) => {
      // Past React: many times a second.
      element.style.setProperty('--level', value.toFixed(3));
      element.setAttribute('aria-valuenow', String(Math.round(value * 20) * 5));
      if (value > audible) setHeard(track);
    });
    return () => {
      level.close();
      element.style.setProperty('--level', '0');
      element.setAttribute('aria-valuenow', '0');
    };
  }, [track, on]);
  const words =
    !track || !on ? 'The microphone is off.' : heard === track ? 'You are heard.' : 'Say something: the bar moves when you are heard.';
  return (
    <div className="level">
      {/* biome-ignore lint/a11y/useSemanticElements: browsers draw that element each in its own way, and in steps */}
      <div
        ref={bar}
        className="level-bar"
        role="meter"
        aria-label="Loudness of the microphone"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={0}
        data-testid="level"
        data-heard={heard !== undefined && heard === track}
      >
        <span className="level-fill" />
      </div>
      <p className="hint" role="status">
        {words}
      </p>
    </div>
  );
}
