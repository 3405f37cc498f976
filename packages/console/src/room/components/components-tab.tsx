// Components tab: the components of the room, and a form to add one.
import { EmptyState } from '../../components/page-title.tsx';
import type { LiveRoom } from '../use-room.ts';
import { AddComponent } from './add-component.tsx';
import { ComponentCard } from './component-card.tsx';

export function ComponentsTab({ live }: { live: LiveRoom }) {
  const components = live.room?.components;
  return (
    <>
      {components?.length === 0 && (
        <EmptyState title="No components" testId="no-components">
          Components play a file, stream the room, record it, or connect phone calls.
        </EmptyState>
      )}
      <ul className="cards" aria-label="Components of this room">
        {components?.map((component) => (
          <ComponentCard key={component.id} component={component} live={live} />
        ))}
      </ul>
      <AddComponent requests={live.requests} onAdded={live.refresh} />
    </>
  );
}
