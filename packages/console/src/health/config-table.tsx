// Configuration table: every variable of a node with value, source and meaning.
import { useMemo, useState } from 'react';
import type { ConfigValue } from '../../../server-sdk/src/generated/schemas.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Badge, EmptyState } from '../components/page-title.tsx';
import { SearchField } from '../components/search-field.tsx';
import { pluralize } from '../format.ts';

const sources: Record<ConfigValue['source'], string> = { environment: 'Environment', file: 'File', default: 'Default' };

const columns: readonly Column<ConfigValue>[] = [
  {
    id: 'name',
    title: 'Variable',
    width: 'minmax(0, 2fr)',
    narrow: 'head',
    cell: ({ name, reloadable }) => (
      <span className="two-lines">
        <code>{name}</code>
        {reloadable && (
          <span className="quiet-text small-text" title="Reloadable from a file">
            reloadable
          </span>
        )}
      </span>
    ),
  },
  { id: 'value', title: 'Value', width: 'minmax(0, 2fr)', narrow: 'plain', cell: (value) => <Value value={value} /> },
  {
    id: 'source',
    title: 'From',
    width: '110px',
    narrow: 'plain',
    cell: ({ source }) => <Badge tone={source === 'default' ? 'neutral' : 'accent'}>{sources[source]}</Badge>,
  },
  {
    id: 'meaning',
    title: 'Meaning',
    width: 'minmax(0, 4fr)',
    narrow: 'plain',
    cell: ({ meaning }) => (
      <span className="quiet-text small-text config-meaning">
        <Meaning text={meaning} />
      </span>
    ),
  },
];

export function ConfigTable({ values }: { values: readonly ConfigValue[] }) {
  const [search, setSearch] = useState('');
  const [ownOnly, setOwnOnly] = useState(false);
  const found = useMemo(() => searchConfig(values, search, ownOnly), [values, search, ownOnly]);
  const own = values.filter(({ source }) => source !== 'default').length;
  return (
    <>
      <div className="config-tools">
        <SearchField
          label="Search variables by name or meaning"
          placeholder="Search variables"
          testId="config-search"
          value={search}
          onChange={setSearch}
        />
        <label className="tick hint">
          <input type="checkbox" data-testid="own-only" checked={ownOnly} onChange={(event) => setOwnOnly(event.target.checked)} />
          <span>Changed from default only ({pluralize(own, 'variable')})</span>
        </label>
      </div>
      {found.length > 0 ? (
        <DataTable label="Configuration" columns={columns} rows={found} keyOf={keyOf} testId="config-row" attributes={attributesOf} whole />
      ) : (
        <EmptyState title="No matching variables" testId="no-config" />
      )}
    </>
  );
}

const keyOf = ({ name }: ConfigValue): string => name;
const attributesOf = ({ name, source }: ConfigValue): Record<`data-${string}`, string> => ({ 'data-name': name, 'data-source': source });

function searchConfig(values: readonly ConfigValue[], search: string, ownOnly: boolean): readonly ConfigValue[] {
  const wanted = search.trim().toLowerCase();
  return values.filter(
    ({ name, meaning, source }) =>
      (!ownOnly || source !== 'default') && (name.toLowerCase().includes(wanted) || meaning.toLowerCase().includes(wanted)),
  );
}

/** Renders text between backticks as code. */
function Meaning({ text }: { text: string }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have a fixed order
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}

function Value({ value: { value, secret } }: { value: ConfigValue }) {
  if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) return <span className="quiet-text">not set</span>;
  if (secret) return <span className="quiet-text">set (hidden)</span>;
  if (typeof value === 'boolean') return <span>{value ? 'yes' : 'no'}</span>;
  return <code className="foreign">{Array.isArray(value) ? value.join(', ') : String(value)}</code>;
}
