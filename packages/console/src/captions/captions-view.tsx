// Captions view: the lines over the tiles, and the switch in the toolbar.
import { Toggle } from '../components/toggle.tsx';
import { useStore } from '../hooks/store.ts';
import { CaptionsIcon } from '../session/icons.tsx';
import type { Captions } from './captions.ts';
import './captions.css';

export function CaptionLines({ captions }: { captions: Captions }) {
  const { on, lines } = useStore(captions);
  if (!on || lines.length === 0) return null;
  return (
    <section className="captions" aria-label="Captions" data-testid="captions">
      {lines.map(({ id, name, text }) => (
        <p key={id} dir="auto">
          <bdi className="strong">{name}</bdi> <bdi>{text}</bdi>
        </p>
      ))}
    </section>
  );
}

/** Nothing before speech was transcribed. */
export function CaptionsToggle({ captions }: { captions: Captions }) {
  const { on, available } = useStore(captions);
  if (!available) return null;
  return (
    <Toggle
      on={on}
      label="Captions"
      testId="toggle-captions"
      plainOff
      onIcon={<CaptionsIcon />}
      offIcon={<CaptionsIcon />}
      onToggle={() => captions.toggle()}
    />
  );
}
