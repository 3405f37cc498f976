// Fact list: names and values; rows without a value are omitted.
import type { ReactNode } from 'react';

export type FactListProps = { facts: readonly (readonly [name: string, value: ReactNode])[]; className?: string; testId?: string };

export function FactList({ facts, className = 'facts', testId }: FactListProps) {
  return (
    <dl className={className} data-testid={testId}>
      {facts.map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
