// Data table: columns of fixed widths against layout shifts, virtual rows, and a card per row on a phone.
import { type CSSProperties, Fragment, memo, type ReactNode, useMemo } from 'react';
import { useVirtualRows, type VirtualRows } from './use-virtual-rows.ts';

export type Column<Row> = {
  id: string;
  title: string;
  /** Track of grid-template-columns, e.g. `minmax(0, 2fr)` or `90px`; default `minmax(0, 1fr)`. Not sized by content. */
  width?: string;
  cell: (row: Row) => ReactNode;
  /** Aligned right, with tabular digits. */
  numeric?: boolean;
  /** On a phone: `head` is the first line of the card, `actions` the last; `plain` has no title, `hide` is hidden. */
  narrow?: 'head' | 'actions' | 'plain' | 'hide';
  /** Shows the title to screen readers only. */
  quietTitle?: boolean;
  sort?: { by: 'ascending' | 'descending' | undefined; toggle: () => void };
};

export type DataTableProps<Row> = {
  /** Name of the table for screen readers. */
  label: string;
  /** A stable reference: rows are rendered again only if they or the columns change. */
  columns: readonly Column<Row>[];
  /** A stable reference. */
  rows: readonly Row[];
  /** A stable reference. */
  keyOf: (row: Row) => string;
  testId: string;
  /** Attributes of a row for tests and styles, e.g. `data-room`. */
  attributes?: (row: Row) => Record<`data-${string}`, string>;
  /** Renders all rows, so that the search of the browser finds their text. */
  whole?: boolean;
};

/** Browsers drop the roles of tables with `display: grid`, so they are explicit. */
const roles = {
  table: { role: 'table' },
  rowgroup: { role: 'rowgroup' },
  row: { role: 'row' },
  columnheader: { role: 'columnheader' },
  cell: { role: 'cell' },
} as const;

export function DataTable<Row>({ label, columns, rows, keyOf, testId, attributes, whole = false }: DataTableProps<Row>) {
  const keys = useMemo(() => rows.map(keyOf), [rows, keyOf]);
  const { body, drawn, measure, isScrolling, onFocus } = useVirtualRows(keys, whole);
  const style = { '--columns': columns.map(({ width = 'minmax(0, 1fr)' }) => width).join(' ') } as CSSProperties;
  return (
    <table className="data-table" {...roles.table} aria-label={label} aria-rowcount={rows.length + 1} style={style}>
      <thead {...roles.rowgroup}>
        <tr {...roles.row} aria-rowindex={1}>
          {columns.map((column) => (
            <th
              key={column.id}
              {...roles.columnheader}
              scope="col"
              className={column.numeric ? 'numeric' : undefined}
              aria-sort={column.sort?.by}
            >
              <ColumnTitle column={column} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody {...roles.rowgroup} ref={body} data-scrolling={isScrolling ? '' : undefined} onFocus={onFocus}>
        {drawn.map(({ index, left }) => (
          <Fragment key={keys[index]}>
            {left > 0 && <tr className="rows-left" style={{ blockSize: left }} />}
            <TableRow
              row={rows[index]}
              index={index}
              measure={measure}
              columns={columns as readonly Column<unknown>[]}
              testId={testId}
              attributes={attributes as never}
            />
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}

function ColumnTitle<Row>({ column: { title, quietTitle, sort } }: { column: Column<Row> }) {
  if (quietTitle) return <span className="visually-hidden">{title}</span>;
  if (!sort) return title;
  return (
    <button type="button" className="sort" onClick={sort.toggle}>
      {title}
      <span className="sort-mark" aria-hidden="true" />
    </button>
  );
}

type TableRowProps = {
  row: unknown;
  index: number;
  measure: VirtualRows['measure'];
  columns: readonly Column<unknown>[];
  testId: string;
  attributes: ((row: unknown) => Record<string, string>) | undefined;
};

const TableRow = memo(function TableRow({ row, index, measure, columns, testId, attributes }: TableRowProps) {
  return (
    <tr ref={measure} {...roles.row} aria-rowindex={index + 2} data-index={index} data-testid={testId} {...attributes?.(row)}>
      {columns.map(({ id, title, cell, numeric, narrow, quietTitle }) => (
        <td
          key={id}
          {...roles.cell}
          className={[numeric && 'numeric', narrow && `narrow-${narrow}`].filter(Boolean).join(' ') || undefined}
          data-title={quietTitle || narrow ? undefined : title}
        >
          {cell(row)}
        </td>
      ))}
    </tr>
  );
});
