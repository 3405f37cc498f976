// Level meter: shows the level of the microphone as a bar.
import { useEffect, useRef, useState } from 'react';
import { AudioLevelMeter } from './audio-level.ts';

export type LevelMeterProps = { track: MediaStreamTrack | undefined; on: boolean };

/** Level from 0 to 1 that counts as speech; a quiet room stays below. */
const audible = 0.12;

export function LevelMeter({ track, on }: LevelMeterProps) {
  const bar = useRef<HTMLDivElement>(null);
  const [heard, setHeard] = useState<MediaStreamTrack>();
  useEffect(() => {
    const element = bar.current;
    if (!track || !on || !element) return undefined;
    const level = new AudioLevelMeter(track, (value) => {
      // Without React, because it runs many times a second.
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
    !track || !on ? 'The microphone is off.' : heard === track ? 'Microphone is working.' : 'Say something to test your microphone.';
  return (
    <div className="level">
      {/* biome-ignore lint/a11y/useSemanticElements: browsers render <meter> differently, and in steps */}
      <div
        ref={bar}
        className="level-bar"
        role="meter"
        aria-label="Microphone level"
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
