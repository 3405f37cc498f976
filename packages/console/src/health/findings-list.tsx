// Findings list: the health issues of a node.
import type { Finding } from './health-issues.ts';

export function Findings({ findings }: { findings: readonly Finding[] }) {
  if (findings.length === 0) return null;
  return (
    <ul className="findings" aria-label="Issues">
      {findings.map(({ tone, title, text }) => (
        <li key={title + text} className={`page-note ${tone}`} data-testid="finding" data-tone={tone}>
          <strong>{title}</strong>
          <p className="foreign">{text}</p>
        </li>
      ))}
    </ul>
  );
}
