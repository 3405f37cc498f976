// Tile: camera or screen of a participant, or video of a component, with name, muted state and a speaking ring.
import type { ReceivedLayers } from '@mediarooms/client';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { ComponentIcon, MicOffIcon } from '../components/icons.tsx';
import './tiles.css';

export type TileProps = {
  name: string;
  self: boolean;
  screen: boolean;
  speaking: boolean;
  muted: boolean;
  hasVideo: boolean;
  component?: boolean;
  /** Received layers, shown with the video size; null for a track with a single layer. Nothing is shown if undefined. */
  received?: ReceivedLayers | null | undefined;
  /** Attaches the video to the element. @returns a function that detaches it */
  attach: (element: HTMLVideoElement) => () => void;
};

export function Tile({ name, self, screen, speaking, muted, hasVideo, component = false, received, attach }: TileProps) {
  const video = useRef<HTMLVideoElement>(null);
  useEffect(() => {
    const element = video.current;
    return hasVideo && element ? attach(element) : undefined;
  }, [attach, hasVideo]);
  const label = self && name !== 'You' ? `${name} (you)` : name;
  const classes = ['tile', speaking && 'speaking', self && !screen && 'mirrored', (screen || component) && 'is-screen']
    .filter(Boolean)
    .join(' ');
  return (
    <li
      className={classes}
      data-testid="tile"
      data-name={name}
      data-self={self}
      data-screen={screen}
      data-component={component}
      aria-label={`${label}${screen ? ', screen' : ''}${speaking ? ', speaking' : ''}`}
    >
      {hasVideo ? (
        <video ref={video} className="tile-video" data-testid="tile-video" autoPlay playsInline muted />
      ) : (
        <span className="tile-initials" aria-hidden="true">
          {component ? <ComponentIcon /> : initials(name)}
        </span>
      )}
      <span className="tile-label">
        {muted && !screen && (
          <span className="tile-muted" data-testid="tile-muted">
            <MicOffIcon />
            <span className="visually-hidden">Muted: </span>
          </span>
        )}
        <bdi className="tile-name">{screen ? `${name}’s screen` : label}</bdi>
      </span>
      {hasVideo && received !== undefined && <Received video={video} layers={received} />}
    </li>
  );
}

/** Received video size and layer. */
function Received({ video, layers }: { video: RefObject<HTMLVideoElement | null>; layers: ReceivedLayers | null }) {
  const [size, setSize] = useState('');
  useEffect(() => {
    const element = video.current;
    if (!element) return undefined;
    const update = () => setSize(element.videoWidth > 0 ? `${element.videoWidth}×${element.videoHeight}` : '');
    update();
    element.addEventListener('resize', update);
    element.addEventListener('loadedmetadata', update);
    return () => {
      element.removeEventListener('resize', update);
      element.removeEventListener('loadedmetadata', update);
    };
  }, [video]);
  const { current, spatial } = layers ?? {};
  const layer = spatial === undefined ? undefined : current ? `layer ${current.spatialLayer + 1} of ${spatial}` : 'no layer';
  const text = [size, layer].filter(Boolean).join(' · ');
  return text === '' ? null : (
    <span className="tile-received" data-testid="tile-received" data-layer={current?.spatialLayer} data-layers={spatial}>
      {text}
    </span>
  );
}

function initials(name: string): string {
  const words = name.split(/\s+/).filter((word) => word !== '');
  const letters = words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  return letters.map((word) => [...(word ?? '?')][0]?.toUpperCase() ?? '').join('');
}
