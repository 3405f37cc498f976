// Peer permissions: checkboxes that take effect immediately.
import { useId } from 'react';
import type { Peer, Permissions } from '../../../../server-sdk/src/generated/schemas.ts';
import { CopyCurl } from '../../components/copy-curl.tsx';
import { useReadOnlyReason, useSessionContext } from '../../hooks/console-context.ts';
import type { Action } from '../../hooks/use-action.ts';
import type { LiveRoom } from '../use-room.ts';

type Choice = { title: string; testId: string; on: boolean; changed: Permissions };

export function PeerPermissions({ peer, name, live, action }: { peer: Peer; name: string; live: LiveRoom; action: Action }) {
  const { api } = useSessionContext();
  const refusal = useReadOnlyReason();
  const refusalId = useId();
  const { permissions } = peer;
  const change = async (wanted: Permissions) => {
    await action.run(() => api.send(live.requests.permit(peer.id, wanted)));
    live.refresh();
  };
  return (
    <fieldset className="permissions" aria-describedby={refusal ? refusalId : undefined}>
      <legend>Permissions</legend>
      {choicesOf(permissions).map(({ title, testId, on, changed }) => (
        <label key={testId} className="tick">
          <input
            type="checkbox"
            data-testid={testId}
            checked={on}
            aria-disabled={refusal !== undefined || action.busy}
            onChange={() => {
              if (refusal === undefined && !action.busy) void change(changed);
            }}
          />
          {title}
        </label>
      ))}
      <CopyCurl request={live.requests.permit(peer.id, permissions)} what={`set the permissions of ${name}`} compact />
      {refusal && (
        <span className="visually-hidden" id={refusalId}>
          {refusal}
        </span>
      )}
    </fieldset>
  );
}

function choicesOf(now: Permissions): Choice[] {
  const publishing = (kind: 'audio' | 'video', title: string): Choice => {
    const on = now.publish.includes(kind);
    const publish = on ? now.publish.filter((each) => each !== kind) : [...now.publish, kind];
    return { title, testId: `permit-${kind}`, on, changed: { ...now, publish } };
  };
  return [
    publishing('audio', 'send audio'),
    publishing('video', 'send video'),
    { title: 'receive', testId: 'permit-subscribe', on: now.subscribe, changed: { ...now, subscribe: !now.subscribe } },
    { title: 'send data', testId: 'permit-data', on: now.data, changed: { ...now, data: !now.data } },
    {
      title: 'set room metadata',
      testId: 'permit-room-metadata',
      on: now.roomMetadata ?? false,
      changed: { ...now, roomMetadata: !now.roomMetadata },
    },
  ];
}
