// Create room dialog: creates a room with its options.

import { type FormEvent, type SyntheticEvent, useRef, useState } from 'react';
import type { RoomOptions } from '../../../server-sdk/src/generated/schemas.ts';
import { getConfig } from '../api/health.ts';
import { CopyCurl } from '../components/copy-curl.tsx';
import { Dialog } from '../components/dialog.tsx';
import { FormProblem } from '../components/page-title.tsx';
import { useSessionContext } from '../hooks/console-context.ts';
import { useAction } from '../hooks/use-action.ts';
import { useResource } from '../hooks/use-resource.ts';
import { choiceOf, formatRemaining, type LimitField, limitFields, readRoomOptions } from './room-options.ts';

/** Configuration may be reloaded while the form is open. */
const configIntervalMs = 15_000;

export function CreateRoom({ onMade, onClose }: { onMade: (roomId: string) => void; onClose: () => void }) {
  const { api } = useSessionContext();
  const form = useRef<HTMLFormElement>(null);
  const [options, setOptions] = useState<RoomOptions>({});
  const { busy, problem, run } = useAction();
  const config = useResource(['config'], getConfig, configIntervalMs);
  const readForm = () => setOptions(form.current ? readRoomOptions(new FormData(form.current)) : {});
  const make = async (asked: RoomOptions) => {
    let made: string | undefined;
    const done = await run(async () => {
      made = (await api.createRoom(asked)).id;
    });
    if (!done || made === undefined) return;
    onMade(made);
    onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const wanted = form.current;
    if (!wanted) return;
    void make(readRoomOptions(new FormData(wanted)));
  };
  return (
    <Dialog title="New room" onClose={onClose}>
      <form className="room-form" ref={form} onSubmit={submit} onChange={readForm} noValidate>
        <label className="field whole">
          <span>
            Name <em>optional</em>
          </span>
          <input name="roomId" data-testid="room-id" autoComplete="off" spellCheck={false} maxLength={128} placeholder="team-meeting" />
          <small>Letters, digits, hyphens and underscores; part of the room’s URL. If empty, a random name is generated.</small>
        </label>
        {limitFields.map((field) => (
          <Limit key={field.name} field={field} left={formatRemaining(field, config.data?.values)} />
        ))}
        <label className="field">
          <span>Video codec</span>
          <select name="videoCodec" defaultValue="">
            <option value="">Any</option>
            <option value="vp8">VP8</option>
            <option value="h264">H.264</option>
            <option value="none">Audio only</option>
          </select>
          <small>Codec for all participants. HLS requires H.264; older devices may support VP8 only.</small>
        </label>
        <label className="field">
          <span>Admission</span>
          <select name="admission" data-testid="admission" defaultValue="">
            <option value="">Participants join at once</option>
            <option value="manual">Participants wait to be admitted</option>
          </select>
          <small>Waiting participants are listed in the room. Until they are admitted they see and hear nothing.</small>
        </label>
        <label className="field">
          <span>
            Webhook URL <em>optional</em>
          </span>
          <input name="webhookUrl" type="url" autoComplete="off" spellCheck={false} placeholder="https://example.org/events" />
          <small>Receives events of this room, in addition to the server-wide webhooks.</small>
        </label>
        <label className="field">
          <span>
            External ID <em>optional</em>
          </span>
          <input name="externalId" autoComplete="off" spellCheck={false} placeholder="lesson-2291" />
          <small>externalId: creating a room again with the same ID returns the existing room.</small>
        </label>
        <FormProblem problem={problem} testId="create-problem" />
        <div className="dialog-actions whole">
          <CopyCurl request={{ method: 'POST', path: 'room', body: options }} what="create this room" />
          <span className="spacer" />
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" data-testid="create-submit" disabled={busy}>
            Create room
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** `left`: label of the first choice. */
function Limit({ field: { name, label, about, choices, unit }, left }: { field: LimitField; left: string }) {
  const [choice, setChoice] = useState('');
  const [, none, value] = choices;
  return (
    <fieldset className="field">
      <legend>{label}</legend>
      <div className="limit">
        <select
          name={choiceOf(name)}
          aria-label={label}
          value={choice}
          onChange={(event: SyntheticEvent<HTMLSelectElement>) => setChoice(event.currentTarget.value)}
        >
          <option value="">{left}</option>
          <option value="null">{none}</option>
          <option value="value">{value} …</option>
        </select>
        {choice === 'value' && (
          <input name={name} aria-label={`${label}: ${unit}`} placeholder={unit} inputMode="numeric" autoComplete="off" />
        )}
      </div>
      <small>{about}</small>
    </fieldset>
  );
}
