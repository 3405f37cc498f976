// The tracks of a peer or component with what can be done to each.
import type { PublishedFigures, ReceivedFigures, Track } from '../../../../server-sdk/src/generated/schemas.ts';
import { Badge } from '../../components/page-title.tsx';
import type { Action } from '../../hooks/use-action.ts';
import { CallButton } from '../components/call-button.tsx';
import { bitrateText, shareText } from '../stats/figures.ts';
import type { LiveRoom } from '../use-room.ts';

const names: Record<string, string> = { camera: 'Camera', microphone: 'Microphone', screen: 'Screen', screenSound: 'Sound of the screen' };

/** By the console's own convention; what others publish is what it is. */
function nameOfTrack({ metadata, type }: Track): string {
  const source = typeof metadata === 'object' && metadata !== null && 'source' in metadata ? metadata.source : undefined;
  const known = typeof source === 'string' && Object.hasOwn(names, source) ? names[source] : undefined;
  return known ?? (type === 'video' ? 'Picture' : 'Sound');
}

export type TrackListProps = {
  tracks: readonly Track[];
  whose: string;
  stats: readonly PublishedFigures[] | undefined;
  /** What a peer gets of others. */
  received?: readonly ReceivedFigures[] | undefined;
  live: LiveRoom;
  action: Action;
};

export function TrackList({ tracks, whose, stats, received = [], live: { calls, refresh }, action }: TrackListProps) {
  const layered = received.filter(({ layers }) => layers !== null);
  return (
    <>
      {tracks.length > 0 && (
        <ul className="tracks" aria-label={`Tracks of ${whose}`}>
          {tracks.map((track) => {
            const name = nameOfTrack(track);
            const what = `${name.toLowerCase()} of ${whose}`;
            return (
              <li key={track.id} className="track" data-testid="track" data-track={track.id} data-kind={track.type}>
                <div className="track-about">
                  <p>
                    {name}
                    {track.muted && <Badge tone="warning">Muted by the server</Badge>}
                    {track.paused && <Badge>Paused</Badge>}
                  </p>
                  <p className="faint">
                    {factsOf(
                      track,
                      stats?.find(({ trackId }) => trackId === track.id),
                    ).join(' · ')}
                  </p>
                </div>
                <div className="track-actions">
                  {track.muted ? (
                    <CallButton call={calls.unmute(track.id)} what={`unmute the ${what}`} action={action} onDone={refresh} testId="unmute">
                      Unmute
                    </CallButton>
                  ) : (
                    <CallButton call={calls.mute(track.id)} what={`mute the ${what}`} action={action} onDone={refresh} testId="mute">
                      Mute
                    </CallButton>
                  )}
                  <CallButton
                    call={calls.unpublish(track.id)}
                    what={`unpublish the ${what}`}
                    action={action}
                    onDone={refresh}
                    testId="unpublish"
                  >
                    Unpublish
                  </CallButton>
                </div>
              </li>
            );
          })}
        </ul>
      )}
      {received.length > 0 && (
        <p className="faint" data-testid="received">
          Receives {received.length} {received.length === 1 ? 'track' : 'tracks'}
          {layered.length > 0 && `, layers ${layered.map(({ layers }) => layerText(layers)).join(', ')}`}.
        </p>
      )}
      {tracks.length === 0 && <p className="faint">Publishes nothing.</p>}
    </>
  );
}

/** Counted from 1, as people do. */
function layerText(layers: ReceivedFigures['layers']): string {
  if (!layers) return '–';
  return `${layers.spatialLayer + 1}${layers.temporalLayer === null ? '' : `.${layers.temporalLayer + 1}`}`;
}

function factsOf(track: Track, figures: PublishedFigures | undefined): string[] {
  const flowing = figures?.encodings.filter(({ bitrate }) => bitrate > 0).length ?? 0;
  const layers = track.simulcast ? [figures ? `simulcast, ${flowing} ${flowing === 1 ? 'layer flows' : 'layers flow'}` : 'simulcast'] : [];
  const measured = figures ? [bitrateText(figures.bitrate), `${shareText(figures.loss)} lost`] : [];
  return [track.encoding ?? track.type, ...layers, ...measured];
}
