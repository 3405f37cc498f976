// Subscribe form: selects the track origins that a component in manual mode receives.
import { type FormEvent, useState } from 'react';
import type { Component, Room } from '../../../../server-sdk/src/generated/schemas.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { CopyCurl } from '../../components/copy-curl.tsx';
import { useSessionContext } from '../../hooks/console-context.ts';
import type { Action } from '../../hooks/use-action.ts';
import type { LiveRoom } from '../use-room.ts';
import { componentTitle, peerName, UserText } from './names.tsx';

export function SubscribeForm({ component, live, action }: { component: Component; live: LiveRoom; action: Action }) {
  const { api } = useSessionContext();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [done, setDone] = useState<number>();
  const origins = originsOf(live.room, component.id);
  const ids = origins.filter(({ id }) => chosen.has(id)).map(({ id }) => id);
  const request = live.requests.subscribe(component.id, ids);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setDone(undefined);
    if (await action.run(() => api.send(request))) {
      setDone(ids.length);
      // Origins that were selected meanwhile belong to the next request.
      setChosen((now) => new Set([...now].filter((id) => !ids.includes(id))));
    }
  };
  const toggle = (id: string) =>
    setChosen((before) => new Set(before.has(id) ? [...before].filter((each) => each !== id) : [...before, id]));
  return (
    <form className="subscribe" onSubmit={submit}>
      <fieldset>
        <legend>Subscribe to</legend>
        {origins.length === 0 && <p className="hint">No other publishers yet.</p>}
        {origins.map(({ id, name }) => (
          <label key={id} className="tick">
            <input type="checkbox" data-testid="origin" data-origin={id} checked={chosen.has(id)} onChange={() => toggle(id)} />
            <UserText>{name}</UserText>
          </label>
        ))}
      </fieldset>
      <div className="form-end">
        <ActionButton type="submit" className="button small" data-testid="subscribe" disabled={action.busy || ids.length === 0}>
          Subscribe
        </ActionButton>
        <CopyCurl request={request} what="subscribe the component to peers" compact />
        <span className="hint" role="status" data-testid="subscribed">
          {done === undefined ? '' : `${done} subscribed.`}
        </span>
      </div>
    </form>
  );
}

function originsOf(room: Room | null | undefined, self: string): { id: string; name: string }[] {
  if (!room) return [];
  return [
    ...room.peers.map((peer) => ({ id: peer.id, name: peerName(peer) })),
    ...room.components.filter(({ id }) => id !== self).map((each) => ({ id: each.id, name: componentTitle(each) })),
  ];
}
