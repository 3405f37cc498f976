// Add component: selects a component type and shows a form generated from the OpenAPI document of the server.
import { type FormEvent, useEffect, useMemo, useRef, useState } from 'react';
import type { ComponentType } from '../../../../server-sdk/src/generated/schemas.ts';
import type { HttpRequest } from '../../api/curl.ts';
import { type Api, ApiError, errorMessage } from '../../api/rest.ts';
import { typeName } from '../../api/types.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { CopyCurl } from '../../components/copy-curl.tsx';
import { PlusIcon } from '../../components/icons.tsx';
import { useSessionContext } from '../../hooks/console-context.ts';
import { useEnabledTypes } from '../../hooks/use-enabled-types.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { componentFields, type Field, formFieldOf, type OpenApi, optionsOf } from './option-fields.ts';
import { OptionFields, type Problem } from './option-form.tsx';
import type { RoomRequests } from './room-requests.ts';

/** Of the choices; otherwise the name of the component type. */
const titles: Partial<Record<ComponentType, string>> = { hls: 'Stream' };
/** The document does not change while a node runs. */
const documentIntervalMs = 3_600_000;

async function loadFields(api: Api, signal: AbortSignal) {
  return componentFields((await api.document('openapi.json', signal)) as OpenApi);
}

export function AddComponent({ requests, onAdded }: { requests: RoomRequests; onAdded: () => void }) {
  const { api } = useSessionContext();
  const enabled = useEnabledTypes(api.base);
  const { data: documented } = useResource(['openapi'], loadFields, documentIntervalMs);
  const [chosen, setChosen] = useState<ComponentType>();
  const types = [...(enabled ?? [])].sort() as ComponentType[];
  if (enabled?.length === 0)
    return (
      <p className="hint" data-testid="components-disabled">
        No component types are enabled (SVC_COMPONENTS_USED).
      </p>
    );
  const type = chosen ?? (types.length === 1 ? types[0] : undefined);
  const about = type && documented?.get(type);
  return (
    <section className="add-component" aria-label="Add a component">
      <h3>Add</h3>
      {types.length > 1 && (
        <fieldset className="choices" aria-label="Component type">
          {types.map((each) => (
            <button
              key={each}
              type="button"
              className="button small"
              aria-pressed={each === type}
              data-testid={`type-${each}`}
              onClick={() => setChosen(each)}
            >
              {titles[each] ?? typeName(each)}
            </button>
          ))}
        </fieldset>
      )}
      {type && about && (
        <ComponentForm key={type} type={type} description={about.description} fields={about.fields} requests={requests} onAdded={onAdded} />
      )}
    </section>
  );
}

type FormProps = {
  type: ComponentType;
  description: string | undefined;
  fields: readonly Field[];
  requests: RoomRequests;
  onAdded: () => void;
};

function ComponentForm({ type, description, fields, requests, onAdded }: FormProps) {
  const { api } = useSessionContext();
  const form = useRef<HTMLFormElement>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [request, setRequest] = useState(() => requests.addComponent(type, {}));
  /** Names of the fields that were changed since the last submit: they belong to the next one. */
  const changed = useRef(new Set<string>());
  const read = () => {
    const data = new FormData(form.current ?? undefined);
    return requests.addComponent(
      type,
      optionsOf(fields, (path) => {
        const value = data.get(path);
        return typeof value === 'string' ? value : undefined;
      }),
    );
  };
  useEffect(() => {
    // Moves the focus to the field that the error is about.
    if (problem?.path) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [problem]);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    changed.current.clear();
    try {
      await api.send(read());
      setProblem(undefined);
      if (form.current) empty(form.current, changed.current);
      setRequest(read());
    } catch (error) {
      const message = errorMessage(error);
      setProblem({ path: error instanceof ApiError ? formFieldOf(error.field, fields) : undefined, message });
    } finally {
      setBusy(false);
      onAdded();
    }
  };
  const change = ({ target }: FormEvent) => {
    if (isField(target)) changed.current.add(target.name);
    setRequest(read());
  };
  const shownRequest = useMemo(() => withoutSecrets(request, fields), [request, fields]);
  return (
    <form className="component-form" ref={form} onSubmit={submit} onChange={change} aria-label={`Add: ${type}`} noValidate>
      {description && <p className="hint">{description}</p>}
      <div className="option-grid">
        <OptionFields fields={fields} problem={problem} />
      </div>
      {problem && problem.path === undefined && (
        <p className="problem" role="alert" data-testid="component-problem">
          {problem.message}
        </p>
      )}
      <div className="form-end">
        <ActionButton type="submit" className="button primary" data-testid="add-component" disabled={busy}>
          <PlusIcon />
          Add
        </ActionButton>
        <CopyCurl request={shownRequest} what={`add a component of type ${type}`} />
      </div>
    </form>
  );
}

type FieldElement = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

const isField = (element: unknown): element is FieldElement =>
  element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement || element instanceof HTMLSelectElement;

/** Like form.reset(), except for `kept`. */
function empty(form: HTMLFormElement, kept: ReadonlySet<string>): void {
  for (const field of form.elements) {
    if (!isField(field) || kept.has(field.name)) continue;
    if (field instanceof HTMLSelectElement) for (const option of field.options) option.selected = option.defaultSelected;
    else if (field.type === 'checkbox') (field as HTMLInputElement).checked = (field as HTMLInputElement).defaultChecked;
    else field.value = field.defaultValue;
  }
}

/** Masks passwords and keys, because a command line may be pasted anywhere. */
function withoutSecrets(request: HttpRequest, fields: readonly Field[]): HttpRequest {
  const secrets = new Set(secretNames(fields));
  const body = JSON.stringify(request.body, (name, value: unknown) => (secrets.has(name) ? '…' : value));
  return { ...request, body: JSON.parse(body) as unknown };
}

function secretNames(fields: readonly Field[]): string[] {
  return fields.flatMap((field) => {
    if (field.kind === 'group') return secretNames(field.fields);
    return field.kind === 'secret' ? (field.path.split('.').at(-1) ?? []) : [];
  });
}
