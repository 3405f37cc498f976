// Search field: an input with a magnifier. `label` is for screen readers.
import { SearchIcon } from './icons.tsx';

export type SearchFieldProps = {
  label: string;
  placeholder: string;
  testId: string;
  value: string;
  onChange: (value: string) => void;
  invalid?: boolean;
};

export function SearchField({ label, placeholder, testId, value, onChange, invalid = false }: SearchFieldProps) {
  return (
    <search className="search">
      <SearchIcon />
      <input
        type="search"
        aria-label={label}
        aria-invalid={invalid}
        placeholder={placeholder}
        spellCheck={false}
        data-testid={testId}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </search>
  );
}
