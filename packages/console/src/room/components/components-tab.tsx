// What plays into the room, or takes from it, without being a person.
import { EmptyState } from '../../components/page-title.tsx';
import type { LiveRoom } from '../use-room.ts';
import { AddComponent } from './add-component.tsx';
import { ComponentCard } from './component-card.tsx';

export function ComponentsTab({ live }: { live: LiveRoom }) {
  const components = live.room?.components;
  return (
    <>
      {components?.length === 0 && (
        <EmptyState title="None in this room" testId="no-components">
          Components play a file, stream the room, record it, or bring a telephone into it.
        </EmptyState>
      )}
      <ul className="cards" aria-label="Components of this room">
        {components?.map((component) => (
          <ComponentCard key={component.id} component={component} live={live} />
        ))}
      </ul>
      <AddComponent calls={live.calls} onAdded={live.refresh} />
    </>
  );
}
