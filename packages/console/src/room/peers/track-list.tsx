// Track list: the tracks of a peer or component, with moderation of each.
import type { PublishedFigures, ReceivedFigures, Track } from '../../../../server-sdk/src/generated/schemas.ts';
import { Badge } from '../../components/page-title.tsx';
import { pluralize } from '../../format.ts';
import type { Action } from '../../hooks/use-action.ts';
import { RequestButton } from '../components/request-button.tsx';
import { bitrateText, shareText } from '../stats/format-stats.ts';
import type { LiveRoom } from '../use-room.ts';

const names: Record<string, string> = { camera: 'Camera', microphone: 'Microphone', screen: 'Screen', screenSound: 'Screen audio' };

/** Name by the `source` in the metadata, a convention of the console; else the media kind. */
function nameOfTrack({ metadata, type }: Track): string {
  const source = typeof metadata === 'object' && metadata !== null && 'source' in metadata ? metadata.source : undefined;
  const known = typeof source === 'string' && Object.hasOwn(names, source) ? names[source] : undefined;
  return known ?? (type === 'video' ? 'Video' : 'Audio');
}

export type TrackListProps = {
  tracks: readonly Track[];
  originName: string;
  stats: readonly PublishedFigures[] | undefined;
  /** Tracks that a peer receives. */
  received?: readonly ReceivedFigures[] | undefined;
  live: LiveRoom;
  action: Action;
};

export function TrackList({ tracks, originName, stats, received = [], live: { requests, refresh }, action }: TrackListProps) {
  const layered = received.filter(({ layers }) => layers !== null);
  return (
    <>
      {tracks.length > 0 && (
        <ul className="tracks" aria-label={`Tracks of ${originName}`}>
          {tracks.map((track) => {
            const name = nameOfTrack(track);
            const what = `${name.toLowerCase()} of ${originName}`;
            return (
              <li key={track.id} className="track" data-testid="track" data-track={track.id} data-kind={track.type}>
                <div className="track-about">
                  <p>
                    {name}
                    {track.muted && <Badge tone="warning">Muted by the server</Badge>}
                    {track.paused && <Badge>Paused</Badge>}
                    {track.encrypted && <Badge tone="accent">End-to-end encrypted</Badge>}
                  </p>
                  <p className="hint">
                    {factsOf(
                      track,
                      stats?.find(({ trackId }) => trackId === track.id),
                    ).join(' · ')}
                  </p>
                </div>
                <div className="track-actions">
                  <RequestButton
                    request={track.muted ? requests.unmute(track.id) : requests.mute(track.id)}
                    what={`${track.muted ? 'unmute' : 'mute'} the ${what}`}
                    action={action}
                    onDone={refresh}
                    testId={track.muted ? 'unmute' : 'mute'}
                  >
                    {track.muted ? 'Unmute' : 'Mute'}
                  </RequestButton>
                  <RequestButton
                    request={requests.unpublish(track.id)}
                    what={`unpublish the ${what}`}
                    action={action}
                    onDone={refresh}
                    testId="unpublish"
                  >
                    Unpublish
                  </RequestButton>
                </div>
              </li>
            );
          })}
        </ul>
      )}
      {received.length > 0 && (
        <p className="hint" data-testid="received">
          Receives {pluralize(received.length, 'track')}
          {layered.length > 0 && `, layers ${layered.map(({ layers }) => layerText(layers)).join(', ')}`}.
        </p>
      )}
      {tracks.length === 0 && <p className="hint">No published tracks.</p>}
    </>
  );
}

/** Layers counted from 1. */
function layerText(layers: ReceivedFigures['layers']): string {
  if (!layers) return '–';
  return `${layers.spatialLayer + 1}${layers.temporalLayer === null ? '' : `.${layers.temporalLayer + 1}`}`;
}

function factsOf(track: Track, stats: PublishedFigures | undefined): string[] {
  const flowing = stats?.encodings.filter(({ bitrate }) => bitrate > 0).length ?? 0;
  const layers = track.simulcast ? [stats ? `simulcast, ${pluralize(flowing, 'active layer')}` : 'simulcast'] : [];
  const measured = stats ? [bitrateText(stats.bitrate), `${shareText(stats.loss)} lost`] : [];
  return [track.encoding ?? track.type, ...layers, ...measured];
}
