// Option form: renders generated option fields, with an error message at its field.
import { useId } from 'react';
import type { Field } from './option-fields.ts';

/** Without `path` the message concerns the whole form. */
export type Problem = { path: string | undefined; message: string };

export function OptionFields({ fields, problem }: { fields: readonly Field[]; problem: Problem | undefined }) {
  return fields.map((field) =>
    field.kind === 'group' ? (
      <OptionGroup key={field.path} field={field} problem={problem} />
    ) : (
      <OptionField key={field.path} field={field} problem={problem?.path === field.path ? problem.message : undefined} />
    ),
  );
}

function OptionGroup({ field, problem }: { field: Extract<Field, { kind: 'group' }>; problem: Problem | undefined }) {
  const content = (
    <div className="option-grid">
      {problem?.path === field.path && <OptionProblem message={problem.message} />}
      <OptionFields fields={field.fields} problem={problem} />
    </div>
  );
  if (field.required) {
    return (
      <fieldset className="option-group">
        <legend>{field.title}</legend>
        {content}
      </fieldset>
    );
  }
  return (
    <details className="option-group" open={problem?.path?.startsWith(field.path) || undefined}>
      <summary>
        {field.title} <em>optional</em>
      </summary>
      {field.description && <p className="hint">{field.description}</p>}
      {content}
    </details>
  );
}

type PlainField = Exclude<Field, { kind: 'group' }>;

function OptionField({ field, problem }: { field: PlainField; problem: string | undefined }) {
  const id = useId();
  const hint = hintOf(field);
  const common = {
    id,
    name: field.path,
    'data-testid': `option-${field.path}`,
    'aria-describedby': [problem && `${id}-problem`, hint && `${id}-hint`].filter(Boolean).join(' ') || undefined,
    'aria-invalid': problem ? true : undefined,
    'aria-required': field.required || undefined,
  };
  const below = (
    <>
      {problem && <OptionProblem id={`${id}-problem`} message={problem} />}
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </>
  );
  if (field.kind === 'flag') {
    return (
      <div className="field option-flag">
        <label className="tick" htmlFor={id}>
          <input type="checkbox" {...common} defaultChecked={field.default === true} />
          {field.title}
        </label>
        {below}
      </div>
    );
  }
  return (
    <div className={field.kind === 'long' ? 'field option-wide' : 'field'}>
      <label htmlFor={id}>
        {field.title} {field.required && <em>required</em>}
      </label>
      <Input field={field} common={common} />
      {below}
    </div>
  );
}

function Input({ field, common }: { field: PlainField; common: object }) {
  const plain = { ...common, autoComplete: 'off', spellCheck: false };
  switch (field.kind) {
    case 'choice':
      return (
        <select {...common} defaultValue={String(field.default ?? '')}>
          {field.default === undefined && <option value="">Default</option>}
          {field.choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      );
    case 'long':
      return <textarea {...plain} rows={3} />;
    case 'secret':
      return <input {...plain} type="password" autoComplete="new-password" />;
    case 'number':
      return <input {...plain} inputMode="numeric" placeholder={field.default === undefined ? '' : String(field.default)} />;
    default:
      return <input {...plain} placeholder={field.default === undefined ? '' : String(field.default)} />;
  }
}

function OptionProblem({ id, message }: { id?: string; message: string }) {
  return (
    <p className="problem" role="alert" id={id} data-testid="component-problem">
      {message}
    </p>
  );
}

function hintOf(field: PlainField): string | undefined {
  if (field.kind !== 'number') return field.description;
  const { min, max } = field;
  const range = min !== undefined && max !== undefined ? `${min.toLocaleString('en')} to ${max.toLocaleString('en')}.` : undefined;
  return [field.description, range].filter((each) => each !== undefined).join(' ') || undefined;
}
