// The components of a room: what is there, add a file, take one away. Looked up again and again while it is open, since files end by themselves.
import { type FormEvent, useCallback, useEffect, useRef, useState } from 'react';
import { type Api, fetchSession, sentenceOf } from '../api/rest.ts';
import { type ComponentDetails, componentName } from '../api/shapes.ts';
import { Dialog } from './dialog.tsx';
import { PlusIcon, TrashIcon } from './icons.tsx';

const refreshEvery = 2_000;

export function ComponentsDialog({ api, roomId, onClose }: { api: Api; roomId: string; onClose: () => void }) {
  const { components, problem, refresh } = useComponents(api, roomId);
  const [failed, setFailed] = useState<string>();
  const kinds = useKinds(api.base);
  const attempt = async (work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      setFailed(undefined);
      return true;
    } catch (error) {
      setFailed(sentenceOf(error));
      return false;
    } finally {
      refresh();
    }
  };
  return (
    <Dialog title="Components" onClose={onClose}>
      <p>What plays into this room, or takes from it, without being a person.</p>
      <ul className="component-list" aria-label="Components of this room">
        {components?.map((component) => (
          <ComponentRow
            key={component.id}
            component={component}
            onRemove={() => attempt(() => api.deleteComponent(roomId, component.id))}
          />
        ))}
      </ul>
      {components?.length === 0 && (
        <p className="empty" data-testid="no-components">
          None in this room.
        </p>
      )}
      {(failed ?? problem) && (
        <p className="problem" role="alert" data-testid="component-problem">
          {failed ?? problem}
        </p>
      )}
      {kinds?.includes('file') && <FileForm onAdd={(options) => attempt(() => api.addComponent(roomId, 'file', options))} />}
      {kinds?.length === 0 && <p data-testid="components-disabled">This server lets rooms have no components (SVC_COMPONENTS_USED).</p>}
      <div className="dialog-actions">
        <button type="button" className="button" data-testid="components-close" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function ComponentRow({ component, onRemove }: { component: ComponentDetails; onRemove: () => Promise<unknown> }) {
  const [busy, setBusy] = useState(false);
  const remove = async () => {
    setBusy(true);
    await onRemove();
    setBusy(false);
  };
  const name = componentName(component);
  return (
    <li className="component-row" data-testid="component-row" data-component={component.id}>
      <div className="component-about">
        <p className="component-name">{name}</p>
        <p className="component-facts" data-testid="component-facts">
          {factsOf(component).join(' · ')}
        </p>
      </div>
      <button
        type="button"
        className="button icon-only"
        aria-label={`Remove ${name}`}
        title="Remove"
        data-testid="remove-component"
        disabled={busy}
        onClick={remove}
      >
        <TrashIcon />
      </button>
    </li>
  );
}

/** What it sends now, then its properties but for the one in its name. */
function factsOf({ tracks, properties }: ComponentDetails): string[] {
  const sent = tracks.map(({ type, encoding, muted }) => `${type}${encoding ? ` (${encoding})` : ''}${muted ? ', muted' : ''}`);
  const rest = Object.entries(properties).filter(([name, value]) => name !== 'filePath' && value !== null);
  return [sent.length > 0 ? `Sends ${sent.join(' and ')}` : 'Sends nothing', ...rest.map(([name, value]) => `${name}: ${String(value)}`)];
}

function FileForm({ onAdd }: { onAdd: (options: Record<string, unknown>) => Promise<boolean> }) {
  const form = useRef<HTMLFormElement>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!form.current || busy) return;
    setBusy(true);
    const data = new FormData(form.current);
    const [filePath, framerate] = ['filePath', 'framerate'].map((name) => String(data.get(name) ?? '').trim());
    // What is no number goes to the server as it is: its sentence says what is wrong.
    const rate = framerate ? { framerate: Number.isNaN(Number(framerate)) ? framerate : Number(framerate) } : {};
    if (await onAdd({ ...(filePath && { filePath }), ...rate })) form.current?.reset();
    setBusy(false);
  };
  return (
    <form className="component-form" ref={form} onSubmit={submit} aria-label="Play a file" noValidate>
      <div className="component-fields">
        <label className="field">
          <span>Play a file</span>
          <input name="filePath" data-testid="file-path" autoComplete="off" spellCheck={false} placeholder="intro.ogg" />
          <small>.ogg (Opus) or .h264, on the server below file_component_sources</small>
        </label>
        <label className="field">
          <span>Frame rate</span>
          <input name="framerate" data-testid="file-framerate" inputMode="numeric" autoComplete="off" placeholder="30" />
          <small>Of video</small>
        </label>
      </div>
      <button type="submit" className="button primary" data-testid="add-component" disabled={busy}>
        <PlusIcon />
        Add
      </button>
    </form>
  );
}

/** Undefined until the first answer. */
function useComponents(api: Api, roomId: string) {
  const [components, setComponents] = useState<readonly ComponentDetails[]>();
  const [problem, setProblem] = useState<string>();
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another round asks again
  useEffect(() => {
    let stopped = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      try {
        const found = await api.listComponents(roomId);
        if (stopped) return;
        setComponents(found);
        setProblem(undefined);
      } catch (error) {
        if (stopped) return;
        setProblem(sentenceOf(error));
      }
      timer = setTimeout(ask, refreshEvery);
    };
    void ask();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [api, roomId, round]);
  return { components, problem, refresh: useCallback(() => setRound((before) => before + 1), []) };
}

/** Kinds that the node lets rooms have; where it does not say, the form is offered and the node answers for itself. */
function useKinds(base: string): readonly string[] | undefined {
  const [kinds, setKinds] = useState<readonly string[]>();
  useEffect(() => {
    let stopped = false;
    fetchSession(base).then(
      ({ components }) => !stopped && setKinds(components),
      () => !stopped && setKinds(['file']),
    );
    return () => {
      stopped = true;
    };
  }, [base]);
  return kinds;
}
