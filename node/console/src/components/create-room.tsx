// Makes a room: a name if one is wanted, the rest behind "Options".
import { type FormEvent, useId, useRef, useState } from 'react';
import { type Api, sentenceOf } from '../api/rest.ts';
import type { RoomOptions } from '../api/shapes.ts';
import { PlusIcon } from './icons.tsx';

const numbers = ['maxPeers', 'peerlessPurgeTimeout', 'peerDisconnectedTimeout'] as const;

export function CreateRoom({ api }: { api: Api }) {
  const form = useRef<HTMLFormElement>(null);
  const [problem, setProblem] = useState<string>();
  const [made, setMade] = useState<string>();
  const [busy, setBusy] = useState(false);
  const hintId = useId();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!form.current || busy) return;
    setBusy(true);
    setProblem(undefined);
    setMade(undefined);
    try {
      const room = await api.createRoom(readOptions(new FormData(form.current)));
      form.current.reset();
      setMade(room.id);
    } catch (error) {
      setProblem(sentenceOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="card create" ref={form} onSubmit={submit} aria-label="New room" noValidate>
      <div className="create-line">
        <label className="field grow">
          <span>
            Room name <em>optional</em>
          </span>
          <input
            name="roomId"
            data-testid="room-id"
            autoComplete="off"
            spellCheck={false}
            maxLength={128}
            placeholder="team-meeting"
            aria-describedby={hintId}
          />
        </label>
        <button type="submit" className="button primary" data-testid="create-room" disabled={busy}>
          <PlusIcon />
          Create room
        </button>
      </div>
      <p className="hint" id={hintId}>
        Letters, digits, hyphens and underscores. Left empty, the room gets a name that nobody can guess.
      </p>
      <details className="options">
        <summary>Options</summary>
        <div className="options-grid">
          <NumberField name="maxPeers" label="Most people" hint="Empty: no limit" />
          <label className="field">
            <span>Video codec</span>
            <select name="videoCodec" defaultValue="">
              <option value="">Any</option>
              <option value="vp8">VP8</option>
              <option value="h264">H.264</option>
            </select>
            <small>What everybody sends</small>
          </label>
          <NumberField name="peerlessPurgeTimeout" label="Ends when empty" hint="Seconds. Empty: the server decides" />
          <NumberField name="peerDisconnectedTimeout" label="Forgets who left" hint="Seconds. Empty: the server decides" />
        </div>
      </details>
      <div aria-live="polite">
        {problem && (
          <p className="problem" role="alert" data-testid="create-problem">
            {problem}
          </p>
        )}
        {made && <p className="visually-hidden">Room {made} was created.</p>}
      </div>
    </form>
  );
}

function NumberField({ name, label, hint }: { name: string; label: string; hint: string }) {
  return (
    <label className="field">
      <span>{label}</span>
      <input name={name} inputMode="numeric" autoComplete="off" />
      <small>{hint}</small>
    </label>
  );
}

/** What is no number goes to the server as it is: its sentence says what is wrong. */
function readOptions(form: FormData): RoomOptions {
  const options: Record<string, unknown> = {};
  const text = (name: string) => String(form.get(name) ?? '').trim();
  if (text('roomId')) options.roomId = text('roomId');
  if (text('videoCodec')) options.videoCodec = text('videoCodec');
  for (const name of numbers) {
    if (text(name)) options[name] = Number.isNaN(Number(text(name))) ? text(name) : Number(text(name));
  }
  return options as RoomOptions;
}
