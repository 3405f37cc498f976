// Quality mark: media quality of a peer as bars and a word.
import type { Quality } from '../../../../server-sdk/src/generated/schemas.ts';

const words: Record<Quality, { text: string; bars: number; tone: string }> = {
  excellent: { text: 'Excellent', bars: 4, tone: 'good' },
  good: { text: 'Good', bars: 3, tone: 'good' },
  poor: { text: 'Poor', bars: 2, tone: 'warning' },
  bad: { text: 'Bad', bars: 1, tone: 'danger' },
  lost: { text: 'Lost', bars: 0, tone: 'danger' },
  unknown: { text: 'Not measured', bars: 0, tone: 'neutral' },
};

export function QualityMark({ quality }: { quality: Quality }) {
  const { text, bars, tone } = words[quality];
  return (
    <span className={`quality ${tone}`} data-testid="quality" data-quality={quality}>
      <svg viewBox="0 0 18 14" aria-hidden="true" focusable="false">
        {[0, 1, 2, 3].map((bar) => (
          <rect
            key={bar}
            x={bar * 4.6}
            y={10 - bar * 3}
            width="3.2"
            height={4 + bar * 3}
            rx="1"
            className={bar < bars ? 'full' : undefined}
          />
        ))}
      </svg>
      {text}
    </span>
  );
}
