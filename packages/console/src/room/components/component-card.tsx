// Component card: state of one component; expanded with properties, tracks and actions.
import { useState } from 'react';
import type { Component } from '../../../../server-sdk/src/generated/schemas.ts';
import { FactList } from '../../components/fact-list.tsx';
import { Badge, FormProblem } from '../../components/page-title.tsx';
import { useAction } from '../../hooks/use-action.ts';
import { watchHash } from '../../router.ts';
import { componentTitle, oneLine, UserText } from '../peers/names.tsx';
import { SubscribeForm } from '../peers/subscribe-form.tsx';
import { TrackList } from '../peers/track-list.tsx';
import type { LiveRoom } from '../use-room.ts';
import { ConfirmedRequest } from './confirmed-request.tsx';
import { Phone } from './phone.tsx';
import { callsOf } from './phone-calls.ts';

export function ComponentCard({ component, live }: { component: Component; live: LiveRoom }) {
  const [open, setOpen] = useState(false);
  const action = useAction();
  const name = componentTitle(component);
  const { type, properties } = component;
  return (
    <li className="entry" data-testid="component-row" data-component={component.id} data-type={type}>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary className="entry-line">
          <span className="entry-name">
            <UserText>{name}</UserText>
          </span>
          <State component={component} />
          <span className="entry-facts" data-testid="component-facts">
            {factsOf(component).join(' · ')}
          </span>
        </summary>
        {open && (
          <div className="entry-body">
            {type === 'hls' && (
              <p>
                <a className="button small" href={watchHash(live.roomId)} data-testid="watch">
                  Watch
                </a>
              </p>
            )}
            {type === 'sip' && <Phone component={component} live={live} action={action} />}
            {properties.subscribeMode === 'manual' && <SubscribeForm component={component} live={live} action={action} />}
            <Properties properties={{ id: component.id, ...properties }} />
            {component.tracks.length > 0 && (
              <TrackList tracks={component.tracks} originName={name} stats={undefined} live={live} action={action} />
            )}
            <FormProblem problem={action.problem} testId="action-problem" />
            <RemoveComponent component={component} name={name} live={live} />
          </div>
        )}
      </details>
    </li>
  );
}

function State({ component: { type, properties } }: { component: Component }) {
  if (type === 'hls') return properties.playable ? <Badge tone="good">Playable</Badge> : <Badge>Starting</Badge>;
  if (type === 'recording') return <Badge tone="accent">Recording</Badge>;
  if (type === 'file') return <Badge tone="good">Playing</Badge>;
  const calls = callsOf(properties).length;
  if (calls > 0) return <Badge tone="accent">{calls === 1 ? 'In a call' : `${calls} calls`}</Badge>;
  if (properties.registered) return <Badge tone="good">Registered</Badge>;
  return properties.registrationError ? <Badge tone="danger">Not registered</Badge> : <Badge>Registering…</Badge>;
}

/** Its tracks, then its properties except those that are shown elsewhere. */
function factsOf({ type, tracks, properties }: Component): string[] {
  const sent = tracks.map((track) => `${track.type}${track.encoding ? ` (${track.encoding})` : ''}${track.muted ? ', muted' : ''}`);
  const sends = sent.length > 0 ? [`Sends ${sent.join(' and ')}`] : type === 'file' ? ['Sends nothing'] : [];
  if (type === 'sip')
    return [...sends, accountOf(properties), properties.answerIncoming ? 'accepts incoming calls' : 'rejects incoming calls'];
  if (type === 'hls') return [`${properties.width}×${properties.height}`, `${properties.framerate} fps`, `${properties.layout}`];
  const shown = new Set(['filePath', 'playable', 'playlist', 'registered', 'calls', 'registrarCredentials']);
  const rest = Object.entries(properties).filter(([name, value]) => !shown.has(name) && value !== null && typeof value !== 'object');
  return [...sends, ...rest.map(([name, value]) => oneLine(`${name}: ${String(value)}`))];
}

function accountOf({ registrarCredentials }: Record<string, unknown>): string {
  const { username, address } = (registrarCredentials ?? {}) as { username?: string; address?: string };
  return oneLine(`${username ?? ''} at ${address ?? ''}`);
}

function Properties({ properties }: { properties: Record<string, unknown> }) {
  const shown = Object.entries(properties).filter(([name, value]) => value !== null && name !== 'calls');
  return (
    <FactList
      testId="properties"
      facts={shown.map(([name, value]) => [
        name,
        <UserText key={name}>{typeof value === 'string' ? value : JSON.stringify(value)}</UserText>,
      ])}
    />
  );
}

/** Consequences of a removal, if they are more than its end. */
const endings: Partial<Record<Component['type'], string>> = {
  file: 'Playback stops.',
  hls: 'The stream ends for all viewers. A persistent stream stays available as video on demand.',
  recording: 'The recording ends and is saved.',
  sip: 'Active calls are ended and no new calls are accepted.',
};

function RemoveComponent({ component, name, live }: { component: Component; name: string; live: LiveRoom }) {
  return (
    <ConfirmedRequest
      request={live.requests.removeComponent(component.id)}
      what={`remove ${name}`}
      button="Remove"
      testId="remove-component"
      title={`Remove ${name}?`}
      confirm="Remove"
      onDone={live.refresh}
    >
      <p>{endings[component.type] ?? 'It ends.'}</p>
    </ConfirmedRequest>
  );
}
